"""Runs: made of plans, started, paused, resumed, cancelled.

    planned -> running <-> paused,  running -> done,  all but done -> cancelled

Planning the same again is the same run. A run that is done or cancelled is planned again when a plan adds
jobs to it. A move is one conditional UPDATE whose row count is the answer; the audit records it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Attribute, AuditEvent, Image, ImageSet, Study
from annotation.studies.services import studies
from generation.models import Job, JobState, Run, RunState
from generation.plans.queries.image_sets import check_set, model_name
from generation.plans.services import Missing, Plan, PlannedPrompt, missing
from generation.recipes.recipes import FAKE, ImageRecipe, as_json, picture_seed

if TYPE_CHECKING:
    from django.contrib.auth.models import User

logger = logging.getLogger(__name__)

_AT_ONCE = 2000
OPEN = (JobState.PENDING, JobState.CLAIMED)


class RunRefused(ValueError):
    """A move that a run cannot make. The message says why and what to do."""


@dataclass(frozen=True)
class Ensured:
    """`added`: jobs that this plan added; `total`: jobs of the run. It is still to be started."""

    run: Run
    added: int
    total: int


def ensure(*, plan: Plan, by: User | None) -> Ensured:
    """The run of a plan, with a job for everything it wants; the same plan again adds nothing.

    Two at once wait for each other at the image set's row, and each adds what is still missing. Jobs are
    added in parts, so that annotators' answers get through between two of them; planning again completes
    what was interrupted. Raises PlanRefused if another recipe fills the set by now, and StudyRefused if the
    study that is to show the set cannot; nothing is written then.
    """
    with transaction.atomic():
        run, created = _opened(plan, by)
    added = 0
    for part in plan.split(min_jobs=_AT_ONCE):
        with transaction.atomic():
            _image_set(plan)
            # A worker that finds nothing left locks this row before it says done (jobs/services/claims.py).
            run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
            if run.state == RunState.CANCELLED:
                break
            wanted = missing(part)
            Job.objects.bulk_create(_jobs(run, part, wanted), batch_size=_AT_ONCE)
            if wanted and run.state == RunState.DONE:
                _plan_again(run)
            added += len(wanted)
    if created or added:
        _audit("run planned" if created else "run extended", run, by, study=plan.study, added=added)
    run.refresh_from_db()
    return Ensured(run=run, added=added, total=run.jobs.count())


def start(*, run: Run, by: User | None) -> bool:
    """planned -> running; False if it runs already, or has nothing to do (and is done).

    Raises RunRefused for a run that is paused or cancelled. Ring generation.jobs.tasks afterwards.
    """
    with transaction.atomic():
        Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        # everything it wants is made by another run of its set, so no worker would ever end it
        to = RunState.RUNNING if run.jobs.filter(state__in=OPEN).exists() else RunState.DONE
        if _move(run, to, (RunState.PLANNED,), by, what="run started"):
            return to == RunState.RUNNING
    cures = {
        RunState.PAUSED: _("Run %(run)s is paused. Resume it."),
        RunState.CANCELLED: _(
            "Run %(run)s was cancelled. Plan it again, which brings back what was not made."
        ),
    }
    _refuse(run, cures)
    return False


def pause(*, run: Run, by: User | None) -> bool:
    """running -> paused: workers end after the batch in hand. False if it is paused already."""
    if _move(run, RunState.PAUSED, (RunState.RUNNING,), by, what="run paused"):
        return True
    cures = {
        RunState.PLANNED: _("Run %(run)s has not been started, so there is nothing to pause."),
        RunState.DONE: _("Run %(run)s is done, so there is nothing to pause."),
        RunState.CANCELLED: _("Run %(run)s was cancelled, so there is nothing to pause."),
    }
    _refuse(run, cures)
    return False


def resume(*, run: Run, by: User | None) -> bool:
    """paused -> running; False if it runs already."""
    if _move(run, RunState.RUNNING, (RunState.PAUSED,), by, what="run resumed"):
        return True
    cures = {
        RunState.PLANNED: _("Run %(run)s has not been started. Start it."),
        RunState.DONE: _("Run %(run)s is done. Retry what failed, or plan it again with more groups."),
        RunState.CANCELLED: _(
            "Run %(run)s was cancelled. Plan it again, which brings back what was not made."
        ),
    }
    _refuse(run, cures)
    return False


def cancel(*, run: Run, by: User | None) -> bool:
    """Give up what is not made yet: its jobs go, what was made stays. False if it is cancelled already."""
    with transaction.atomic():
        origins = (RunState.PLANNED, RunState.RUNNING, RunState.PAUSED)
        if _move(run, RunState.CANCELLED, origins, by, what="run cancelled"):
            _drop(run)
            return True
    _refuse(run, {RunState.DONE: _("Run %(run)s is done, so there is nothing left to cancel.")})
    return False


def retry(*, run: Run, by: User | None) -> int:
    """Give every failed job three new tries; returns how many there were. A run that was done runs again,
    one that is paused stays so. Raises RunRefused for a cancelled run."""
    with transaction.atomic():
        run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
        if run.state == RunState.CANCELLED:
            _refuse(
                run,
                {
                    RunState.CANCELLED: _(
                        "Run %(run)s was cancelled. Plan it again, which brings back what was not made."
                    )
                },
            )
        again = run.jobs.filter(state=JobState.FAILED).update(
            state=JobState.PENDING, attempts=0, not_before=None, error=""
        )
        if again:
            Run.objects.filter(pk=run.pk, state=RunState.DONE).update(
                state=RunState.RUNNING, finished_at=None
            )
            _audit("run retried", run, by, jobs=again)
    return again


def _opened(plan: Plan, by: User | None) -> tuple[Run, bool]:
    """The run, without its jobs; whether it is new."""
    image_set = _image_set(plan)
    if isinstance(plan.recipe, ImageRecipe):
        # again, now that nobody else can begin to fill it
        check_set(plan.image_set, plan.recipe)
    run, created = Run.objects.get_or_create(
        recipe_hash=plan.recipe_hash,
        defaults={
            "kind": plan.recipe.kind,
            "image_set": image_set,
            "backend": plan.recipe.backend,
            "recipe": as_json(plan.recipe),
            "created_by": by,
        },
    )
    run = Run.objects.select_for_update(no_key=True).get(pk=run.pk)
    if run.state == RunState.CANCELLED:
        _drop(run)
        if missing(plan):
            _plan_again(run)
    if plan.attach_to is not None:
        studies.show_images(study=plan.attach_to, image_set=image_set, by=by)
    return run, created


def _plan_again(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(state=RunState.PLANNED, finished_at=None, error="")


def _image_set(plan: Plan) -> ImageSet:
    """The set, locked: from here on nobody else numbers its images or plans jobs for it."""
    if isinstance(plan.recipe, ImageRecipe):
        model = model_name(plan.recipe)
        ImageSet.objects.get_or_create(
            name=plan.image_set,
            defaults={
                "title": plan.image_set,
                "model_name": model,
                "drawn": plan.recipe.backend == FAKE,
            },
        )
    return ImageSet.objects.select_for_update(no_key=True).get(name=plan.image_set)


def _jobs(run: Run, plan: Plan, wanted: Missing) -> Iterator[Job]:
    for image in wanted.images:
        yield Job(run=run, image_id=image)
    if not wanted.pictures or not isinstance(plan.recipe, ImageRecipe):
        return
    attributes = _attributes([each for each, _ in wanted.pictures])
    last = _last_indexes(run.image_set_id, groups={each.group_id for each, _ in wanted.pictures})
    for each, number in wanted.pictures:
        prompt = each.prompt
        last[each.group_id] = last.get(each.group_id, 0) + 1
        yield Job(
            run=run,
            group_id=each.group_id,
            attribute_id=attributes[prompt.attribute] if prompt.attribute else None,
            prompt_set=prompt.prompt_set.value,
            prompt=prompt.text,
            number=number,
            index=last[each.group_id],
            seed=picture_seed(seed=plan.recipe.seed, prompt=prompt.text, number=number),
        )


def _attributes(wanted: Sequence[PlannedPrompt]) -> dict[str, int]:
    texts = {each.prompt.attribute for each in wanted if each.prompt.attribute}
    if not texts:
        return {}
    return dict(Attribute.objects.filter(text__in=texts).values_list("text", "pk"))


def _last_indexes(image_set: int, *, groups: Collection[int]) -> dict[int, int]:
    """Group id -> the highest number that a picture of the set has, or will have."""
    last: dict[int, int] = {}
    taken: tuple[QuerySet[Image] | QuerySet[Job], ...] = (
        Image.objects.filter(image_set=image_set, group__in=groups),
        Job.objects.filter(run__image_set=image_set, group__in=groups),
    )
    for rows in taken:
        for group, index in rows.order_by().values_list("group").annotate(Max("index")):
            last[group] = max(last.get(group, 0), index)
    return last


def _drop(run: Run) -> None:
    """Forget what was not made. A batch that a worker holds is left to it, and so are pictures that were
    made once and whose files are being made again (image_sets/services.py)."""
    never_made = Q(group=None) | Q(image=None)
    run.jobs.filter(never_made, state__in=(JobState.PENDING, JobState.FAILED)).delete()


def _move(run: Run, to: str, origins: Sequence[str], by: User | None, *, what: str) -> bool:
    now = timezone.now()
    ended = to in (RunState.DONE, RunState.CANCELLED)
    changes: dict[str, object] = {"state": to, "error": "", "finished_at": now if ended else None}
    with transaction.atomic():
        if to == RunState.RUNNING:
            Run.objects.filter(pk=run.pk, state__in=origins, started_at=None).update(started_at=now)
        moved = Run.objects.filter(pk=run.pk, state__in=origins).update(**changes)
        if moved:
            _audit(what, run, by)
    run.refresh_from_db()
    return bool(moved)


def _refuse(run: Run, cures: dict[RunState, str]) -> None:
    if cure := cures.get(RunState(run.state)):
        raise RunRefused(cure % {"run": run.pk})


def _audit(what: str, run: Run, by: User | None, *, study: Study | None = None, **details: object) -> None:
    AuditEvent.objects.create(
        what=what,
        study=study,
        by=by,
        details={"run": run.pk, "recipe": run.recipe_hash, **details},
    )
    logger.info("%s: %s by %s", what, run.pk, by.pk if by else "a command")


__all__ = ["OPEN", "Ensured", "RunRefused", "cancel", "ensure", "pause", "resume", "retry", "start"]
