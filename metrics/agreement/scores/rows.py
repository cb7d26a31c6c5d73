"""How agreement is computed (which level a scale is read as, how intervals are resampled), and its rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from django.utils.translation import gettext_noop

from annotation.core.scales import SCALES
from metrics.agreement.data.ratings import RatingFrame
from metrics.agreement.stats.coincidences import Level
from metrics.agreement.stats.estimates import Estimate
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.bootstrap import generator
from metrics.core.stats.checks import Ints
from metrics.core.stats.percentiles import Interval

MEASURES = ("percentage", "alpha", "fleiss_kappa", "cross_kappa", "box_iou")


@dataclass(frozen=True)
class AgreementRow:
    """One comparison of annotators. None: undefined or not applicable.

    `scope`: 'all' annotators, 'within' one group, 'between' two, or 'difference'. `alpha` and `fleiss_kappa`
    are for all or within, `cross_kappa` is between two groups. `percentage`: per cent of pairs of ratings
    that are equal; `agreeing`: their number. `box_iou`: depiction with all annotators only. `annotators`:
    number of people who rated within a group; None if some are not identified. `intervals`: for each of
    MEASURES that was resampled. `identity` and `attribute` (with their keys): what the row is about, if not
    the whole task.

    For 'difference', `percentage` (in points) and `alpha` are those within `group` minus those within
    `other`; `units` counts units rated by either, `ratings` and `pairs` those of both. `p`: two-sided p of
    each measure that was resampled. `q`: p adjusted by Benjamini and Hochberg.
    """

    task: str
    labels: str
    level: str
    scope: str
    group: str
    units: int
    ratings: int
    pairs: int
    percentage: float | None
    other: str = ""
    alpha: float | None = None
    fleiss_kappa: float | None = None
    cross_kappa: float | None = None
    box_iou: float | None = None
    box_pairs: int | None = None
    agreeing: int = 0
    annotators: int | None = None
    identity: str = ""
    attribute: str = ""
    identity_id: int | None = None
    attribute_id: int | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    p: Mapping[str, float] = field(default_factory=dict)
    q: Mapping[str, float] = field(default_factory=dict)


def intervals_of(**estimates: Estimate) -> dict[str, Interval]:
    """The intervals that exist; that of the percentage is in per cent, like its value."""
    found = {}
    for name, estimate in estimates.items():
        bounds = estimate.interval
        if bounds is not None and bounds.low == bounds.low:
            by = 100 if name == "percentage" else 1
            found[name] = replace(bounds, low=by * bounds.low, high=by * bounds.high)
    return found


@dataclass(frozen=True)
class Resampling:
    """How intervals are computed: from influences if `clustered`, else from `resamples`, if any. Each
    comparison draws by itself, from the seed and its own name."""

    resamples: int
    seed: int
    clustered: bool = False

    def generator(self, *name: str) -> np.random.Generator:
        return generator(self.seed, "; ".join(name))


@dataclass(frozen=True)
class Reading:
    """One way to read a scale: the level of measurement, and which values count."""

    labels: str
    level: Level
    kept: tuple[int, ...]


def readings(kind: str) -> list[Reading]:
    """Unsure has no place on an ordinal scale, so it is missing there; at the nominal level it is a label."""
    values = tuple(sorted(label.value for label in SCALES[kind]))
    every = Reading(gettext_noop("all labels"), "nominal", values)
    if kind not in {"visual_nature", "offensiveness", "association"}:
        return [every]
    sure = tuple(sorted(item.value for item in SCALES[kind] if not item.needs_justification))
    missing = gettext_noop("Unsure as missing")
    return [Reading(missing, "ordinal", sure), Reading(missing, "interval", sure), every]


def read(frame: RatingFrame, reading: Reading, rows: Ints | slice) -> Ratings:
    columns = [place for place, value in enumerate(frame.values) if value in reading.kept]
    table = frame.table.of(rows)
    return Ratings(table.counts[:, columns], table.units, table.clusters, table.raters)
