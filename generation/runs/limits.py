"""Change the limits of a run. They are no part of its recipe: no answer depends on them."""

import logging

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import AuditEvent
from generation.models import ASKINGS, Run, RunState
from generation.recipes.limits import Limits, as_json
from generation.runs import errors
from generation.runs.errors import RunRefused

logger = logging.getLogger(__name__)

CHANGEABLE = (RunState.PLANNED, RunState.RUNNING, RunState.PAUSED)


def may_change(run: Run, state: str) -> bool:
    """Whether a run of this kind, in this state, has limits that matter."""
    return run.kind in ASKINGS and state in CHANGEABLE


def set_limits(*, run: Run, limits: Limits, by: User | None) -> bool:
    """Replace the limits of a planned, running or paused run; False if they are the same already.

    Workers that are at the run heed them when they claim its next askings; how many are in flight changes
    with a worker's next turn. A run that paused at its limit stays paused: resume it. Raises RunRefused.
    """
    stored = as_json(limits)
    with transaction.atomic():
        locked = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        if locked.kind not in ASKINGS:
            raise RunRefused(errors.NO_LIMITS % {"run": run.pk})
        if locked.state not in CHANGEABLE:
            raise RunRefused(errors.LIMITS_TOO_LATE % {"run": run.pk})
        before, locked.limits = locked.limits, stored
        if before == stored:
            return False
        locked.save(update_fields=["limits"])
        details = {"run": run.pk, "recipe": run.recipe_hash, "before": before, "limits": stored}
        AuditEvent.objects.create(what="run limits changed", by=by, details=details)
    run.limits = stored
    logger.info("limits of run %s changed by %s", run.pk, by.pk if by else "a command")
    return True
