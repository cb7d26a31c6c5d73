"""The figures of votes, of offensiveness, and of what each visual rule selects (PROTOCOL §2, §3, §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from annotation.models import IdentityGroup, Study
from metrics.core import figure_options as reading
from metrics.core.answers import describe_stereotype_rule
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import FigureSource, NothingToDraw, group_link, study_title
from metrics.score_runs.current_scores import Interval, cached_evaluation, intervals
from metrics.score_runs.rows import ScoreRow
from metrics.votes.charts import Dot, Plot, Unit, dot_chart
from metrics.votes.scores.sections import pool_part
from metrics.votes.stats import POOLS, THRESHOLDS

FROM = ("either", "source", "answers")
SHOW = ("number", "share")
OF = ("stereotypes", "all")
# Enough for a percentile interval to two digits, and a second's work for the largest source there is.
_RESAMPLES = 1000
_REGION = "region: "
# A source keeps how many said what, not who: its annotators cannot be drawn.
_DRAWN = {
    "votes": "drawn over associations only, not over those who voted",
    "ratings": "drawn over attributes only, not over those who rated",
}


@dataclass(frozen=True)
class _Line:
    """What a row of a figure stands for: a region, or a group of one."""

    name: str
    group: int | None
    part: str
    link: str


@dataclass(frozen=True)
class _Scores:
    """The scores of one metric, and what has to be said of where they come from. `drawn`: what their
    intervals leave out."""

    rows: Mapping[tuple[int | None, str, str], ScoreRow]
    subtitle: str
    drawn: str = ""

    def of(self, line: _Line, name: str, part: str = "") -> ScoreRow | None:
        return self.rows.get((line.group, "; ".join(each for each in (line.part, part) if each), name))

    def lines(self, study: Study, region: str) -> list[_Line]:
        """The regions, or the groups of one."""
        if not region:
            parts = {part.split("; ")[0] for _, part, _ in self.rows if part.startswith(_REGION)}
            return [_Line(part.removeprefix(_REGION), None, part, "") for part in sorted(parts)]
        groups = {group: row.group for (group, _, _), row in self.rows.items() if group is not None}
        inside = IdentityGroup.objects.filter(pk__in=groups, region=region).values_list("pk", flat=True)
        return [_Line(groups[group], group, "", group_link(study, group)) for group in inside]


def _thresholds(study: Study, options: Mapping[str, str]) -> Figure:
    region = reading.region(options)
    show: Unit = "share" if reading.choice(options, "show", SHOW) == "share" else "number"
    scores = _scores(study, options, "stereotypes", "prevalence", "votes")
    lines = scores.lines(study, region)
    name = "stereotypes" if show == "number" else "share"
    points = []
    for line in _ranked(scores, lines, name, pool_part(POOLS[0], THRESHOLDS[0])):
        for pool in POOLS[:2]:
            for threshold in THRESHOLDS:
                row = scores.of(line, name, pool_part(pool, threshold))
                points += _dot(row, line, f"at least {threshold} of its annotators", panel=pool)
    return _drawn(
        points,
        scores,
        name="thresholds",
        title=f"Known stereotypes by threshold{_about(region)}",
        axis=f"{'associations' if show == 'number' else 'share of associations'} that are stereotypes",
        region=region,
        unit=show,
    )


def _pools(study: Study, options: Mapping[str, str]) -> Figure:
    region = reading.region(options)
    show: Unit = "share" if reading.choice(options, "show", SHOW) == "share" else "number"
    at = options.get("threshold", str(study.stereotype_threshold))
    if at not in map(str, THRESHOLDS):
        raise ValueError(f"threshold={at}: choose one of {', '.join(map(str, THRESHOLDS))}.")
    scores = _scores(study, options, "stereotypes", "prevalence", "votes")
    name = "stereotypes" if show == "number" else "share"
    points = []
    for line in _ranked(scores, scores.lines(study, region), name, pool_part(POOLS[0], int(at))):
        for pool in POOLS:
            series = "both (overlap)" if pool == "both" else pool
            points += _dot(scores.of(line, name, pool_part(pool, int(at))), line, series)
    return _drawn(
        points,
        scores,
        name="pools",
        title=f"Stereotypes known in the region, out of it, and to both{_about(region)}",
        axis=(
            f"{'associations' if show == 'number' else 'share of associations'} that at least {at} "
            "annotators of the pool call stereotypical"
        ),
        region=region,
        unit=show,
    )


def _offensiveness_regions(study: Study, options: Mapping[str, str]) -> Figure:
    region, of = reading.region(options), reading.choice(options, "of", OF)
    scores = _scores(study, options, "attribute_offensiveness", "rated_offensiveness", "ratings")
    name = "mean_stereotypes" if of == "stereotypes" else "mean"
    lines = _ranked(scores, scores.lines(study, region), name)
    points = [dot for line in lines for dot in _dot(scores.of(line, name), line, "")]
    return _drawn(
        points,
        scores,
        name="offensiveness-regions",
        title=f"How offensive {'stereotypes' if of == 'stereotypes' else 'associations'} are{_about(region)}",
        axis="mean offensiveness (−1 not offensive, 4 extremely)",
        region=region,
        unit="score",
        further=(describe_stereotype_rule(study),) if of == "stereotypes" else (),
    )


def _offensive_groups(study: Study, options: Mapping[str, str]) -> Figure:
    top, least = (reading.number(options, name, default) for name, default in (("top", 20), ("least", 10)))
    scores = _scores(study, options, "attribute_offensiveness", "rated_offensiveness", "ratings")
    lines = [
        _Line(row.group, group, "", group_link(study, group))
        for (group, part, name), row in scores.rows.items()
        if group is not None and not part and name == "mean_stereotypes" and row.n >= least
    ]
    chosen = _ranked(scores, lines, "mean_stereotypes")[:top]
    points = [dot for line in chosen for dot in _dot(scores.of(line, "mean_stereotypes"), line, "")]
    return _drawn(
        points,
        scores,
        name="offensive-groups",
        title="Groups with the most offensive stereotypes",
        axis="mean offensiveness of its stereotypes (−1 not offensive, 4 extremely)",
        region="groups",
        unit="score",
        further=(
            describe_stereotype_rule(study),
            f"{len(chosen)} of {len(lines)} groups with at least {least} rated",
        ),
    )


def _visual_rules(study: Study, options: Mapping[str, str]) -> Figure:
    evaluation = cached_evaluation(study, "visual_rules", resamples=_RESAMPLES)
    used = {row.part for row in evaluation.rows if row.name == "in_use" and row.value}
    points = []
    for row in evaluation.rows:
        if row.name == "share":
            rule = row.part.removeprefix("rule: ") + (" (used here)" if row.part in used else "")
            points += _dot(row, _Line(rule, None, "", ""), "")
    if not points:
        raise NothingToDraw(f"Study '{study.name}' has no ratings of the visual nature of attributes yet.")
    scores = _Scores({}, f"{study_title(study)}; n = {points[0].n:,} attributes")
    return _drawn(
        points,
        scores,
        name="visual-rules",
        title="What each rule of visual nature selects",
        axis="share of attributes that the rule takes for visual",
        region="rules",
        unit="share",
        further=("agree: chose Agree or Strongly agree; mean score of 1 to 5, Unsure 3",),
    )


def _scores(study: Study, options: Mapping[str, str], votes: str, answers: str, what: str) -> _Scores:
    """From the stereotype source, with intervals drawn now; or from the study's answers, with those of a
    stored run, if one counted the same answers: answers can be many, and a figure does not wait."""
    ranges: Mapping[tuple[str, int | None, str], Interval] = {}
    drawn = ""
    chosen = reading.choice(options, "from", FROM)
    if chosen == "source" or (chosen == "either" and study.stereotype_source_id is not None):
        if study.stereotype_source is None:
            raise NothingToDraw(f"Study '{study.name}' has no stereotype source, so no {what} of one.")
        evaluation = cached_evaluation(study, votes, resamples=_RESAMPLES)
        subtitle = f"{study.title}; {what} of {study.stereotype_source.title}"
        drawn = _DRAWN[what]
    else:
        evaluation = cached_evaluation(study, answers)
        subtitle = f"{study_title(study)}; {what} of its own annotators"
        ranges = intervals(study, evaluation)
    rows = {}
    for row in evaluation.rows:
        if not row.attribute and row.value is not None:
            low, high = ranges.get((row.name, row.group_id, row.part), (row.low, row.high))
            rows[row.group_id, row.part, row.name] = replace(row, low=low, high=high)
    if not rows:
        raise NothingToDraw(f"Study '{study.name}' has no {what} to draw yet.")
    return _Scores(rows, subtitle, drawn)


def _ranked(scores: _Scores, lines: Sequence[_Line], name: str, part: str = "") -> list[_Line]:
    """The lines that have this score, the largest first; ties by name."""
    values = {line: row.value or 0.0 for line in lines if (row := scores.of(line, name, part)) is not None}
    return sorted(values, key=lambda line: (-values[line], line.name))


def _dot(row: ScoreRow | None, line: _Line, series: str, *, panel: str = "") -> list[Dot]:
    if row is None or row.value is None:
        return []
    return [Dot(line.name, series, row.value, row.n, row.k, row.low, row.high, panel=panel, link=line.link)]


def _drawn(
    points: Sequence[Dot],
    scores: _Scores,
    *,
    name: str,
    title: str,
    axis: str,
    region: str,
    unit: Unit,
    further: tuple[str, ...] = (),
) -> Figure:
    """`region`: that whose groups are the rows, or what else they are; empty where they are regions."""
    if not points:
        raise NothingToDraw(f"There is nothing to draw in '{name}' with these options.")
    rows = {"": "Region", "rules": "Rule"}.get(region, "Group")
    of = {"number": "Stereotypes of all", "share": "Number", "score": "n"}[unit]
    ranged = any(point.low is not None for point in points)
    lines = f"lines: 95 % intervals{scores.drawn and f', {scores.drawn}'}"
    notes = (*further, *((lines,) if unit != "number" and ranged else ()))
    plot = Plot(name, title, (scores.subtitle, *notes), axis, rows, of, unit, notes)
    return dot_chart(points, plot)


def _about(region: str) -> str:
    return f": {region}" if region else ""


_READ = "read the stereotype source or the study's own answers; either: the source, if there is one"
_GROUPS = "a row for each group of this region, instead of each region"
_SHOW = "the number of associations, or the share with its interval"
_VOTES = "after SeeGULL, figures 3, 4 and 9"
_OFFENSIVE = "after SeeGULL, figures 5 and 8"

FIGURES = {
    "thresholds": FigureSource(
        "Known stereotypes by threshold",
        _thresholds,
        {"from": _READ, "region": _GROUPS, "show": _SHOW},
        {"from": FROM, "show": SHOW},
        counterpart=_VOTES,
    ),
    "pools": FigureSource(
        "Stereotypes known in the region, out of it, and to both",
        _pools,
        {
            "from": _READ,
            "region": _GROUPS,
            "show": _SHOW,
            "threshold": "how many annotators of a pool say Stereotypical; by default as the study's rule",
        },
        {"from": FROM, "show": SHOW},
        counterpart=_VOTES,
    ),
    "offensiveness-regions": FigureSource(
        "How offensive stereotypes are, by region",
        _offensiveness_regions,
        {"from": _READ, "region": _GROUPS, "of": "stereotypes by the study's rule, or all associations"},
        {"from": FROM, "of": OF},
        counterpart=_OFFENSIVE,
    ),
    "offensive-groups": FigureSource(
        "Groups with the most offensive stereotypes",
        _offensive_groups,
        {
            "from": _READ,
            "top": "how many groups (20)",
            "least": "leave out groups with fewer rated stereotypes (10)",
        },
        {"from": FROM},
        counterpart=_OFFENSIVE,
    ),
    "visual-rules": FigureSource("What each rule of visual nature selects", _visual_rules, {}),
}
