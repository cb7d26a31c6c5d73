"""The page for a new run: the form, and a preview with time and disk space before anything starts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.core.requests import LoggedIn
from annotation.studies.errors import StudyRefused
from generation.core.access import image_makers_only
from generation.core.durations import duration
from generation.jobs import tasks
from generation.models import Run, RunState
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.queries import estimates
from generation.plans.services import Plan, Preview
from generation.recipes import recipes
from generation.runs import services as runs
from generation.runs.forms.kinds import FORMS, RunForm, initial_from_recipe


@dataclass(frozen=True)
class RunPreview:
    """What is shown before a run starts. The start button sends `fingerprint`, so that a run starts only as
    it was shown."""

    plan: Plan
    preview: Preview
    estimate: estimates.Estimate
    fingerprint: str

    @property
    def existing(self) -> int:
        return self.preview.total - self.preview.added

    @property
    def time(self) -> str:
        return duration(self.estimate.seconds)

    @property
    def pictures(self) -> list[tuple[str, int]]:
        """(prompt set, number of images)."""
        return [(_(name.replace("_", " ")), number) for name, number in self.preview.pictures.items()]

    @property
    def prompts(self) -> list[str]:
        """The prompts of the first group, as examples."""
        first = self.plan.prompts[0].group_id if self.plan.prompts else None
        return [each.prompt.text for each in self.plan.prompts if each.group_id == first]


@image_makers_only
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new_run(request: LoggedIn, kind: str) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run."""
    if kind not in FORMS:
        raise Http404
    run_preview = None
    changed = False
    if request.method == "POST":
        form = FORMS[kind](request.POST, user=request.user)
        plan = form.plan() if form.is_valid() else None
        run_preview = preview_run(plan) if plan is not None else None
        if run_preview is not None and "start" in request.POST:
            if request.POST.get("fingerprint") == run_preview.fingerprint:
                started = _start(request, form, run_preview.plan)
                if started is not None:
                    return redirect("run", pk=started.pk)
                run_preview = None
            changed = True
    else:
        form = FORMS[kind](user=request.user, initial=_initial(request, kind))
    return render(
        request,
        "generation/runs/new_run.html",
        {
            "kind": kind,
            "kinds": [(name, each.title) for name, each in FORMS.items()],
            "form": form,
            "run_preview": run_preview,
            "changed": changed and run_preview is not None,
            "here": "new",
        },
        status=422 if form.errors else 200,
    )


def preview_run(plan: Plan) -> RunPreview:
    """Preview a plan, without writing anything."""
    preview = plans.preview(plan)
    run = preview.run
    shown = (plan.recipe_hash, preview.total, preview.added, run.state if run else "", plan.attach_to)
    return RunPreview(
        plan=plan,
        preview=preview,
        estimate=estimates.estimate(plan.recipe, jobs=preview.added),
        fingerprint=hashlib.sha256(repr(shown).encode()).hexdigest()[:32],
    )


def _start(request: LoggedIn, form: RunForm, plan: Plan) -> Run | None:
    """Plan and start the run; None if an error was added to the form."""
    try:
        ensured = runs.ensure(plan=plan, by=request.user)
        run = ensured.run
        if run.state == RunState.PLANNED:
            runs.start(run=run, by=request.user)
    except (runs.RunRefused, StudyRefused, PlanRefused) as refused:
        form.add_error(None, str(refused))
        return None
    run.refresh_from_db()
    tasks.enqueue(run)
    if ensured.added:
        message = ngettext("%(number)s job is planned.", "%(number)s jobs are planned.", ensured.added)
        messages.success(request, message % {"number": intcomma(ensured.added)})
    else:
        messages.success(request, _("Nothing to add: this run already has all jobs."))
    return run


def _initial(request: LoggedIn, kind: str) -> dict[str, Any]:
    """Initial form data from the link: `like` another run, for this `set` or `study`."""
    initial: dict[str, Any] = {}
    like = request.GET.get("like", "")
    run = None
    if like.isascii() and like.isdigit() and len(like) < 19:
        run = Run.objects.select_related("image_set").filter(pk=int(like), kind=kind).first()
    if run is not None:
        initial = {**initial_from_recipe(recipes.from_json(run.recipe)), "image_set": run.image_set.name}
    for name, field in (("set", "image_set"), ("study", "study")):
        if name in request.GET:
            initial[field] = request.GET[name]
    return initial
