"""What the pages share that plan a run: a form, a preview of it, and a start exactly as previewed."""

from collections.abc import Callable
from typing import Any, Protocol

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, ngettext

from annotation.core.requests import LoggedIn
from annotation.studies.errors import StudyRefused
from generation.core.durations import duration
from generation.jobs import tasks
from generation.models import Run, RunState
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.recipes import recipes
from generation.recipes.display import recipe_rows
from generation.runs import services as runs
from generation.runs.errors import RunRefused


class PlanningForm(Protocol):
    """A bound form of any kind of run."""

    def is_valid(self) -> bool: ...

    def plan(self) -> Plan | None:
        """The plan; None if an error was added to the form."""

    def add_error(self, field: str | None, error: Any) -> None: ...


def preview_or_start(
    request: LoggedIn, form: PlanningForm, *, completed: Callable[[Plan], Plan] = lambda plan: plan
) -> tuple[Run | None, dict[str, Any]]:
    """The run, if it was started as it was previewed, else None; and the context of the preview, empty if the
    form has errors. `completed` is given the plan before it starts, and may write what the plan needs."""
    plan = form.plan() if form.is_valid() else None
    if plan is None:
        return None, {}
    preview = plans.preview(plan)
    changed = False
    if "start" in request.POST:
        if request.POST.get("fingerprint") == preview.fingerprint:
            return _start(request, form, plan, completed), {}
        changed = True
    return None, {
        "changed": changed,
        "preview": preview,
        "recipe": recipe_rows(recipes.as_json(plan.recipe)),
        "time": duration(preview.estimate.seconds),
    }


def _start(
    request: LoggedIn, form: PlanningForm, plan: Plan, completed: Callable[[Plan], Plan]
) -> Run | None:
    """Plan and start the run; None if an error was added to the form."""
    try:
        ensured = runs.ensure(plan=completed(plan), by=request.user)
        run = ensured.run
        if run.state == RunState.PLANNED:
            runs.start(run=run, by=request.user)
    except (RunRefused, StudyRefused, PlanRefused) as refused:
        form.add_error(None, str(refused))
        return None
    run.refresh_from_db()
    tasks.enqueue(run)
    if ensured.added:
        message = ngettext("%(number)s job is planned.", "%(number)s jobs are planned.", ensured.added)
        if run.state == RunState.RUNNING:
            message = ngettext("Started: %(number)s job.", "Started: %(number)s jobs.", ensured.added)
        messages.success(request, message % {"number": intcomma(ensured.added)})
    else:
        messages.success(request, gettext("Nothing to add: this run already has all jobs."))
    return run
