"""Score rows, and the inputs they are computed from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from numpy.typing import ArrayLike

from annotation.models import Study
from metrics.core.stats import spread
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import NUMBER, Scale
from metrics.core.stats.spread import Spread


@dataclass(frozen=True)
class ScoreRow:
    """One number. The fields are those of metrics.models.Score, with the names beside the ids.

    `value` None is undefined. `part` narrows the number to a part of the study, group or attribute, as listed
    in the registry. `stereotypical`: whether the attribute is a stereotype of the group by the study's rule.
    """

    name: str
    value: float | None
    n: int
    k: int | None = None
    group_id: int | None = None
    group: str = ""
    attribute_id: int | None = None
    attribute: str = ""
    part: str = ""
    stereotypical: bool | None = None
    low: float | None = None
    high: float | None = None
    infinite: int | None = None
    undefined: int | None = None


@dataclass(frozen=True)
class Inputs:
    """The inputs of a metric. `parameters` has all parameters of the metric, given or default.

    Intervals are computed from influences if `clustered`, else from bootstrap `resamples`; without both there
    are none.
    """

    study: Study
    variant: str = "corrected"
    resamples: int = 0
    seed: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    clustered: bool = False

    @property
    def with_intervals(self) -> bool:
        return self.clustered or self.resamples > 0


Compute = Callable[[Inputs], list[ScoreRow]]


class Bounds(TypedDict):
    """The interval fields of a ScoreRow."""

    low: float | None
    high: float | None
    infinite: int | None
    undefined: int | None


def bounds(interval: Interval | None) -> Bounds:
    """The interval fields of a ScoreRow; all None without an interval. `infinite` and `undefined`
    count resamples: None for clustered intervals."""
    if interval is None:
        return {"low": None, "high": None, "infinite": None, "undefined": None}
    return {
        "low": defined(interval.low),
        "high": defined(interval.high),
        "infinite": interval.infinite,
        "undefined": interval.undefined,
    }


class Group(Protocol):
    """An identity group; several groups together have no id."""

    @property
    def group_id(self) -> int | None: ...
    @property
    def group(self) -> str: ...


def score_row(
    name: str,
    value: float,
    n: int,
    interval: Interval | None = None,
    *,
    k: int | None = None,
    group: Group | None = None,
    part: str = "",
) -> ScoreRow:
    """A row of `group`, or of several groups without it. NaN becomes None."""
    return ScoreRow(
        name=name,
        value=defined(value),
        n=n,
        k=k,
        group_id=None if group is None else group.group_id,
        group="" if group is None else group.group,
        part=part,
        **bounds(interval),
    )


def intervals_or_none(
    samples: Spread | None, estimates: ArrayLike, scales: Scale | Sequence[Scale] = NUMBER
) -> list[Interval | None]:
    """The interval of each of M scores from their resamples or influences; M times None without."""
    return spread.intervals(samples, estimates, scales)


def defined(value: float) -> float | None:
    """Replace NaN, which databases and JSON do not have, by None."""
    return None if value != value else float(value)
