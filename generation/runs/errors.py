"""The error of an action that is not possible, and what it says."""

from django.utils.translation import gettext_lazy as _

from generation.models import ASKINGS, Run, RunState

CANCELLED = _("Run %(run)s was cancelled. Plan it again, which brings back what was not made.")
REFUSALS = {
    ("start", RunState.PAUSED): _("Run %(run)s is paused. Resume it."),
    ("start", RunState.CANCELLED): CANCELLED,
    ("pause", RunState.PLANNED): _("Run %(run)s has not been started, so there is nothing to pause."),
    ("pause", RunState.DONE): _("Run %(run)s is done, so there is nothing to pause."),
    ("pause", RunState.CANCELLED): _("Run %(run)s was cancelled, so there is nothing to pause."),
    ("resume", RunState.PLANNED): _("Run %(run)s has not been started. Start it."),
    ("resume", RunState.DONE): _(
        "Run %(run)s is done. Retry what failed, or plan it again with more groups."
    ),
    ("resume", RunState.CANCELLED): CANCELLED,
    ("cancel", RunState.DONE): _("Run %(run)s is done, so there is nothing left to cancel."),
}
"""Other transitions that are not in `_TRANSITIONS` (services.py) change nothing."""
ASKING_DONE = _("Run %(run)s is done. Retry what failed, or plan it again with more prompts.")
PAUSED_BY_ERROR = _(
    "Run %(run)s is paused because of an error: %(error)s Resume it when that is mended. Or discard it, if "
    "it has made nothing, and plan it with other settings."
)
STILL_REFUSED = _(
    "Run %(run)s stays paused: %(error)s Resume it when that is mended. Or discard it, if it has made "
    "nothing, and plan it with other settings."
)
RUNNING = _("Run %(run)s is running, so it is not discarded. Pause it first.")
HAS_RESULTS = _(
    "Run %(run)s has made results, so it is not discarded. Cancel it, which keeps them, and plan other "
    "settings into another image set."
)
ASKING_HAS_RESULTS = _(
    "Run %(run)s has answers, so it is not discarded. Cancel it, which keeps them, and plan other settings "
    "as another run, under another name."
)
NO_LIMITS = _("Run %(run)s asks no model, so it has no limits.")
LIMITS_TOO_LATE = _(
    "Run %(run)s has ended, so its limits matter no more. Set them when you plan more for it."
)
IMPORTED_RUN = _(
    "The answers of run %(run)s were made elsewhere, so there is no model to ask here. Import more with "
    "manage.py import_answers, into another run."
)


IMPORTED_EMBEDDINGS = _(
    "The embeddings of run %(run)s were made elsewhere, so there is no model to ask here. Import more with "
    "manage.py import_embeddings, into another run."
)


class RunRefused(ValueError):
    """A transition that is not possible. The message says why and what to do."""


def refusal(action: str, run: Run) -> str:
    """Why the action is not possible in the run's state; empty if it would change nothing."""
    found = REFUSALS.get((action, RunState(run.state)))
    if found is None:
        return ""
    if action == "start" and run.error:
        found = PAUSED_BY_ERROR
    elif (action, run.state) == ("resume", RunState.DONE) and run.kind in ASKINGS:
        found = ASKING_DONE
    return found % {"run": run.pk, "error": run.error}


def has_results(run: Run) -> str:
    """Why a run that has made something is not discarded."""
    found = ASKING_HAS_RESULTS if run.kind in ASKINGS else HAS_RESULTS
    return found % {"run": run.pk}
