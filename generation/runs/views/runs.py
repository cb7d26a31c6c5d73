"""Pages: all runs, one run with its progress, and its actions."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.core.requests import LoggedIn
from generation.core.access import image_makers_only
from generation.core.durations import duration
from generation.jobs import tasks
from generation.models import Run, RunState
from generation.recipes.display import recipe_rows
from generation.runs import queries
from generation.runs import services as runs

MESSAGES: dict[str, Promise] = {
    "start": _("The run has started."),
    "pause": _("The run is paused. Workers stop after the current batch."),
    "resume": _("The run continues."),
    "cancel": _("The run is cancelled. Its results are kept."),
    "retry": _("Failed jobs are tried again."),
}
LABELS = {"start": _("Start"), "pause": _("Pause"), "resume": _("Resume")}


@image_makers_only
@require_safe
def run_list(request: LoggedIn) -> HttpResponse:
    page, rows = queries.run_page(page=request.GET.get("page"))
    return render(request, "generation/runs/runs.html", {"page": page, "rows": rows, "here": "runs"})


@image_makers_only
@never_cache
@require_safe
def run(request: LoggedIn, pk: int) -> HttpResponse:
    found = get_object_or_404(Run.objects.select_related("image_set", "created_by"), pk=pk)
    progress = queries.progress(found)
    actions = runs.available_actions(progress.state, failed=progress.failed)
    return render(
        request,
        "generation/runs/run.html",
        {
            "run": found,
            "model": queries.model_of(found),
            "recipe": recipe_rows(found.recipe),
            "progress": progress,
            "texts": progress_texts(progress),
            "version": _page_version(progress),
            "failed_jobs": queries.failed_jobs(found) if progress.failed else [],
            "latest": queries.latest_images(found) if found.kind == "images" else [],
            "actions": [(name, LABELS[name]) for name in actions if name in LABELS],
            "may_retry": "retry" in actions,
            "may_cancel": "cancel" in actions,
            "here": "run",
        },
    )


@image_makers_only
@never_cache
@require_safe
def run_progress(request: LoggedIn, pk: int) -> JsonResponse:
    """The progress as the page shows it; `version` changes when other parts of the page change."""
    progress = queries.progress(get_object_or_404(Run, pk=pk))
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
    found = get_object_or_404(Run, pk=pk)
    try:
        changed = runs.ACTIONS[action](run=found, by=request.user)
    except runs.RunRefused as refused:
        messages.warning(request, str(refused))
    else:
        found.refresh_from_db()
        if found.state == RunState.RUNNING:
            tasks.enqueue(found)
        messages.success(request, str(MESSAGES[action]) if changed else gettext("Nothing to change."))
    return redirect("run", pk=pk)


def _page_version(progress: queries.Progress) -> str:
    """Changes when more than the numbers on the page changes."""
    return f"{progress.state} {progress.failed} {len(progress.errors)} {progress.error}"


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
