"""Pages: all runs, one run with its progress and actions, and a new run with its preview."""

import json
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.requests import LoggedIn
from generation.answers import queries as answers
from generation.core.access import image_makers_only
from generation.core.durations import duration
from generation.jobs import tasks
from generation.models import ASKINGS, IMPORTED, Run, RunKind, RunState
from generation.plans.prompt_choices import PROMPT_CHOICES
from generation.plans.queries.runs import visible_runs
from generation.recipes import recipes
from generation.recipes.checks import RecipeRefused
from generation.recipes.display import recipe_rows
from generation.recipes.limits import Limits
from generation.recipes.recipes import EmbeddingRecipe, ImageRecipe, Recipe
from generation.recipes.series import series_text
from generation.runs import limits, queries
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from generation.runs.forms import FORMS
from generation.runs.limits_form import LimitsForm
from generation.runs.planning_forms.askings import LIMITS
from generation.runs.planning_page import preview_or_start

RUNS_PER_PAGE = 30
MESSAGES: dict[str, Promise] = {
    "start": _("The run has started."),
    "pause": _("The run is paused. Workers stop after the current batch."),
    "resume": _("The run continues."),
    "cancel": _("The run is cancelled. Its results are kept."),
    "retry": _("Failed jobs are tried again."),
    "discard": _("The run is discarded. Here are its settings: change them, and plan it again."),
}
_DISCARDED = "discarded_run"  # in the session: initial form data
CANCELLED_SETTINGS = _(
    "That run was cancelled, and its open jobs were deleted. Groups, prompts or texts of which nothing was "
    "done are not filled in here: add them."
)
NOTHING_CHANGED = _("Nothing to change.")
LABELS = {"start": _("Start"), "pause": _("Pause"), "resume": _("Resume")}


@image_makers_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_run(request: LoggedIn, kind: str) -> HttpResponse:
    """GET shows the form; POST shows the preview, and with `start` plans and starts the previewed run."""
    if kind not in FORMS:
        raise Http404
    context: dict[str, Any] = {"kind": kind, "here": "new"}
    if request.method == "POST":
        form = FORMS[kind](request.POST, user=request.user)
        started, previewed = preview_or_start(request, form)
        if started is not None:
            return redirect("run", pk=started.pk)
        context |= previewed
        if "preview" in context:
            pictures = context["preview"].pictures.items()
            context["pictures"] = [(gettext(name.replace("_", " ")), number) for name, number in pictures]
    else:
        form = FORMS[kind](user=request.user, initial=_initial(request, kind))
    context |= {"form": form, "kinds": [(name, each.title) for name, each in FORMS.items()]}
    return render(request, "generation/runs/new_run.html", context, status=422 if form.errors else 200)


def _initial(request: LoggedIn, kind: str) -> dict[str, Any]:
    """Initial form data: of the run that was just discarded, else from the link: `like` another run, for this
    `set` or `study`."""
    initial: dict[str, Any] = request.session.pop(_DISCARDED, {}).get(kind, {})
    like = request.GET.get("like", "")
    run = None
    if like.isascii() and like.isdigit() and len(like) < 19:
        run = visible_runs(request.user).filter(pk=int(like), kind=kind).first()
    if run is not None:
        initial = _settings(run)
        if run.state == RunState.CANCELLED:
            messages.warning(request, CANCELLED_SETTINGS)
    for name, field in (("set", "image_set"), ("study", "study")):
        if name in request.GET:
            initial[field] = request.GET[name]
    return initial


def _settings(run: Run) -> dict[str, Any]:
    """What a run was planned with, as initial form data."""
    try:
        recipe = recipes.from_json(run.recipe)
    except RecipeRefused:  # of another version of the program
        return {}
    image_set = {"image_set": run.image_set.name} if run.image_set else {}
    if run.kind == RunKind.EMBEDDINGS:
        texts = "\n".join(each["prompt"] for each in queries.prompts(run))
        return {**_initial_from_recipe(recipe), **image_set, "texts": texts}
    if run.kind not in ASKINGS:
        groups = "\n".join(queries.group_names(run))
        prompt = queries.own_prompt(run)
        return {**_initial_from_recipe(recipe), **image_set, "groups": groups, "prompt": prompt}
    prompts = "\n".join(json.dumps(each, ensure_ascii=False) for each in queries.prompts(run))
    limits = {form_field: run.limits.get(name) for name, form_field in LIMITS.items()}
    return {**_initial_from_recipe(recipe), **image_set, **limits, "prompts": prompts}


def _initial_from_recipe(recipe: Recipe) -> dict[str, Any]:
    """Initial form data for a recipe."""
    data = asdict(recipe)
    if isinstance(recipe, ImageRecipe):
        by_sets = {frozenset(one[1]): key for key, one in PROMPT_CHOICES.items()}
        data["prompts"] = by_sets.get(frozenset(recipe.prompt_sets), "detection")
        data["lora"] = "\n".join(recipe.lora)
        data["strengths"] = series_text(recipe.strengths)
    if not isinstance(recipe, ImageRecipe | EmbeddingRecipe):
        data["options"] = "\n".join(
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in recipe.options.items()
        )
    for name in ("stop", "labels"):
        if name in data:
            data[name] = "\n".join(data[name])
    return data


