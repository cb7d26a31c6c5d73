"""Figures of votes, of offensiveness and of the visual rules (PROTOCOL §2, §3, §4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from annotation.models import IdentityGroup, Study
from metrics.core import figure_options
from metrics.core.answers import describe_stereotype_rule
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import FigureSource, NothingToDraw, group_link, study_title
from metrics.score_runs.current_scores import Interval, cached_evaluation, intervals
from metrics.score_runs.rows import ScoreRow
from metrics.votes.charts import Dot, Plot, Unit, dot_chart
from metrics.votes.scores.subsets import pool_part
from metrics.votes.stats import POOLS, THRESHOLDS

SOURCES = ("either", "source", "answers")
SHOWN = ("number", "share")
ASSOCIATIONS = ("stereotypes", "all")
_REGION = "region: "
# A source says how many gave each answer, not who: its annotators cannot be resampled.
_INTERVAL_NOTES = {
    "votes": "over associations only, not over the annotators who voted",
    "ratings": "over attributes only, not over the annotators who rated",
}


@dataclass(frozen=True)
class _Category:
    """A row of a chart: a region, or a group of a region."""

    name: str
    group: int | None
    part: str
    link: str


@dataclass(frozen=True)
class _Scores:
    """The scores of one metric and the texts that describe them. `interval_note`: what the intervals do not
    cover."""

    rows: Mapping[tuple[int | None, str, str], ScoreRow]
    subtitle: str
    interval_note: str = ""

    def get(self, category: _Category, name: str, part: str = "") -> ScoreRow | None:
        return self.rows.get(
            (category.group, "; ".join(each for each in (category.part, part) if each), name)
        )

    def categories(self, study: Study, region: str) -> list[_Category]:
        """The regions, or the groups of one."""
        if not region:
            parts = {part.split("; ")[0] for _, part, _ in self.rows if part.startswith(_REGION)}
            return [_Category(part.removeprefix(_REGION), None, part, "") for part in sorted(parts)]
        groups = {group: row.group for (group, _, _), row in self.rows.items() if group is not None}
        inside = IdentityGroup.objects.filter(pk__in=groups, region=region).values_list("pk", flat=True)
        return [_Category(groups[group], group, "", group_link(study, group)) for group in inside]


def _thresholds(study: Study, options: Mapping[str, str]) -> Figure:
    return _known_stereotypes(
        study,
        options,
        [
            (pool_part(pool, threshold), f"at least {threshold} of its annotators", pool)
            for pool in POOLS[:2]
            for threshold in THRESHOLDS
        ],
        name="thresholds",
        title="Known stereotypes by threshold",
        axis="are stereotypes",
    )


def _pools(study: Study, options: Mapping[str, str]) -> Figure:
    threshold = options.get("threshold", str(study.stereotype_threshold))
    if threshold not in map(str, THRESHOLDS):
        raise ValueError(f"threshold={threshold}: choose one of {', '.join(map(str, THRESHOLDS))}.")
    return _known_stereotypes(
        study,
        options,
        [
            (pool_part(pool, int(threshold)), "both (overlap)" if pool == "both" else pool, "")
            for pool in POOLS
        ],
        name="pools",
        title="Stereotypes known in the region, out of it, and to both",
        axis=f"at least {threshold} annotators of the pool call stereotypical",
    )


def _known_stereotypes(
    study: Study,
    options: Mapping[str, str],
    lanes: Sequence[tuple[str, str, str]],
    *,
    name: str,
    title: str,
    axis: str,
) -> Figure:
    """The number or share of stereotypes in each of `lanes`, as in `_points`."""
    region = figure_options.region(options)
    show: Unit = "share" if figure_options.choice(options, "show", SHOWN) == "share" else "number"
    scores = _scores(study, options, "stereotypes", "prevalence", "votes")
    score = "share" if show == "share" else "stereotypes"
    return _chart(
        _points(scores, scores.categories(study, region), score, lanes),
        scores,
        name=name,
        title=f"{title}{_in_title(region)}",
        axis=f"{'associations' if show == 'number' else 'share of associations'} that {axis}",
        region=region,
        unit=show,
    )


def _offensiveness_regions(study: Study, options: Mapping[str, str]) -> Figure:
    region, of = figure_options.region(options), figure_options.choice(options, "of", ASSOCIATIONS)
    scores = _scores(study, options, "attribute_offensiveness", "rated_offensiveness", "ratings")
    score = "mean_stereotypes" if of == "stereotypes" else "mean"
    return _chart(
        _points(scores, scores.categories(study, region), score),
        scores,
        name="offensiveness-regions",
        title=f"How offensive {of if of == 'stereotypes' else 'associations'} are{_in_title(region)}",
        axis="mean offensiveness (−1 not offensive, 4 extremely)",
        region=region,
        unit="score",
        notes=(describe_stereotype_rule(study),) if of == "stereotypes" else (),
    )


def _offensive_groups(study: Study, options: Mapping[str, str]) -> Figure:
    top, minimum = figure_options.number(options, "top", 20), figure_options.number(options, "least", 10)
    scores = _scores(study, options, "attribute_offensiveness", "rated_offensiveness", "ratings")
    categories = [
        _Category(row.group, group, "", group_link(study, group))
        for (group, _part, name), row in scores.rows.items()
        if group is not None and name == "mean_stereotypes" and row.n >= minimum
    ]
    points = _points(scores, categories, "mean_stereotypes")[:top]
    return _chart(
        points,
        scores,
        name="offensive-groups",
        title="Groups with the most offensive stereotypes",
        axis="mean offensiveness of its stereotypes (−1 not offensive, 4 extremely)",
        region="groups",
        unit="score",
        notes=(
            describe_stereotype_rule(study),
            f"{len(points)} of {len(categories)} groups with at least {minimum} rated",
        ),
    )


def _visual_rules(study: Study, options: Mapping[str, str]) -> Figure:
    evaluation = cached_evaluation(study, "visual_rules", with_intervals=True)
    used = {row.part for row in evaluation.rows if row.name == "in_use" and row.value}
    points = []
    for row in evaluation.rows:
        if row.name == "share" and row.value is not None:
            rule = row.part.removeprefix("rule: ") + (" (used here)" if row.part in used else "")
            points.append(Dot(rule, "", row.value, row.n, row.k, row.low, row.high))
    if not points:
        raise NothingToDraw(f"Study '{study.name}' has no ratings of the visual nature of attributes yet.")
    scores = _Scores({}, f"{study_title(study)}; n = {points[0].n:,} attributes")
    return _chart(
        points,
        scores,
        name="visual-rules",
        title="What each rule of visual nature selects",
        axis="share of attributes that the rule counts as visual",
        region="rules",
        unit="share",
        notes=("agree: chose Agree or Strongly agree; mean score of 1 to 5, Unsure 3",),
    )


def _scores(study: Study, options: Mapping[str, str], votes: str, answers: str, kind: str) -> _Scores:
    """Scores from the stereotype source, with intervals computed now; or from the study's answers, with the
    intervals of a stored run of the same answers. A figure must not wait for a bootstrap of many answers."""
    stored_intervals: Mapping[tuple[str, int | None, str], Interval] = {}
    interval_note = ""
    chosen = figure_options.choice(options, "from", SOURCES)
    if chosen == "source" or (chosen == "either" and study.stereotype_source_id is not None):
        if study.stereotype_source is None:
            raise NothingToDraw(f"Study '{study.name}' has no stereotype source, so no {kind} of one.")
        evaluation = cached_evaluation(study, votes, with_intervals=True)
        subtitle = f"{study.title}; {kind} of {study.stereotype_source.title}"
        interval_note = _INTERVAL_NOTES[kind]
    else:
        evaluation = cached_evaluation(study, answers)
        subtitle = f"{study_title(study)}; {kind} of its own annotators"
        stored_intervals = intervals(study, evaluation)
    rows = {}
    for row in evaluation.rows:
        if not row.attribute:
            low, high = stored_intervals.get((row.name, row.group_id, row.part), (row.low, row.high))
            rows[row.group_id, row.part, row.name] = replace(row, low=low, high=high)
    if not rows:
        raise NothingToDraw(f"Study '{study.name}' has no {kind} to draw yet.")
    return _Scores(rows, subtitle, interval_note)


def _points(
    scores: _Scores,
    categories: Sequence[_Category],
    score: str,
    lanes: Sequence[tuple[str, str, str]] = (("", "", ""),),
) -> list[Dot]:
    """The score of each category in `lanes`: (part, series, panel). Categories without the first are left
    out, the one with the largest comes first; ties by name."""
    first = {
        category: row.value or 0.0
        for category in categories
        if (row := scores.get(category, score, lanes[0][0])) is not None
    }
    return [
        Dot(category.name, series, row.value, row.n, row.k, row.low, row.high, panel, category.link)
        for category in sorted(first, key=lambda category: (-first[category], category.name))
        for part, series, panel in lanes
        if (row := scores.get(category, score, part)) is not None and row.value is not None
    ]


def _chart(
    points: Sequence[Dot],
    scores: _Scores,
    *,
    name: str,
    title: str,
    axis: str,
    region: str,
    unit: Unit,
    notes: tuple[str, ...] = (),
) -> Figure:
    """`region`: the region whose groups are the rows, or another kind of row; empty for regions as rows."""
    if not points:
        raise NothingToDraw(f"There is nothing to draw in '{name}' with these options.")
    rows = {"": "Region", "rules": "Rule"}.get(region, "Group")
    of = {"number": "Stereotypes of all", "share": "Number", "score": "n"}[unit]
    has_intervals = any(point.low is not None for point in points)
    lines = f"lines: 95 % intervals{scores.interval_note and f', {scores.interval_note}'}"
    notes = (*notes, *((lines,) if unit != "number" and has_intervals else ()))
    plot = Plot(name, title, (scores.subtitle, *notes), axis, rows, of, unit, notes)
    return dot_chart(points, plot)


def _in_title(region: str) -> str:
    return f": {region}" if region else ""


_SOURCE_HELP = "use the stereotype source or the study's own answers; either: the source, if there is one"
_REGION_HELP = "one row for each group of this region instead of one for each region"
_SHOW_HELP = "the number of associations, or the share with its interval"
_LIKE_VOTES = "after SeeGULL, figures 3, 4 and 9"
_LIKE_OFFENSIVENESS = "after SeeGULL, figures 5 and 8"

FIGURES = {
    "thresholds": FigureSource(
        "Known stereotypes by threshold",
        _thresholds,
        {"from": _SOURCE_HELP, "region": _REGION_HELP, "show": _SHOW_HELP},
        {"from": SOURCES, "show": SHOWN},
        counterpart=_LIKE_VOTES,
    ),
    "pools": FigureSource(
        "Stereotypes known in the region, out of it, and to both",
        _pools,
        {
            "from": _SOURCE_HELP,
            "region": _REGION_HELP,
            "show": _SHOW_HELP,
            "threshold": "how many annotators of a pool must answer Stereotypical; default: the study's rule",
        },
        {"from": SOURCES, "show": SHOWN},
        counterpart=_LIKE_VOTES,
    ),
    "offensiveness-regions": FigureSource(
        "How offensive stereotypes are, by region",
        _offensiveness_regions,
        {
            "from": _SOURCE_HELP,
            "region": _REGION_HELP,
            "of": "stereotypes by the study's rule, or all associations",
        },
        {"from": SOURCES, "of": ASSOCIATIONS},
        counterpart=_LIKE_OFFENSIVENESS,
    ),
    "offensive-groups": FigureSource(
        "Groups with the most offensive stereotypes",
        _offensive_groups,
        {
            "from": _SOURCE_HELP,
            "top": "how many groups (20)",
            "least": "leave out groups with fewer rated stereotypes (10)",
        },
        {"from": SOURCES},
        counterpart=_LIKE_OFFENSIVENESS,
    ),
    "visual-rules": FigureSource("What each rule of visual nature selects", _visual_rules, {}),
}
