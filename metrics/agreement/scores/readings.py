"""The ways to read a scale: what agreement counts as the same, and how far other labels are apart."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop

from annotation.core.scales import SCALES
from metrics.agreement.data.ratings import RatingFrame
from metrics.agreement.stats.coincidences import Level
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.checks import Ints


@dataclass(frozen=True)
class Reading:
    """One way to read a scale: the level, and which of its values count."""

    labels: str
    level: Level
    kept: tuple[int, ...]


def readings(kind: str) -> list[Reading]:
    """Unsure is no place on an ordinal scale, so it is missing there; read as nominal it is a label."""
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