@image_makers_only
@require_safe
def run_list(request: LoggedIn) -> HttpResponse:
    page = Paginator(visible_runs(request.user), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    rows = queries.run_rows(list(page))
    return render(request, "generation/runs/runs.html", {"page": page, "rows": rows, "here": "runs"})


@image_makers_only
@require_safe
def run(request: LoggedIn, pk: int) -> HttpResponse:
    found = get_object_or_404(visible_runs(request.user), pk=pk)
    return _run_page(request, found, LimitsForm(run=found))


def _run_page(request: LoggedIn, found: Run, limits_form: LimitsForm) -> HttpResponse:
    progress = queries.progress(found)
    asks, imported = found.kind in ASKINGS, found.backend == IMPORTED
    actions = runs.available_actions(
        progress.state, done=progress.done, failed=progress.failed, imported=imported
    )
    return render(
        request,
        "generation/runs/run.html",
        {
            "run": found,
            "asks": asks,
            "answers": answers.latest(found) if asks else [],
            "endings": answers.endings(found) if asks else [],
            "spent": answers.spent(found) if asks else None,
            "limits_form": limits_form if limits.may_change(found, progress.state) else None,
            "imported": imported,
            "recipe": recipe_rows(found.recipe),
            "initial_set": found.recipe.get("initial", ""),
            "strengths": found.recipe.get("strengths", []),
            "progress": progress,
            "behind": _visible(request, progress.behind),
            "texts": progress_texts(progress),
            "version": _page_version(progress),
            "failed_jobs": queries.failed_jobs(found) if progress.failed else [],
            "latest": queries.latest_images(found) if found.kind == "images" else [],
            "embedded": queries.embedded(found) if found.kind == RunKind.EMBEDDINGS else None,
            "actions": [(name, LABELS[name]) for name in actions if name in LABELS],
            "may_retry": "retry" in actions,
            "may_cancel": "cancel" in actions,
            "may_discard": "discard" in actions,
            "resumed": queries.resumed_message(found),
            "here": "run",
        },
        status=422 if limits_form.errors else 200,
    )


def _visible(request: LoggedIn, other: Run | None) -> Run | None:
    return None if other is None else visible_runs(request.user).filter(pk=other.pk).first()


@image_makers_only
@require_safe
def run_progress(request: LoggedIn, pk: int) -> JsonResponse:
    """The progress as the page shows it; `version` changes when other parts of the page change."""
    progress = queries.progress(get_object_or_404(visible_runs(request.user), pk=pk))
    return JsonResponse(
        {
            **progress_texts(progress),
            "bar": {"value": progress.done, "max": progress.total},
            "version": _page_version(progress),
        }
    )


@image_makers_only
@require_POST
def run_action(request: LoggedIn, pk: int, action: str) -> HttpResponse:
    if action not in runs.ACTIONS:
        raise Http404
    found = get_object_or_404(visible_runs(request.user), pk=pk)
    settings = _settings(found) if action == "discard" else {}
    try:
        changed = runs.ACTIONS[action](run=found, by=request.user)
    except RunRefused as refused:
        messages.warning(request, str(refused))
        return redirect("run", pk=pk)
    if action == "discard":
        request.session[_DISCARDED] = {found.kind: settings}
        messages.success(request, str(MESSAGES[action]))
        return redirect("new_run", found.kind)
    found.refresh_from_db()
    if found.state == RunState.RUNNING:
        tasks.enqueue(found)
    # The page itself says why the run had paused.
    if action != "resume" or not queries.resumed_message(found):
        messages.success(request, str(MESSAGES[action] if changed else NOTHING_CHANGED))
    return redirect("run", pk=pk)


@image_makers_only
@require_POST
def run_limits(request: LoggedIn, pk: int) -> HttpResponse:
    """Replace the limits; what is wrong is said on the run's page."""
    found = get_object_or_404(visible_runs(request.user), pk=pk)
    form = LimitsForm(request.POST, run=found)
    wanted = form.limits() if form.is_valid() else None
    if wanted is None and limits.may_change(found, found.state):
        return _run_page(request, found, form)
    try:
        changed = limits.set_limits(run=found, limits=wanted or Limits(), by=request.user)
    except RunRefused as refused:
        messages.warning(request, str(refused))
    else:
        message = gettext("The limits are changed.") if changed else str(NOTHING_CHANGED)
        messages.success(request, message)
    return redirect("run", pk=pk)


def _page_version(progress: queries.Progress) -> str:
    """Changes when more than the numbers on the page changes."""
    parts = (progress.state, progress.failed, len(progress.errors), progress.error, progress.loading)
    waits = (progress.idle, progress.untouched, progress.behind and progress.behind.pk, progress.resting)
    return " ".join(map(str, (*parts, *waits)))


def progress_texts(progress: queries.Progress) -> dict[str, str]:
    """The progress numbers, formatted."""
    return {
        "done": intcomma(progress.done),
        "total": intcomma(progress.total),
        "percent": f"{100 * progress.done / progress.total:.0f} %" if progress.total else "–",
        "claimed": intcomma(progress.claimed),
        "pending": intcomma(progress.pending),
        "failed": intcomma(progress.failed),
        "rate": gettext("%(rate)s/s") % {"rate": f"{progress.rate:.3g}"} if progress.rate else "–",
        "left": duration(progress.seconds_left) if progress.seconds_left is not None else "–",
    }
