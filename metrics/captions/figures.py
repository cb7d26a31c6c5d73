"""Figures of top attributes by likelihood and salience (PROTOCOL §6, §8)."""

from collections.abc import Iterable, Mapping

from annotation.models import IdentityGroup, Region, Study
from metrics.captions.charts import Panel, RankedBar, RankingTexts, ranking_chart
from metrics.core import figure_options
from metrics.core.answers import describe_stereotype_rule, stereotypes
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import FigureSource, NothingToDraw, answers_label, group_link, study_title
from metrics.depiction.queries.pictures import judged_groups
from metrics.models import Score, Variant
from metrics.score_runs import queries
from metrics.score_runs.current_scores import cached_evaluation
from metrics.score_runs.evaluation import Evaluation
from metrics.score_runs.rows import ScoreRow

GROUPS = 6
_MAX_GROUPS = 12
_MAX_TOP = 20
_TOP = 5
_TOP_HELP = f"how many attributes a panel has, 1 to {_MAX_TOP} (default {_TOP})"
_REGION = "region: "

Rows = dict[int, list[ScoreRow]]


def _top_attributes(study: Study, options: Mapping[str, str]) -> Figure:
    """ViSAGe's figure 3: the most likely and the most salient attributes of a group, side by side."""
    top = figure_options.number(options, "top", _TOP, most=_MAX_TOP)
    chosen = {name: options[name] for name in ("attributes", "run") if options.get(name)}
    likely, _ = _scores(study, "likelihood")
    salient, captions = _scores(study, "salience", chosen)
    names = _names_by_group({**likely, **salient})
    if not names:
        raise NothingToDraw(
            f"Study '{study.name}' has neither answers about what images depict nor captions of them yet."
        )
    groups = figure_options.groups(options, names)[:GROUPS]
    known = set(stereotypes(study).values_list("group_id", "attribute_id"))
    panels = []
    for group in groups:
        link = group_link(study, group) if group in likely else ""
        if likely:
            bars = _bars(likely.get(group, ()), top, known, link)
            measure = ("likelihood L(attr, id)", "selected, of times shown")
            panels.append(Panel(names[group], *measure, bars, "none selected", digits=2))
        if salient:
            bars = _bars(salient.get(group, ()), top, known, link)
            measure = ("salience in captions", "occurrences, of all attributes'")
            panels.append(Panel(names[group], *measure, bars, "none found"))
    shown = f"{len(groups)} of {len(names)}" if len(groups) < len(names) else str(len(groups))
    return ranking_chart(
        panels,
        RankingTexts(
            name="top-attributes",
            title="Most likely and most salient attributes",
            subtitle=(f"{study_title(study)}; {shown} groups; {describe_stereotype_rule(study)}",),
            panel_column="identity",
            answers=answers_label(study),
            notes=_notes(likely, salient, captions, chosen.get("attributes", "all")),
        ),
        columns=2 if likely and salient else 3,
    )


def _notes(likely: Rows, salient: Rows, captions_rule: str, attributes: str) -> tuple[str, ...]:
    """Notes on the meaning of the marks and on the captions read."""
    all_rows = [row for by_group in (likely, salient) for rows in by_group.values() for row in rows]
    lines = " Lines: 95 % intervals." if any(row.low is not None for row in all_rows) else ""
    marks = f"Filled: a stereotype of the group; outlined: another attribute.{lines}"
    shown = "likelihood: (times selected / shown)"
    found = "salience: (times the attribute occurs in captions / any does)"
    searched = "visual attributes" if attributes == "visual" else "all attributes"
    captions = f"Captions, searched for {searched}: {captions_rule.removeprefix('captions: ')}."
    if not salient:
        return (marks, f"Beside each bar, {shown}.", f"Only likelihood, {captions_rule}.")
    if not likely:
        return (marks, f"Beside each bar, {found}.", "Only salience: nobody has judged images yet.", captions)
    return (marks, f"Beside each bar, {shown}; {found}.", captions)


def _salient(study: Study, options: Mapping[str, str]) -> Figure:
    """The most salient stereotypes of each country of a region."""
    top, evaluation = figure_options.number(options, "top", _TOP, most=_MAX_TOP), _seegull_salience(study)
    rows = _by_group(row for row in evaluation.rows if row.name == "salience")
    about = IdentityGroup.objects.in_bulk(list(rows))
    region, name = figure_options.region(options), options.get("group", "")
    names = _names_by_group(rows)
    if name:
        groups = figure_options.groups(options, names)
        region = about[groups[0]].region
    else:
        there = {group.region for group in about.values()}
        region = region or next((one for one in Region.values if one in there), "")
        votes = {pk: rows[pk][0].n for pk in rows if about[pk].region == region}
        groups = sorted(votes, key=lambda pk: (-votes[pk], names[pk]))[:_MAX_GROUPS]
        groups.sort(key=names.__getitem__)
        if not groups:
            raise NothingToDraw(f"No group of {region} has a stereotype by the rule of study '{study.name}'.")
    number = sum(group.region == region for group in about.values())
    judged = {group.pk for group in judged_groups(study)}
    measure = ("salience in its region", "votes, of all votes for the group")
    panels = []
    for group in groups:
        link = group_link(study, group) if group in judged else ""
        panels.append(Panel(names[group], *measure, _bars(rows[group], top, None, link)))
    shown = "the group" if name else f"{len(groups)} of the {number} groups"
    with_most = "" if name or len(groups) == number else ", those with the most votes"
    texts = RankingTexts(
        name="salient",
        title=f"Most salient stereotypes{f' in {region}' if region else ''}",
        subtitle=(f"{study_title(study)}; {shown} with a stereotype{with_most}",),
        panel_column="identity",
        answers="votes of the stereotype source",
        notes=_vote_notes(evaluation, "group"),
    )
    return ranking_chart(panels, texts, columns=3)


