"""Compute the score rows of a metric for a study; `services.py` stores them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from annotation.models import Study
from metrics.core.answers import counted_responses
from metrics.core.fingerprints import fingerprint, snapshot
from metrics.score_runs import registry
from metrics.score_runs.metric import Metric
from metrics.score_runs.rows import Inputs, ScoreRow

MIN_RESAMPLES = 100


@dataclass(frozen=True)
class Evaluation:
    """All rows of a metric for a study, with everything needed to repeat them."""

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
    """Compute `metric` for the present state of `study`.

    With `resamples` 0 there are no intervals. Raises ValueError for an unknown metric, variant or parameter,
    and for 1 to 99 resamples, which are too few for the tails of a 95 % interval.
    """
    entry = registry.get(metric)
    registry.check_variant(entry, variant)
    check_resampling(resamples, seed)
    used_resamples = resamples if entry.is_resampled else 0
    chosen = registry.parameters(entry, parameters)
    with snapshot():
        digest = inputs_digest(study, entry, chosen)
        rows = entry.compute(Inputs(study, variant, used_resamples, seed, chosen))
    return Evaluation(
        metric=metric,
        version=entry.version,
        variant=variant,
        digest=digest,
        seed=seed,
        resamples=used_resamples,
        rule=describe_rule(study, entry, chosen),
        parameters=chosen,
        rows=tuple(rows),
    )


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
