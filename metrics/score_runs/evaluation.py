"""From the rows of a study to rows of scores: arrays in, statistics applied, names put back.

Computes and returns; stores nothing. The commands print its rows, `services.py` keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.models import Study
from metrics.core.fingerprints import snapshot
from metrics.score_runs import registry
from metrics.score_runs.digests import inputs_digest
from metrics.score_runs.metric import Metric
from metrics.score_runs.rows import Inputs, ScoreRow

MIN_RESAMPLES = 100


@dataclass(frozen=True)
class Evaluation:
    """All rows of one metric over one study, with what is needed to repeat them."""

    metric: str
    version: int
    variant: str
    digest: str
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
    resamples: int,
    seed: int,
    parameters: Mapping[str, str] | None = None,
) -> Evaluation:
    """Compute `metric` over `study` as it stands now.

    `resamples` 0 leaves the intervals out. Raises ValueError for an unknown metric, variant or parameter, and
    for resamples between 1 and 99, too few for the tails of a 95 % interval.
    """
    entry = registry.get(metric)
    registry.check_variant(entry, variant)
    check_resampling(resamples, seed)
    drawn = resamples if entry.interval else 0
    chosen = registry.parameters(entry, parameters)
    with snapshot():
        digest = inputs_digest(study, entry, chosen)
        rows = entry.compute(Inputs(study, variant, drawn, seed, chosen))
    return Evaluation(
        metric=metric,
        version=entry.version,
        variant=variant,
        digest=digest,
        seed=seed,
        resamples=drawn,
        rule=describe_rule(study, entry, chosen),
        parameters=chosen,
        rows=tuple(rows),
    )


def check_resampling(resamples: int, seed: int) -> None:
    """Raises ValueError for what no interval can be drawn with."""
    if resamples < 0 or 0 < resamples < MIN_RESAMPLES:
        raise ValueError(
            f"{resamples} resamples: choose at least {MIN_RESAMPLES}, or 0 for scores without intervals."
        )
    if seed < 0:
        raise ValueError(f"A seed is a whole number of at least 0, not {seed}.")


def describe_rule(study: Study, metric: Metric, parameters: Mapping[str, str] | None = None) -> str:
    """The rule of the study that `metric` follows, or the captions or embeddings that it reads."""
    return metric.rule(study, registry.parameters(metric, parameters))