def _salience_regions(study: Study, options: Mapping[str, str]) -> Figure:
    """The most salient stereotypes of each region, among regions."""
    top, evaluation = figure_options.number(options, "top", _TOP, most=_MAX_TOP), _seegull_salience(study)
    rows: dict[str, list[ScoreRow]] = {}
    for row in evaluation.rows:
        if row.name == "salience_region":
            rows.setdefault(row.part.removeprefix(_REGION), []).append(row)
    if not rows:
        raise NothingToDraw(
            f"Study '{study.name}' has stereotypes of fewer than two regions, so regions cannot be compared."
        )
    measure = ("salience among regions", "votes, of all votes for the region")
    panels = [
        Panel(region, *measure, _bars(rows[region], top, None, ""))
        for region in Region.values
        if region in rows
    ]
    texts = RankingTexts(
        name="salience-regions",
        title="Most salient stereotypes of each region",
        subtitle=(f"{study_title(study)}; {len(panels)} regions",),
        panel_column="region",
        answers="votes of the stereotype source",
        notes=_vote_notes(evaluation, "region"),
    )
    return ranking_chart(panels, texts, columns=2)


def _vote_notes(evaluation: Evaluation, of: str) -> tuple[str, ...]:
    rule = evaluation.rule
    return (
        f"{rule[:1].upper()}{rule[1:]}. Beside each bar: (votes for it / of the {of}).",
        "Attributes as the source prints them.",
    )


def _scores(study: Study, metric: str, parameters: Mapping[str, str] | None = None) -> tuple[Rows, str]:
    """Scores of attributes by group, and their rule: with intervals from a stored run of the current inputs;
    otherwise computed now without them, because a figure must not wait for a bootstrap."""
    latest = queries.latest_run(study, metric, Variant.CORRECTED, parameters)
    if latest.run is None or latest.stale:
        evaluation = cached_evaluation(study, metric, parameters=parameters)
        return _by_group(evaluation.rows), evaluation.rule
    stored = Score.objects.filter(run=latest.run, group__isnull=False, attribute__isnull=False, part="")
    rows = stored.values_list(
        "value", "n", "k", "group_id", "group__name", "attribute_id", "attribute__text", "low", "high"
    )
    found = (
        ScoreRow(metric, value, n, k, group, name, attribute, text, low=low, high=high)
        for value, n, k, group, name, attribute, text, low, high in rows
    )
    return _by_group(found), latest.run.rule


def _seegull_salience(study: Study) -> Evaluation:
    evaluation = cached_evaluation(study, "salience_seegull")
    if not evaluation.rows:
        raise NothingToDraw(f"Study '{study.name}' has no stereotypes: {evaluation.rule}.")
    return evaluation


def _by_group(rows: Iterable[ScoreRow]) -> Rows:
    """{group: its rows of attributes}."""
    found: Rows = {}
    for row in rows:
        if row.group_id is not None and row.attribute_id is not None:
            found.setdefault(row.group_id, []).append(row)
    return found


def _names_by_group(rows: Rows) -> dict[int, str]:
    """{group: its name}, sorted by name."""
    return dict(sorted(((pk, of_group[0].group) for pk, of_group in rows.items()), key=lambda one: one[1]))


def _bars(
    rows: Iterable[ScoreRow], top: int, known: set[tuple[int, int]] | None, link: str
) -> tuple[RankedBar, ...]:
    """The `top` highest values above 0; ties by larger n, then alphabetically."""
    defined = [(row, row.value) for row in rows if row.value]
    defined.sort(key=lambda one: (-one[1], -one[0].n, one[0].attribute))
    return tuple(
        RankedBar(
            attribute=row.attribute,
            value=value,
            k=row.k or 0,
            n=row.n,
            low=row.low,
            high=row.high,
            known=None if known is None else (row.group_id or 0, row.attribute_id or 0) in known,
            link=link,
        )
        for row, value in defined[:top]
    )


_LIKE_SALIENCE = "after SeeGULL, figures 10 and 11"

FIGURES = {
    "top-attributes": FigureSource(
        "Most likely and most salient attributes",
        _top_attributes,
        {
            "group": f"the name of one group (default: the first {GROUPS})",
            "top": _TOP_HELP,
            "attributes": "which to search for in captions: all, or only visual ones",
            "run": "the number of the captioning run (default: the newest)",
        },
        {"attributes": ("all", "visual")},
        counterpart="ViSAGe, figure 3",
    ),
    "salient": FigureSource(
        "Most salient stereotypes of each country",
        _salient,
        {
            "region": "whose groups (default: the first region that has any)",
            "group": "the name of one group",
            "top": _TOP_HELP,
        },
        counterpart=_LIKE_SALIENCE,
    ),
    "salience-regions": FigureSource(
        "Most salient stereotypes of each region",
        _salience_regions,
        {"top": _TOP_HELP},
        counterpart=_LIKE_SALIENCE,
    ),
}
