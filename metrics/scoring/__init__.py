"""From the rows of a study to rows of scores: frames in, stats applied, names put back.

Computes and returns; stores nothing. The commands print its rows, services/score_runs.py keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.models import Study
from metrics import frames, registry
from metrics.scoring import (
    agreement,
    attributes,
    caption_agreement,
    depiction,
    differences,
    offensive,
    pull,
    pull_differences,
    texts,
    visual_rule,
    votes,
)
from metrics.scoring.rows import Compute, Inputs, ScoreRow
from metrics.scoring.sharing import sharing_resamples

LEAST_RESAMPLES = 100
COMPUTE: dict[str, Compute] = {
    **depiction.COMPUTE,
    **differences.COMPUTE,
    **attributes.COMPUTE,
    **texts.COMPUTE,
    **caption_agreement.COMPUTE,
    **pull.COMPUTE,
    **pull_differences.COMPUTE,
    **votes.COMPUTE,
    **offensive.COMPUTE,
    **agreement.COMPUTE,
}


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
    check_draw(resamples, seed)
    drawn = resamples if entry.interval else 0
    chosen = registry.parameters(entry, parameters)
    with frames.snapshot():
        digest = frames.inputs_digest(study, entry, chosen)
        rows = COMPUTE[metric](Inputs(study, variant, drawn, seed, chosen))
    return Evaluation(
        metric=metric,
        version=entry.version,
        variant=variant,
        digest=digest,
        seed=seed,
        resamples=drawn,
        rule=rule_in_words(study, entry, chosen),
        parameters=chosen,
        rows=tuple(rows),
    )


def check_draw(resamples: int, seed: int) -> None:
    """Raises ValueError for what no interval can be drawn with."""
    if resamples < 0 or 0 < resamples < LEAST_RESAMPLES:
        raise ValueError(
            f"{resamples} resamples: choose at least {LEAST_RESAMPLES}, or 0 for scores without intervals."
        )
    if seed < 0:
        raise ValueError(f"A seed is a whole number of at least 0, not {seed}.")


def rule_in_words(study: Study, metric: registry.Metric, parameters: Mapping[str, str] | None = None) -> str:
    """The rule of the study that `metric` follows, or the captions or embeddings that it reads."""
    if metric.source == "embeddings":
        return frames.embeddings_in_words(study, registry.parameters(metric, parameters))
    if metric.source == "ratings":
        return "every rating counts as it was given"
    if metric.source == "captions":
        return frames.captions_in_words(study, registry.parameters(metric, parameters))
    if metric.name in votes.COMPUTE:
        return "a stereotype for a pool: at least t of its annotators said Stereotypical"
    if metric.task in ("depiction", "offensiveness") or metric.source == "votes":
        return frames.rule_in_words(study)
    if metric.name == "consensus":
        return "at least 2 annotators chose the same label"
    return visual_rule.in_words(study)


__all__ = [
    "COMPUTE",
    "LEAST_RESAMPLES",
    "Evaluation",
    "Inputs",
    "ScoreRow",
    "check_draw",
    "evaluate",
    "rule_in_words",
    "sharing_resamples",
]
