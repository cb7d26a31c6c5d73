"""Runs: all of them, one as it stands, and what can be done to it."""

from __future__ import annotations

from collections.abc import Callable

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

ACTIONS: dict[str, tuple[Callable[..., bool | int], Promise]] = {
    "start": (runs.start, _("The run is started.")),
    "pause": (runs.pause, _("The run pauses: workers end after the batch in hand.")),
    "resume": (runs.resume, _("The run goes on.")),
    "cancel": (runs.cancel, _("The run is cancelled. What it made stays.")),
    "retry": (runs.retry, _("What failed is tried again.")),
}
"""Name in the address -> what is done, and what is said once it is."""

_OFFERED: dict[str, tuple[str, ...]] = {
    RunState.PLANNED: ("start", "cancel"),
    RunState.RUNNING: ("pause", "cancel"),
    RunState.PAUSED: ("resume", "cancel"),
    RunState.DONE: (),
    RunState.CANCELLED: (),
}
LABELS = {"start": _("Start"), "pause": _("Pause"), "resume": _("Resume")}


@image_makers_only
@require_safe
def run_list(request: LoggedIn) -> HttpResponse:
    page, rows = queries.run_rows(page=request.GET.get("page"))
    return render(request, "generation/runs/runs.html", {"page": page, "rows": rows, "here": "runs"})


@image_makers_only
@never_cache
@require_safe
def run(request: LoggedIn, pk: int) -> HttpResponse:
    found = get_object_or_404(Run.objects.select_related("image_set", "created_by"), pk=pk)
    stands = queries.progress(found)
    return render(
        request,
        "generation/runs/run.html",
        {
            "run": found,
            "model": queries.model_of(found),
            "recipe": recipe_rows(found.recipe),
            "stands": stands,
            "texts": progress_texts(stands),
            "mark": _mark(stands),
            "parked": queries.parked_jobs(found) if stands.failed else [],
            "latest": queries.latest_images(found) if found.kind == "images" else [],
            "actions": [(name, LABELS.get(name, "")) for name in _OFFERED[stands.state]],
            "may_retry": bool(stands.failed) and stands.state != RunState.CANCELLED,
            "here": "run",
        },
    )


@image_makers_only
@never_cache
@require_safe
def run_progress(request: LoggedIn, pk: int) -> JsonResponse:
    """How a run stands, as the page writes it; `mark` changes when more of the page does."""
    stands = queries.progress(get_object_or_404(Run, pk=pk))
    return JsonResponse(
        {
            **progress_texts(stands),
            "share": {"value": stands.done, "max": stands.total},
            "mark": _mark(stands),
        }
    )


@image_makers_only
@require_POST
def run_action(request: LoggedIn, pk: int, action: str) -> HttpResponse:
    if action not in ACTIONS:
        raise Http404
    found = get_object_or_404(Run, pk=pk)
    act, said = ACTIONS[action]
    try:
        changed = act(run=found, by=request.user)
    except runs.RunRefused as refused:
        messages.warning(request, str(refused))
    else:
        found.refresh_from_db()
        if found.state == RunState.RUNNING:
            tasks.enqueue(found)
        messages.success(
            request, str(said) if changed else gettext("Nothing was changed: that is how it stands.")
        )
    return redirect("run", pk=pk)


def _mark(stands: queries.Progress) -> str:
    """Changes when the page has something else to show than numbers."""
    return f"{stands.state} {stands.failed} {len(stands.errors)} {stands.error}"


def progress_texts(stands: queries.Progress) -> dict[str, str]:
    """The numbers of a run as people read them."""
    return {
        "done": intcomma(stands.done),
        "total": intcomma(stands.total),
        "percent": f"{100 * stands.done / stands.total:.0f} %" if stands.total else "–",
        "claimed": intcomma(stands.claimed),
        "pending": intcomma(stands.pending),
        "failed": intcomma(stands.failed),
        "rate": gettext("%(rate)s/s") % {"rate": f"{stands.rate:.3g}"} if stands.rate else "–",
        "left": duration(stands.seconds_left) if stands.seconds_left is not None else "–",
    }
