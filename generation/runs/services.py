"""Create runs from plans, and start, pause, resume, cancel, retry and discard them.

    planned -> running <-> paused,  running -> done,  all but done -> cancelled
    all but running -> deleted (discard), if nothing was made

The same plan gives the same run. A run that is done or cancelled becomes planned again when a plan adds jobs.
A transition is one conditional UPDATE, which succeeded if it changed a row; the audit log records it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from annotation.core.leases import OPEN, JobState
from annotation.models import AuditEvent, ImageSet, Study
from annotation.studies.services import studies
from generation import backends
from generation.backends.base import BackendError
from generation.jobs.services import claims
from generation.models import IMPORTED, Job, Run, RunKind, RunState
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.plans.queries.image_sets import check_set
from generation.plans.queries.jobs import missing_jobs, new_jobs
from generation.recipes import limits
from generation.recipes.checks import RecipeRefused
from generation.recipes.recipes import FAKE, ImageRecipe, as_json, from_json
from generation.runs import errors
from generation.runs.errors import RunRefused

logger = logging.getLogger(__name__)

_JOBS_PER_TRANSACTION = 2000
_NEVER_MADE = Q(group=None) | Q(image=None) | ~Q(key="")
"""All jobs but those that generate a lost file again (image_sets/services.py)."""
_TRANSITIONS = {
    "start": ((RunState.PLANNED,), "run started"),
    "pause": ((RunState.RUNNING,), "run paused"),
    "resume": ((RunState.PAUSED,), "run resumed"),
    "cancel": ((RunState.PLANNED, RunState.RUNNING, RunState.PAUSED), "run cancelled"),
}
"""Action -> the states it starts from, and what the audit log calls it."""


@dataclass(frozen=True)
class EnsuredRun:
    """`added`: jobs that this plan added; `total`: jobs of the run. The run is not started yet."""

    run: Run
    added: int
    total: int


def ensure(*, plan: Plan, by: User | None) -> EnsuredRun:
    """Get or create the run of a plan, with all its jobs. The same plan again adds nothing.

    Two calls at once wait for each other at the row of the image set or of the run, and each adds the jobs
    that are still missing. Jobs are added in several transactions, so that annotators' answers are not
    blocked; calling it again completes an interrupted call. Raises PlanRefused if another recipe fills the
    set or has the name by now, and StudyRefused if the study cannot show the set; nothing is written then.
    """
    with transaction.atomic():
        run, created = _get_or_create(plan, by)
        if created:
            _audit("run planned", run, by, study=plan.study, jobs=plan.total)
    added = 0
    for part in plan.split(min_jobs=_JOBS_PER_TRANSACTION):
        with transaction.atomic():
            _lock_image_set(plan)
            # A worker that finds no jobs left locks this row before it marks the run as done (claims.py).
            run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
            if run.state == RunState.CANCELLED:
                break
            missing = missing_jobs(part)
            Job.objects.bulk_create(new_jobs(run, part, missing), batch_size=_JOBS_PER_TRANSACTION)
            if missing and run.state == RunState.DONE:
                _reset_to_planned(run)
            if missing and not created:
                _audit("run extended", run, by, study=plan.study, added=len(missing))
            added += len(missing)
    run.refresh_from_db()
    return EnsuredRun(run=run, added=added, total=run.jobs.count())


def start(*, run: Run, by: User | None) -> bool:
    """planned -> running; False if it is already running, or has nothing to do (and is done).

    Raises RunRefused for a run that is paused or cancelled. Call `generation.jobs.tasks.enqueue` afterwards.
    """
    _refuse_imported(run)
    with transaction.atomic():
        Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        # Without open jobs (another run of the set has them all) no worker would ever end the run.
        to = RunState.RUNNING if run.jobs.filter(state__in=OPEN).exists() else RunState.DONE
        return _transition("start", run, to, by) and to == RunState.RUNNING


def pause(*, run: Run, by: User | None) -> bool:
    """running -> paused: workers stop after the current batch. False if it is already paused."""
    return _transition("pause", run, RunState.PAUSED, by)


def resume(*, run: Run, by: User | None) -> bool:
    """paused -> running; False if it is already running.

    The error that paused it stays until a worker has made something. A run of which most jobs fail does not
    pause for that again. Raises RunRefused, also for a recipe that would certainly pause again.
    """
    _refuse_imported(run)
    if run.state == RunState.PAUSED:
        try:
            backends.check(from_json(run.recipe))
        except (BackendError, RecipeRefused) as error:
            raise RunRefused(errors.STILL_REFUSED % {"run": run.pk, "error": error}) from error
    accepted = bool(claims.mostly_fails(run.pk))
    with transaction.atomic():
        resumed = _transition("resume", run, RunState.RUNNING, by)
        if resumed and accepted:
            Run.objects.filter(pk=run.pk).update(failures_accepted=True)
    return resumed


def cancel(*, run: Run, by: User | None) -> bool:
    """Delete the jobs that are not done; results are kept. False if it is already cancelled."""
    return _transition("cancel", run, RunState.CANCELLED, by)


def retry(*, run: Run, by: User | None) -> int:
    """Give every failed job three new attempts; returns how many there were.

    A run that was done runs again; a paused run stays paused. Raises RunRefused for a cancelled run.
    """
    _refuse_imported(run)
    with transaction.atomic():
        run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        if run.state == RunState.CANCELLED:
            raise RunRefused(errors.CANCELLED % {"run": run.pk})
        again = run.jobs.filter(state=JobState.FAILED).update(
            state=JobState.PENDING, attempts=0, not_before=None, error=""
        )
        if again:
            Run.objects.filter(pk=run.pk, state=RunState.DONE).update(
                state=RunState.RUNNING, finished_at=None
            )
            _audit("run retried", run, by, jobs=again)
    return again


def discard(*, run: Run, by: User | None) -> bool:
    """Delete a run that has made nothing, with its jobs, and its image set if it is empty and unused.

    Another recipe can then fill that set. Returns True; raises RunRefused.
    """
    with transaction.atomic():
        image_set = ImageSet.objects.select_for_update(no_key=True).filter(runs=run).first()
        run = Run.objects.select_for_update().get(pk=run.pk)
        if run.state == RunState.RUNNING:
            raise RunRefused(errors.RUNNING % {"run": run.pk})
        # Waits for a worker that is just completing a job; such a job is then done and stays.
        run.jobs.filter(_NEVER_MADE).exclude(state=JobState.DONE).delete()
        results = (
            *(run.jobs, run.provenances, run.captions),
            *(run.embeddings, run.text_embeddings, run.answers),
        )
        if any(each.exists() for each in results):
            raise RunRefused(errors.has_results(run))
        about: dict[str, Any] = {"name": run.name} if image_set is None else {"image_set": image_set.name}
        _audit("run discarded", run, by, study=None, **about)
        run.delete()
        if image_set is None:
            return True
        users = (image_set.images, image_set.runs, image_set.task_set)
        if not any(each.exists() for each in users):
            image_set.delete()
    return True


ACTIONS: dict[str, Callable[..., bool | int]] = {
    "start": start,
    "pause": pause,
    "resume": resume,
    "cancel": cancel,
    "retry": retry,
    "discard": discard,
}


def available_actions(state: str, *, done: int, failed: int, imported: bool = False) -> list[str]:
    """The names in `ACTIONS` that are possible for a run in this state with so many done and failed jobs.
    `imported`: its results were made elsewhere."""
    if imported:
        return []
    return [
        *(action for action, (origins, _) in _TRANSITIONS.items() if state in origins),
        *["retry"] * bool(failed and state != RunState.CANCELLED),
        *["discard"] * (not done and state != RunState.RUNNING),
    ]


def _refuse_imported(run: Run) -> None:
    if run.backend == IMPORTED:
        embeddings = run.kind == RunKind.EMBEDDINGS
        message = errors.IMPORTED_EMBEDDINGS if embeddings else errors.IMPORTED_RUN
        raise RunRefused(message % {"run": run.pk})


def _get_or_create(plan: Plan, by: User | None) -> tuple[Run, bool]:
    """The run, without its jobs, and whether it is new."""
    image_set = _lock_image_set(plan)
    if isinstance(plan.recipe, ImageRecipe):
        # Checked again, now that the set is locked.
        check_set(plan.image_set, plan.recipe)
    defaults = {
        "kind": plan.recipe.kind,
        "name": plan.name,
        "image_set": image_set,
        "backend": plan.recipe.backend,
        "recipe": as_json(plan.recipe),
        "created_by": by,
    }
    try:
        run, created = Run.objects.get_or_create(recipe_hash=plan.recipe_hash, defaults=defaults)
    except IntegrityError as error:  # somebody has just taken the name
        raise PlanRefused(
            f"There is already a run '{plan.name}', with another recipe. Choose another name."
        ) from error
    if plan.name:
        Run.objects.filter(pk=run.pk).update(limits=limits.as_json(plan.limits))
    if created and image_set and isinstance(plan.recipe, ImageRecipe) and not image_set.images.exists():
        # The set may have been filled by a run that made nothing.
        ImageSet.objects.filter(pk=image_set.pk).update(**_made_by(plan.recipe))
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if run.state == RunState.CANCELLED:
        _delete_open_jobs(run)
        if any(missing_jobs(part) for part in plan.split(min_jobs=_JOBS_PER_TRANSACTION)):
            _reset_to_planned(run)
    if plan.attach_to is not None and image_set is not None:
        studies.attach_image_set(study=plan.attach_to, image_set=image_set, by=by)
    return run, created


def _reset_to_planned(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state=RunState.PLANNED, finished_at=None, error="")


def _lock_image_set(plan: Plan) -> ImageSet | None:
    """Get or create the set, and lock it, so that nobody else numbers its images or plans jobs for it. None
    for a plan without images."""
    if not plan.image_set:
        return None
    if isinstance(plan.recipe, ImageRecipe):
        new = {"title": plan.image_set, **_made_by(plan.recipe)}
        ImageSet.objects.get_or_create(name=plan.image_set, defaults=new)
    return ImageSet.objects.select_for_update(no_key=True).get(name=plan.image_set)


def _made_by(recipe: ImageRecipe) -> dict[str, Any]:
    drawn = recipe.backend == FAKE
    return {"model_name": FAKE if drawn else recipe.model, "drawn": drawn}


def _delete_open_jobs(run: Run) -> int:
    """Delete pending and failed jobs; returns how many. Claimed jobs are left to their workers."""
    dropped = run.jobs.filter(_NEVER_MADE, state__in=(JobState.PENDING, JobState.FAILED))
    return dropped.delete()[1].get(Job._meta.label, 0)


def _transition(action: str, run: Run, to: str, by: User | None) -> bool:
    """Whether the run was moved; False if it is there already. Raises RunRefused."""
    origins, what = _TRANSITIONS[action]
    now = timezone.now()
    ended = to in (RunState.DONE, RunState.CANCELLED)
    with transaction.atomic():
        from_here = Run.objects.filter(pk=run.pk, state__in=origins)
        if to == RunState.RUNNING:
            from_here.filter(started_at=None).update(started_at=now)
        error = {} if action == "resume" else {"error": ""}
        moved = from_here.update(state=to, finished_at=now if ended else None, **error)
        if moved:
            # The run's page needs the number (queries.py): nothing else remembers deleted jobs.
            details: dict[str, Any] = {"dropped": _delete_open_jobs(run)} if action == "cancel" else {}
            _audit(what, run, by, **details)
    run.refresh_from_db()
    if not moved and (refusal := errors.refusal(action, run)):
        raise RunRefused(refusal)
    return bool(moved)


def _audit(what: str, run: Run, by: User | None, *, study: Study | None = None, **details: object) -> None:
    details = {"run": run.pk, "recipe": run.recipe_hash, **details}
    AuditEvent.objects.create(what=what, study=study, by=by, details=details)
    logger.info("%s: %s by %s", what, run.pk, by.pk if by else "a command")
