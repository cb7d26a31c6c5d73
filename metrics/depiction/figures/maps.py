"""World maps of visual stereotypes, their likelihood in images, and the offensiveness of depictions (PROTOCOL
§2, §3, §6, §7; ViSAGe, figures 2 and 8)."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annotation.models import Axis, IdentityGroup, Study, TaskKind
from metrics.core import figure_options
from metrics.core.answers import has_simulated_answers, stereotypes, task_kinds
from metrics.core.charts.figure import Figure, marked_title
from metrics.core.figure_sources import FigureSource, NothingToDraw, answers_label, group_link
from metrics.depiction.charts.maps import MapGroup, MapTexts, world_map
from metrics.depiction.queries.pictures import judged_groups
from metrics.score_runs.current_scores import cached_evaluation, intervals
from metrics.score_runs.rows import ScoreRow

SHOW = ("number", "likely")
_NAMED = 5  # attributes in a tooltip
_MAP_TEXTS = {
    "number": MapTexts(
        name="map-stereotypes",
        title="Visual stereotypes by country",
        measure="visual stereotypes of the group",
        short="Visual stereotypes",
        detail="Most likely in its images",
        columns=("visual_stereotypes", "highest_likelihood", "attributes", "answers"),
        number="d",
    ),
    "likely": MapTexts(
        name="map-stereotypes",
        title="How likely images show a country’s stereotypes",
        measure="L(stereo): mean likelihood of the group’s visual stereotypes",
        short="L(stereo)",
        detail="Most likely in its images",
        columns=("l_stereo", "low", "high", "visual_stereotypes", "attributes", "answers"),
        number=".2f",
    ),
}
_OFFENSIVENESS = MapTexts(
    name="map-offensiveness",
    title="Offensiveness of how a country’s people are depicted",
    measure="O(id), scaled to 0–1 over all groups",
    short="O(id), scaled",
    detail="Rests on",
    columns=("o_scaled", "o", "low", "high", "attributes", "unrated_attributes", "answers"),
    number=".1f",
)


@dataclass(frozen=True)
class _VisualStereotype:
    """A visual stereotype of a group; `likelihood` is None if no image was judged for it."""

    text: str
    k: int
    n: int

    @property
    def likelihood(self) -> float | None:
        return self.k / self.n if self.n else None

    def __str__(self) -> str:
        return f"{self.text} {self.k / self.n:.2f}" if self.n else self.text


def _map_stereotypes(study: Study, options: Mapping[str, str]) -> Figure:
    show = figure_options.choice(options, "show", SHOW)
    by_group = _visual_stereotypes(study)
    likely = show == "likely"
    if likely and not any(stereotype.n for of_group in by_group.values() for stereotype in of_group):
        raise NothingToDraw(f"Study '{study.name}' has no answers yet about what images of groups depict.")
    number_of = _likelihood_of(study) if likely else _count_of
    answers = answers_label(study)
    with_page = {group.pk for group in judged_groups(study)}
    groups = []
    nations = IdentityGroup.objects.filter(pk__in=by_group, axis=Axis.NATIONALITY).order_by("name")
    for group in nations:
        of_group = by_group[group.pk]
        value, shown, cells = number_of(group.pk, of_group)
        judged = [str(stereotype) for stereotype in of_group if stereotype.n]
        groups.append(
            MapGroup(
                group=group.name,
                country=group.country,
                value=value,
                shown=shown,
                detail=", ".join(judged[:_NAMED]) + (" …" if len(judged) > _NAMED else ""),
                # a group without a judged image has no page
                link=group_link(study, group.pk) if group.pk in with_page else "",
                cells=(*cells, "; ".join(map(str, of_group)), answers),
            )
        )
    scored = sum(group.value is not None for group in groups)
    extent = f"n = {sum(map(len, by_group.values())):,} visual stereotypes"
    if likely:
        extent = f"{scored} groups with more than one stereotype judged"
    return _map(study, groups, _MAP_TEXTS[show], extent)


_Number = tuple[float | None, str, tuple[float | None, ...]]
"""The number of a group, as text, and its cells of the table."""


def _count_of(group: int, stereotypes: list[_VisualStereotype]) -> _Number:
    highest = max((one.likelihood or 0.0 for one in stereotypes if one.n), default=None)
    return len(stereotypes), str(len(stereotypes)), (len(stereotypes), highest)


def _likelihood_of(study: Study) -> Callable[[int, list[_VisualStereotype]], _Number]:
    tendency = cached_evaluation(study, "tendency")
    stored_intervals = intervals(study, tendency)
    rows = {row.group_id: row for row in tendency.rows if row.name == "l_stereo" and row.value is not None}

    def number(group: int, stereotypes: list[_VisualStereotype]) -> _Number:
        low, high = stored_intervals.get(("l_stereo", group, ""), (None, None))
        row = rows.get(group)
        shown = f"{row.value:.2f}{_interval_text(low, high)}, n = {row.n}" if row else "no score"
        return row.value if row else None, shown, (row.value if row else None, low, high, len(stereotypes))

    return number


def _map_offensiveness(study: Study, options: Mapping[str, str]) -> Figure:
    evaluation = cached_evaluation(study, "offensiveness")
    rows: dict[int, dict[str, ScoreRow]] = defaultdict(dict)
    for row in evaluation.rows:
        rows[row.group_id or 0][row.name] = row
    if not any("o" in of_group for of_group in rows.values()):
        raise NothingToDraw(
            f"Study '{study.name}' has no group with an offensiveness score: a score needs rated stereotypes "
            "that annotators marked as present in images."
        )
    answers = answers_label(study)
    stored_intervals = intervals(study, evaluation)
    judged = {group.pk for group in judged_groups(study)}
    on_map = []
    for group in IdentityGroup.objects.filter(pk__in=judged | set(rows), axis=Axis.NATIONALITY).order_by(
        "name"
    ):
        raw, scaled, unrated = (rows[group.pk].get(name) for name in ("o", "o_scaled", "unrated"))
        low, high = stored_intervals.get(("o", group.pk, ""), (None, None))
        n_unrated = int(unrated.value or 0) if unrated else 0
        known_scale = scaled.value if scaled else None
        value, shown, detail = None, "no score: no rated stereotype was marked as present", ""
        if raw and raw.value is not None:
            # equal scores of all groups cannot be scaled
            value = known_scale or 0.0
            raw_text = f"raw O = {raw.value:.3g}{_interval_text(low, high)}"
            shown = f"{raw_text}, the same for all" if known_scale is None else f"{value:.2f} ({raw_text})"
            detail = f"{raw.n} rated attributes" + (f", {n_unrated} without a rating" if n_unrated else "")
        numbers = (known_scale, raw.value if raw else None, low, high, raw.n if raw else 0, n_unrated)
        on_map.append(
            MapGroup(
                group=group.name,
                country=group.country,
                value=value,
                shown=shown,
                detail=detail,
                link=group_link(study, group.pk),
                cells=(*numbers, answers),
            )
        )
    scored = sum(group.value is not None for group in on_map)
    return _map(study, on_map, _OFFENSIVENESS, f"{scored} of {len(on_map)} groups have a score")


def _visual_stereotypes(study: Study) -> dict[int, list[_VisualStereotype]]:
    """{group: its visual stereotypes, the most likely first}; the list of a judged group can be empty.

    An attribute is visual if it passes the study's rule. If the study does not ask, the attributes shown with
    images count as visual. Raises NothingToDraw.
    """
    if study.stereotype_source_id is None:
        raise NothingToDraw(
            f"Study '{study.name}' has no stereotype source, so the stereotypes of a group are not known."
        )
    kinds = task_kinds(study)
    counts = {}
    found: dict[int, list[_VisualStereotype]] = {}
    if TaskKind.DEPICTION in kinds:
        for row in cached_evaluation(study, "likelihood").rows:
            found.setdefault(row.group_id or 0, [])
            if row.attribute_id is not None:
                counts[row.group_id, row.attribute_id] = (row.k or 0, row.n)
    visual = None
    if TaskKind.VISUAL_NATURE in kinds:
        passed = cached_evaluation(study, "visual_nature").rows
        visual = {row.attribute_id for row in passed if row.name == "visual" and row.value == 1}
    for group, attribute, text in stereotypes(study).values_list("group", "attribute", "attribute__text"):
        if attribute in visual if visual is not None else (group, attribute) in counts:
            found.setdefault(group, []).append(
                _VisualStereotype(text, *counts.get((group, attribute), (0, 0)))
            )
    if not any(found.values()):
        raise NothingToDraw(
            f"Study '{study.name}' has no visual stereotypes yet: attributes that are stereotypes of a group "
            "and that annotators found visual, or that were shown with its images."
        )
    for of_group in found.values():
        of_group.sort(key=lambda stereotype: (-(stereotype.likelihood or 0.0), stereotype.text))
    return found


def _map(study: Study, groups: list[MapGroup], texts: MapTexts, extent: str) -> Figure:
    if not groups:
        raise NothingToDraw(f"Study '{study.name}' is not about nationalities, so there is no map of it.")
    simulated = has_simulated_answers(study)
    scored = sorted(
        (group for group in groups if group.value is not None), key=lambda group: -(group.value or 0)
    )
    highest = "; ".join(f"{group.group} {group.shown}" for group in scored[:5])
    by = " (simulated answers)" if simulated else ""
    return world_map(
        groups,
        texts,
        subtitle=f"{marked_title(study.title, simulated=simulated)}; {extent}",
        alt_text=f"{texts.measure[0].upper()}{texts.measure[1:]}{by}: {extent}. Highest: {highest}.",
    )


def _interval_text(low: float | None, high: float | None) -> str:
    return "" if low is None else f", 95 % {low:.3g} to {high:.3g}"


FIGURES = {
    "map-stereotypes": FigureSource(
        "Map of visual stereotypes",
        _map_stereotypes,
        {
            "show": "number (how many visual stereotypes) or likely (how often images show them)",
        },
        {"show": SHOW},
        counterpart="ViSAGe, figure 2",
    ),
    "map-offensiveness": FigureSource(
        "Map of offensiveness", _map_offensiveness, {}, counterpart="ViSAGe, figure 8"
    ),
}
