"""A new run: what it is planned from, and before anything starts what it would make and take."""

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
from annotation.studies.units.planned import StudyRefused
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
class Foreseen:
    """What is shown before a run starts. `mark` names it: a start is of the very thing that was seen."""

    plan: Plan
    preview: Preview
    estimate: estimates.Estimate
    mark: str

    @property
    def there(self) -> int:
        return self.preview.total - self.preview.added

    @property
    def time(self) -> str:
        return duration(self.estimate.seconds)

    @property
    def pictures(self) -> list[tuple[str, int]]:
        """(prompt set, how many pictures of it)."""
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
    """GET asks; POST shows what would come of it, and with `start` plans and starts what was shown."""
    if kind not in FORMS:
        raise Http404
    foreseen = None
    changed = False
    if request.method == "POST":
        form = FORMS[kind](request.POST, user=request.user)
        plan = form.plan() if form.is_valid() else None
        foreseen = foresee(plan) if plan is not None else None
        if foreseen is not None and "start" in request.POST:
            if request.POST.get("seen") == foreseen.mark:
                started = _start(request, form, foreseen.plan)
                if started is not None:
                    return redirect("run", pk=started.pk)
                foreseen = None
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
            "foreseen": foreseen,
            "changed": changed and foreseen is not None,
            "here": "new",
        },
        status=422 if form.errors else 200,
    )


def foresee(plan: Plan) -> Foreseen:
    """What a plan would make and take, without writing anything."""
    preview = plans.preview(plan)
    run = preview.run
    seen = (plan.recipe_hash, preview.total, preview.added, run.state if run else "", plan.attach_to)
    return Foreseen(
        plan=plan,
        preview=preview,
        estimate=estimates.estimate(plan.recipe, jobs=preview.added),
        mark=hashlib.sha256(repr(seen).encode()).hexdigest()[:32],
    )


def _start(request: LoggedIn, form: RunForm, plan: Plan) -> Run | None:
    """Plan and start; None, and the form says why, if that cannot be."""
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
        said = ngettext("%(number)s job is planned.", "%(number)s jobs are planned.", ensured.added)
        messages.success(request, said % {"number": intcomma(ensured.added)})
    else:
        messages.success(request, _("Nothing had to be added: this is the run that has it all."))
    return run


def _initial(request: LoggedIn, kind: str) -> dict[str, Any]:
    """What the link says: `like` another run, of this `set`, for this `study`."""
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
