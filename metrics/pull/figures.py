"""The figure of stereotypical pull (PROTOCOL §9; ViSAGe, figure 5)."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from urllib.parse import urlencode

from django.urls import reverse

from annotation.imports.readers.identities import known_identities
from annotation.models import Axis, IdentityGroup, Study
from metrics.core import figure_options
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import FigureSource, NothingToDraw
from metrics.models import Score, Variant
from metrics.pull.charts import Estimate, PublishedPoints, PullPoint, pull_chart
from metrics.pull.data import NEWEST
from metrics.pull.published import PublishedPull, published_pull
from metrics.score_runs import queries, registry
from metrics.score_runs.current_scores import cached_evaluation
from metrics.score_runs.metric import VISAGE
from metrics.score_runs.rows import ScoreRow

BY = ("region", "group")
POINTS = ("own", "with-published")
_PUBLISHED = "ViSAGe, published"
_REGION = "region: "


def _pull(study: Study, options: Mapping[str, str]) -> Figure:
    by, shown = figure_options.choice(options, "by", BY), figure_options.choice(options, "points", POINTS)
    run = options.get("run", NEWEST)
    numbers, notes = _pull_scores(study, run)
    explorer = reverse("pull", args=[study.name])
    chosen = {} if run == NEWEST else {"run": run}
    found = {(one.group_id, one.part, one.name): one for one in numbers}
    points = []
    groups = IdentityGroup.objects.in_bulk([one.group_id for one in numbers if one.group_id is not None])
    for (group, part, name), x in found.items():
        y, pulled = found.get((group, part, "y")), found.get((group, part, "pull"))
        if name != "x" or y is None:
            continue
        place = (_estimate(x), _estimate(y), x.n)
        if by == "region" and part.startswith(_REGION):
            region = part.removeprefix(_REGION)
            link = f"{explorer}?{urlencode({'region': region, **chosen})}#groups-of"
            points.append(PullPoint(region, region, *place, pulled.k if pulled else None, link))
        elif by == "group" and group is not None:
            link = f"{explorer}?{urlencode({'group': group, **chosen})}#images"
            points.append(PullPoint(groups[group].name, groups[group].region, *place, None, link))
    if not points:
        raise NothingToDraw(
            f"No {by} of '{study.name}' has images of all three sets of pull. Generate them: "
            f"manage.py generate {study.name} --prompts pull"
        )
    points.sort(key=lambda point: (point.name, point.region))
    published = _published_points(study, groups.values(), by) if shown != POINTS[0] else None
    return pull_chart(points, by=by, study=study.title, notes=notes, published=published)


def published_groups(groups: Iterable[IdentityGroup]) -> dict[str, IdentityGroup]:
    """{name: group} of the groups with a row in ViSAGe's tables of pull."""
    published = published_pull()
    return {
        group.name: group for group in groups if group.axis == Axis.NATIONALITY and group.name in published
    }


def _published_points(study: Study, groups: Iterable[IdentityGroup], by: str) -> PublishedPoints:
    """ViSAGe's points: of all regions, each the mean of its groups in the tables; or of the groups that the
    study has too."""
    shared = published_groups(groups)
    if not shared:
        raise ValueError(
            f"points={POINTS[1]}: ViSAGe's tables 3 to 5 are of nationalities, and hold no group of "
            f"'{study.name}'. Choose points={POINTS[0]}."
        )
    rows = published_pull()
    if by == "group":
        of = f"{len(shared)} of {len(rows)} groups"
        points = [
            PullPoint(name, shared[name].region, Estimate(float(row.x)), Estimate(float(row.s_s_ns)), None)
            for name, row in sorted(rows.items())
            if name in shared
        ]
    else:
        of = f"means of {len(rows)} groups"
        known = known_identities()
        by_region: dict[str, list[PublishedPull]] = {}
        for name, row in rows.items():
            by_region.setdefault(known[Axis.NATIONALITY, name].region, []).append(row)
        points = [
            PullPoint(
                name=region,
                region=region,
                x=Estimate(float(mean(row.x for row in of_region))),
                y=Estimate(float(mean(row.s_s_ns for row in of_region))),
                n=len(of_region),
                pulled=sum(row.pulled for row in of_region),
            )
            for region, of_region in sorted(by_region.items())
        ]
    shown = f"Filled: this study. Outlined: as published, {of}, without intervals"
    return PublishedPoints(points, _PUBLISHED, (shown, f"Published: tables 3 to 5 of {VISAGE}"))


def _pull_scores(study: Study, run: str) -> tuple[Sequence[Score | ScoreRow], tuple[str, ...]]:
    """The scores of the stored run, which the page also shows, and notes on them. Without a stored run, and
    only for the newest embeddings, present scores without intervals."""
    stored = queries.newest_run(study, "pull", Variant.CORRECTED, {"run": run})
    if stored is not None:
        notes: tuple[str, ...] = (f"{stored.rule}; bars: {registry.describe_method(stored)}",)
        if queries.is_stale(stored):
            notes += (f"STALE: embeddings as of {stored.finished_at:%Y-%m-%d %H:%M} UTC",)
        scores = Score.objects.filter(run=stored, value__isnull=False, attribute__isnull=True).order_by("pk")
        return list(scores), notes
    if run != NEWEST:
        raise NothingToDraw(
            f"Embedding run {run} has no scores in '{study.name}' yet. Open the pull page to request them."
        )
    evaluation = cached_evaluation(study, "pull")
    rows = [row for row in evaluation.rows if row.value is not None]
    return rows, (f"{evaluation.rule}; no intervals yet: only stored scores have them",)


def _estimate(score: Score | ScoreRow) -> Estimate:
    assert score.value is not None  # without a value it is not read
    return Estimate(score.value, score.low, score.high)


FIGURES = {
    "pull": FigureSource(
        "Stereotypical pull",
        _pull,
        {
            "by": "one point per region, or one point per group",
            "run": "id of the embedding run, or newest",
            "points": "the study's own points, or also those that ViSAGe published (outlined)",
        },
        {"by": BY, "points": POINTS},
        counterpart="ViSAGe, figure 5",
    )
}
