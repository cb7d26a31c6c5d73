"""How biased the associations of a study are, from its stored scores."""

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.core.scales import Label
from metrics.models import Score, ScoreRun
from metrics.votes.scores.bias_levels import LABELS

BIAS_LEVELS = "bias_levels"
_MOST_BIASED = 5


@dataclass(frozen=True)
class LevelShare:
    """The share of all answers that are `label`; k of n."""

    label: Label
    score: Score


@dataclass(frozen=True)
class Levels:
    """`mean`: of all levels, None if all answers are Unsure. `shares`: by label, in the order of the scale.
    `pairs`: the scores of the most biased associations, the most biased first, of `associations` with a
    level; `overlapping`: the intervals of how many others overlap that of the first."""

    mean: Score | None
    shares: tuple[LevelShare, ...]
    pairs: tuple[Score, ...]
    associations: int
    overlapping: int


def read_levels(run: ScoreRun, whole: Mapping[str, Score]) -> Levels | None:
    """The levels of `run`, of which the scores without a group are known; None without any. At most two
    queries."""
    if not whole:
        return None
    of_pairs = Score.objects.filter(run=run, name="association", value__isnull=False)
    rows = of_pairs.select_related("group", "attribute").order_by(
        "-value", "group__name", "attribute__text", "pk"
    )
    pairs = tuple(rows[:_MOST_BIASED])
    low = pairs[0].low if pairs else None
    return Levels(
        mean=whole.get("mean"),
        shares=tuple(LevelShare(label, whole[name]) for name, label in LABELS.items() if name in whole),
        pairs=pairs,
        associations=int(whole["associations"].value or 0) if "associations" in whole else 0,
        overlapping=0 if low is None else of_pairs.filter(high__gte=low).exclude(pk=pairs[0].pk).count(),
    )
