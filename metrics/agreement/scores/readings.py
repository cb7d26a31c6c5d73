"""How agreement is computed: as which level a scale is read, and how intervals are resampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext_noop

from annotation.core.scales import SCALES
from metrics.agreement.data.ratings import RatingFrame
from metrics.agreement.stats.coincidences import Level
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.bootstrap import generator
from metrics.core.stats.checks import Ints


@dataclass(frozen=True)
class Resampling:
    """Each comparison draws by itself, from the seed and its own name."""

    resamples: int
    seed: int

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
    if kind not in {"visual_nature", "offensiveness"}:
        return [every]
    sure = tuple(sorted(item.value for item in SCALES[kind] if not item.needs_justification))
    missing = gettext_noop("Unsure as missing")
    return [Reading(missing, "ordinal", sure), Reading(missing, "interval", sure), every]


def read(frame: RatingFrame, reading: Reading, rows: Ints | slice) -> Ratings:
    columns = [place for place, value in enumerate(frame.values) if value in reading.kept]
    table = frame.table.of(rows)
    return Ratings(table.counts[:, columns], table.units, table.clusters, table.raters)
