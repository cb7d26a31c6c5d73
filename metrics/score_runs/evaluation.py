"""Compute the score rows of a metric for a study; `services.py` stores them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings

from annotation.models import Study
from metrics.core.answers import counted_responses
from metrics.core.fingerprints import fingerprint, snapshot
from metrics.models import RunIntervals
from metrics.score_runs import registry
from metrics.score_runs.metric import Metric
from metrics.score_runs.rows import Inputs, ScoreRow

MIN_RESAMPLES = 100


@dataclass(frozen=True)
class Evaluation:
    """All rows of a metric for a study, with everything needed to repeat them. `intervals`: one of
    RunIntervals."""

    metric: str
    version: int
    variant: str
    digest: str
    intervals: str
    seed: int
    resamples: int
    rule: str
    parameters: Mapping[str, str]
    rows: tuple[ScoreRow, ...]


def evaluate(
    *,
    study: Study,
    metric: str,
    variant: str,
    resamples: int | None = None,
    seed: int = 0,
    parameters: Mapping[str, str] | None = None,
    intervals: str | None = None,
) -> Evaluation:
    """Compute `metric` for the present state of `study`, with the intervals that `choose_intervals` says.

    Raises ValueError for an unknown metric, variant or parameter, and as `choose_intervals`.
    """
    entry = registry.get(metric)
    registry.check_variant(entry, variant)
    method = choose_intervals(study, entry, intervals=intervals, resamples=resamples, seed=seed)
    chosen = registry.parameters(entry, parameters)
    with snapshot():
        digest = inputs_digest(study, entry, chosen)
        rows = entry.compute(
            Inputs(study, variant, method.resamples, method.seed, chosen, clustered=method.is_clustered)
        )
    return Evaluation(
        metric=metric,
        version=entry.version,
        variant=variant,
        digest=digest,
        intervals=method.name,
        seed=method.seed,
        resamples=method.resamples,
        rule=describe_rule(study, entry, chosen),
        parameters=chosen,
        rows=tuple(rows),
    )


@dataclass(frozen=True)
class IntervalMethod:
    """How intervals are computed: `name`, one of RunIntervals, with the resamples and the seed of the
    bootstrap."""

    name: str
    resamples: int = 0
    seed: int = 0

    @property
    def is_clustered(self) -> bool:
        return self.name == RunIntervals.CLUSTERED


def choose_intervals(
    study: Study,
    metric: Metric,
    *,
    intervals: str | None = None,
    resamples: int | None = None,
    seed: int = 0,
) -> IntervalMethod:
    """The method of the intervals of `metric`.

    `intervals` None is the choice of the study; but a given number of resamples, or a seed other than 0,
    means the bootstrap, and 0 resamples no intervals. A bootstrap without `resamples` draws
    BOOTSTRAP_RESAMPLES of the settings, and so does a metric that has no clustered intervals. A metric that
    cannot be resampled has clustered ones.

    Raises ValueError for an unknown method, 1 to 99 resamples, which are too few for the tails of a 95 %
    interval, a negative seed, and resamples or a seed that contradict `intervals`.
    """
    check_resampling(resamples or 0, seed)
    if intervals is None:
        intervals = RunIntervals.BOOTSTRAP if resamples or seed else study.intervals
        if resamples == 0:
            intervals = RunIntervals.NONE
    elif intervals not in RunIntervals.values:
        raise ValueError(f"Intervals are {', '.join(RunIntervals.values)}; not '{intervals}'.")
    elif intervals == RunIntervals.BOOTSTRAP and resamples == 0:
        raise ValueError("Bootstrap intervals need resamples: not 0.")
    elif intervals == RunIntervals.CLUSTERED and (resamples is not None or seed):
        raise ValueError("Resamples and a seed belong to bootstrap intervals; clustered ones have neither.")
    elif intervals == RunIntervals.NONE and resamples:
        raise ValueError(f"{resamples} resamples, but no intervals: choose bootstrap, or no resamples.")
    if intervals == RunIntervals.NONE or not metric.interval:
        return IntervalMethod(RunIntervals.NONE.value)
    if metric.clustering and (intervals == RunIntervals.CLUSTERED or not metric.resampling):
        return IntervalMethod(RunIntervals.CLUSTERED.value)
    drawn = settings.BOOTSTRAP_RESAMPLES if resamples is None else resamples
    return IntervalMethod(RunIntervals.BOOTSTRAP.value, drawn, seed)


def inputs_digest(study: Study, metric: Metric, parameters: Mapping[str, str] | None = None) -> str:
    """SHA-256 of the inputs of a metric: the answers, the study's rules, and what `Metric.fingerprint` adds,
    such as the associations that pass the rule. A few aggregates, which do not read the answers."""
    chosen = registry.parameters(metric, parameters)
    parts: list[object] = [
        study.pk,
        metric.name,
        metric.task,
        study.stereotype_source_id,
        study.stereotype_pool,
        study.stereotype_threshold,
        study.visual_rule,
        chosen,
        fingerprint(counted_responses(study, metric.task)),
    ]
    if study.visual_mean is not None:  # runs of studies without one keep the digest they were stored with
        parts.append({"visual_mean": study.visual_mean})
    parts += metric.fingerprint(study, chosen)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def check_resampling(resamples: int, seed: int) -> None:
    """Raise ValueError for an invalid number of resamples or seed."""
    if resamples < 0 or 0 < resamples < MIN_RESAMPLES:
        raise ValueError(
            f"{resamples} resamples: choose at least {MIN_RESAMPLES}, or 0 for scores without intervals."
        )
    if seed < 0:
        raise ValueError(f"A seed is a whole number of at least 0, not {seed}.")


def describe_rule(study: Study, metric: Metric, parameters: Mapping[str, str] | None = None) -> str:
    """The study's rule that `metric` applies, or the captions or embeddings that it reads."""
    return metric.rule(study, registry.parameters(metric, parameters))
