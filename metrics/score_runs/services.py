"""Score runs: requested by a page, claimed by a worker, computed once (DESIGN §6, §7)."""

import json
import logging
from collections.abc import Mapping
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation import events
from annotation.core.code_version import code_version
from annotation.core.leases import Claim, Heartbeat, JobState, Leases
from annotation.models import Study
from metrics.core.fingerprints import snapshot
from metrics.models import RunIntervals, Score, ScoreRun
from metrics.score_runs import queries, registry
from metrics.score_runs.evaluation import Evaluation, choose_intervals, evaluate, inputs_digest
from metrics.score_runs.metric import NothingToCompute
from metrics.score_runs.shared_resamples import sharing_resamples

NONE, BOOTSTRAP = RunIntervals.NONE.value, RunIntervals.BOOTSTRAP.value
LEASES = Leases(ScoreRun, related=("study",))
log = logging.getLogger(__name__)


def request(
    *,
    study: Study,
    metric: str,
    variant: str,
    resamples: int | None = None,
    seed: int = 0,
    parameters: Mapping[str, str] | None = None,
    intervals: str | None = None,
) -> ScoreRun:
    """The run of `metric` for the present inputs: the existing one, or a new pending one.

    `intervals`, `resamples` and `seed` are those of `evaluation.choose_intervals`: by default the choice of
    the study. A run that failed for the same inputs is returned unchanged; `retry` resets it. A finished run
    that is not the newest is confirmed, so that it is preferred to later runs of other answers. Raises
    ValueError for an unknown metric, variant or parameter, for intervals that contradict the rest, and for
    missing embeddings. Call tasks.enqueue(run) afterwards.
    """
    entry = registry.get(metric)
    registry.check_variant(entry, variant)
    chosen = registry.parameters(entry, parameters)
    entry.check_inputs(study, chosen)
    method = choose_intervals(study, entry, intervals=intervals, resamples=resamples, seed=seed)
    run, created = ScoreRun.objects.get_or_create(
        study=study,
        metric=entry.name,
        version=entry.version,
        variant=variant,
        parameters=queries.serialize_parameters(chosen),
        digest=inputs_digest(study, entry, chosen),
        intervals=method.name,
        seed=method.seed,
        resamples=method.resamples,
    )
    newest = None if created else queries.newest_run(study, metric, variant, parameters)
    if newest is not None and newest != run and run.state == JobState.DONE:
        ScoreRun.objects.filter(pk=run.pk).update(confirmed_at=timezone.now())
        run.refresh_from_db()
    return run


def retry(*, run_id: int) -> bool:
    """Put a failed run back into the queue. Returns whether there was one. Raises ValueError if its
    embeddings no longer exist."""
    failed = ScoreRun.objects.filter(pk=run_id, state=JobState.FAILED).select_related("study").first()
    if failed is None:
        return False
    registry.get(failed.metric).check_inputs(failed.study, json.loads(failed.parameters))
    moved = ScoreRun.objects.filter(pk=run_id, state=JobState.FAILED).update(
        state=JobState.PENDING, attempts=0, error="", finished_at=None
    )
    return moved == 1


def compute(*, run_id: int, now: datetime | None = None) -> ScoreRun | None:
    """Claim a run, compute it and store its scores. Returns the run, or None if it is finished, another
    worker has it, or the answers have changed and another run of the present answers exists.

    Never raises for a failed computation: the row stores the error and is pending again until its third
    attempt; without inputs it fails at once.
    """
    claim = LEASES.claim(ScoreRun.objects.filter(pk=run_id), now=now)
    if claim is None:
        return None
    [run] = claim.jobs
    try:
        with Heartbeat(claim), snapshot():
            study = Study.objects.select_related("stereotype_source").get(pk=run.study_id)
            result = evaluate(
                study=study,
                metric=run.metric,
                variant=run.variant,
                resamples=run.resamples or None,
                seed=run.seed,
                parameters=json.loads(run.parameters),
                # The previous version stores a run without intervals as a bootstrap of 0 resamples.
                intervals=run.intervals if run.resamples or run.intervals != BOOTSTRAP else NONE,
            )
    except Exception as error:
        nothing = isinstance(error, NothingToCompute)
        if nothing:
            log.info("score run %s has nothing to be computed from", run.pk)
        else:
            log.exception("score run %s failed (try %s of %s)", run.pk, run.attempts, LEASES.tries)
        claim.fail({run.pk: f"{type(error).__name__}: {error}"}, final=nothing)
        return ScoreRun.objects.get(pk=run.pk)
    return _store(claim, result)


def _store(claim: Claim[ScoreRun], result: Evaluation) -> ScoreRun | None:
    """Store the scores, if this worker still holds the run."""
    [run] = claim.jobs
    scores = [
        Score(
            run_id=run.pk,
            group_id=row.group_id,
            attribute_id=row.attribute_id,
            name=row.name,
            part=row.part,
            value=row.value,
            low=row.low,
            high=row.high,
            n=row.n,
            k=row.k,
            infinite=row.infinite,
            undefined=row.undefined,
        )
        for row in result.rows
    ]
    try:
        with transaction.atomic():
            # The answers may have changed between the request and the computation.
            if not claim.finish(
                digest=result.digest,
                intervals=result.intervals,
                rule=result.rule,
                code_version=code_version(),
            ):
                return None
            Score.objects.bulk_create(scores, batch_size=1000)
            events.announce(
                study_id=run.study_id,
                event="scores.finished",
                data={"run": run.pk, "metric": run.metric, "variant": run.variant, "scores": len(scores)},
            )
    except IntegrityError:
        if (result.digest, result.intervals) == (run.digest, run.intervals):
            raise
        # Another run of the present answers was requested, so this one is not needed.
        claim.held().delete()
        return None
    return ScoreRun.objects.get(pk=run.pk)


def compute_with_waiting(*, run_id: int) -> ScoreRun | None:
    """`compute` the run, and then all waiting runs of the study with the same kind of intervals, seed and
    number of resamples: the same answers are read and resampled once for all of them."""
    with sharing_resamples():
        run = compute(run_id=run_id)
        if run is None:
            return None
        others = ScoreRun.objects.filter(
            study=run.study_id,
            intervals=run.intervals,
            seed=run.seed,
            resamples=run.resamples,
            state=JobState.PENDING,
        ).exclude(pk=run.pk)
        for other_id in list(others.order_by("created_at", "pk").values_list("pk", flat=True)):
            compute(run_id=other_id)
    return run


def compute_pending(limit: int = 10, *, now: datetime | None = None) -> int:
    """Compute up to `limit` waiting runs, oldest first, in the embedded worker. Returns how many finished."""
    moment = now or timezone.now()
    finished = 0
    with sharing_resamples():
        for run_id in list(waiting(moment).values_list("pk", flat=True)[:limit]):
            run = compute(run_id=run_id, now=moment)
            finished += run is not None and run.state == JobState.DONE
    return finished


def waiting(now: datetime | None = None) -> QuerySet[ScoreRun]:
    """The runs that a worker could claim now, oldest first."""
    return LEASES.claimable(now).order_by("created_at", "pk")
