"""The figure of stereotypical pull (PROTOCOL §9; ViSAGe, figure 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from annotation.models import IdentityGroup, Study
from metrics import figures, queries
from metrics.figures import Pulled, Ranged
from metrics.frames.embeddings import NEWEST
from metrics.models import Score, Variant
from metrics.queries_pages.charts.sources import NothingToDraw, Source, evaluated
from metrics.scoring import ScoreRow

BY = ("region", "group")
_REGION = "region: "


@dataclass(frozen=True)
class _Number:
    """A score, stored or computed just now."""

    group: int | None
    part: str
    name: str
    n: int
    k: int | None
    ranged: Ranged


def _pull(study: Study, options: Mapping[str, str]) -> figures.Figure:
    by, run = options.get("by", BY[0]), options.get("run", NEWEST)
    if by not in BY:
        raise ValueError(f"by={by}: choose one of {', '.join(BY)}.")
    numbers, notes = _numbers(study, run)
    explorer = reverse("pull", args=[study.name])
    chosen = {} if run == NEWEST else {"run": run}
    found = {(one.group, one.part, one.name): one for one in numbers}
    points = []
    groups = IdentityGroup.objects.in_bulk([one.group for one in numbers if one.group is not None])
    for (group, part, name), x in found.items():
        y, pulled = found.get((group, part, "y")), found.get((group, part, "pull"))
        if name != "x" or y is None:
            continue
        if by == "region" and part.startswith(_REGION):
            region = part.removeprefix(_REGION)
            link = f"{explorer}?{urlencode({'region': region, **chosen})}#groups-of"
            points.append(Pulled(region, region, x.ranged, y.ranged, x.n, pulled.k if pulled else None, link))
        elif by == "group" and group is not None:
            link = f"{explorer}?{urlencode({'group': group, **chosen})}#images"
            named = groups[group]
            points.append(Pulled(named.name, named.region, x.ranged, y.ranged, x.n, None, link))
    if not points:
        raise NothingToDraw(
            f"No {by} of '{study.name}' has images of all three sets of pull. Make them: "
            f"manage.py generate {study.name} --prompts pull"
        )
    points.sort(key=lambda point: (point.name, point.region))
    return figures.pull(points, by=by, study=study.title, notes=notes)


def _numbers(study: Study, run: str) -> tuple[list[_Number], tuple[str, ...]]:
    """The scores of the stored run, which the page shows too, and what has to be said of them; without one,
    and for the newest embeddings only, those of this moment without intervals."""
    stored = queries.newest_run(study, "pull", Variant.CORRECTED, {"run": run})
    if stored is not None:
        notes: tuple[str, ...] = (f"{stored.rule}; bars: 95 % intervals, {stored.resamples:,} resamples",)
        if queries.is_stale(stored):
            notes += (f"STALE: of the embeddings as they were at {stored.finished_at:%Y-%m-%d %H:%M} UTC",)
        scores = Score.objects.filter(run=stored, value__isnull=False, attribute__isnull=True).order_by("pk")
        return [_number(score, score.group_id) for score in scores], notes
    if run != NEWEST:
        raise NothingToDraw(
            f"Embedding run {run} has no scores in '{study.name}' yet: the page of pull asks for them."
        )
    evaluation = evaluated(study, "pull")
    rows = [_number(row, row.group_id) for row in evaluation.rows if row.value is not None]
    return rows, (f"{evaluation.rule}; no intervals yet: they come with the stored scores",)


def _number(score: Score | ScoreRow, group: int | None) -> _Number:
    assert score.value is not None  # left out above
    ranged = Ranged(score.value, score.low, score.high)
    return _Number(group, score.part, score.name, score.n, score.k, ranged)


FIGURES = {
    "pull": Source(
        "Stereotypical pull",
        _pull,
        {
            "by": "a point a region, or a point a group",
            "run": "number of the embedding run to read, or the newest",
        },
        {"by": BY},
        counterpart="ViSAGe, figure 5",
    )
}
