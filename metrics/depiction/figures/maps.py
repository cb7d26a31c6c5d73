"""The world maps: how many visual stereotypes a group has and how likely images show them, and how offensive
its depiction is (PROTOCOL §2, §3, §6, §7; ViSAGe, figures 2 and 8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from annotation.models import Axis, IdentityGroup, Study, TaskKind
from metrics.core.answers import has_simulated_answers, stereotypes, task_kinds
from metrics.core.charts.figure import Figure
from metrics.core.charts.titles import marked_title
from metrics.core.figure_sources import FigureSource, NothingToDraw, answers_label, group_link
from metrics.depiction.charts.maps import MapTexts, Placed, world_map
from metrics.score_runs.current_scores import Interval, cached_evaluation, intervals
from metrics.score_runs.rows import ScoreRow

SHOW = ("number", "likely")
_NAMED = 5  # attributes in a tooltip
_WORDS = {
    "number": MapTexts(
        name="map-stereotypes",
        title="Visual stereotypes by country",
        subtitle="",
        measure="visual stereotypes of the group",
        short="Visual stereotypes",
        detail="Most likely in its images",
        alt="",
        columns=("visual_stereotypes", "highest_likelihood", "attributes", "answers"),
        number="d",
    ),
    "likely": MapTexts(
        name="map-stereotypes",
        title="How likely images show a country’s stereotypes",
        subtitle="",
        measure="L(stereo): mean likelihood of the group’s visual stereotypes",
        short="L(stereo)",
        detail="Most likely in its images",
        alt="",
        columns=("l_stereo", "low", "high", "visual_stereotypes", "attributes", "answers"),
        number=".2f",
    ),
}
_OFFENSIVENESS = MapTexts(
    name="map-offensiveness",
    title="Offensiveness of how a country’s people are depicted",
    subtitle="",
    measure="O(id), scaled to 0–1 over all groups",
    short="O(id), scaled",
    detail="Rests on",
    alt="",
    columns=("o_scaled", "o", "low", "high", "attributes", "unrated_attributes", "answers"),
    number=".1f",
)


@dataclass(frozen=True)
class _Seen:
    """A visual stereotype of a group; `likelihood` None where no image was judged for it."""

    text: str
    k: int
    n: int

    @property
    def likelihood(self) -> float | None:
        return self.k / self.n if self.n else None

    def __str__(self) -> str:
        return f"{self.text} {self.k / self.n:.2f}" if self.n else self.text


def _map_stereotypes(study: Study, options: Mapping[str, str]) -> Figure:
    show = options.get("show", SHOW[0])
    if show not in SHOW:
        raise ValueError(f"show={show}: choose one of {', '.join(SHOW)}.")
    seen = _visual_stereotypes(study)
    if show == "number":
        return _number(study, seen)
    return _likely(study, seen)


def _number(study: Study, seen: Mapping[int, list[_Seen]]) -> Figure:
    answers = answers_label(study)
    places = [
        Placed(
            group=group.name,
            country=group.country,
            value=len(of_group),
            shown=str(len(of_group)),
            detail=_most_likely(of_group),
            link=_link(study, group, of_group),
            cells=(
                len(of_group),
                max((one.likelihood or 0.0 for one in of_group if one.n), default=None),
                "; ".join(str(one) for one in of_group),
                answers,
            ),
        )
        for group, of_group in _nations(seen)
    ]
    return _drawn(study, places, _WORDS["number"], f"n = {sum(map(len, seen.values())):,} visual stereotypes")


def _likely(study: Study, seen: Mapping[int, list[_Seen]]) -> Figure:
    if not any(one.n for of_group in seen.values() for one in of_group):
        raise NothingToDraw(f"Study '{study.name}' has no answers yet about what images of groups depict.")
    answers = answers_label(study)
    tendency = cached_evaluation(study, "tendency")
    known = intervals(study, tendency)
    stereo = {row.group_id: row for row in tendency.rows if row.name == "l_stereo"}
    places = []
    for group, of_group in _nations(seen):
        row = stereo.get(group.pk)
        value = row.value if row else None
        low, high = known.get(("l_stereo", group.pk, ""), (None, None))
        places.append(
            Placed(
                group=group.name,
                country=group.country,
                value=value,
                shown="no score"
                if value is None
                else f"{value:.2f}{_words(low, high)}, n = {row.n if row else 0}",
                detail=_most_likely(of_group),
                link=_link(study, group, of_group),
                cells=(value, low, high, len(of_group), "; ".join(map(str, of_group)), answers),
            )
        )
    scored = sum(place.value is not None for place in places)
    return _drawn(study, places, _WORDS["likely"], f"{scored} groups with more than one stereotype judged")


def _map_offensiveness(study: Study, options: Mapping[str, str]) -> Figure:
    evaluation = cached_evaluation(study, "offensiveness")
    rows: dict[int, dict[str, ScoreRow]] = defaultdict(dict)
    for row in evaluation.rows:
        rows[row.group_id or 0][row.name] = row
    if not any("o" in of_group for of_group in rows.values()):
        raise NothingToDraw(
            f"Study '{study.name}' has no group with a score of offensiveness: that takes rated stereotypes "
            "which annotators marked as present in images."
        )
    answers = answers_label(study)
    known = intervals(study, evaluation)
    judged = set(
        IdentityGroup.objects.filter(
            images__units__task__study=study, images__units__task__kind=TaskKind.DEPICTION
        ).values_list("pk", flat=True)
    )
    groups = IdentityGroup.objects.filter(pk__in=judged | set(rows), axis=Axis.NATIONALITY).order_by("name")
    places = [_offensive(study, group, rows.get(group.pk, {}), known, answers) for group in groups]
    scored = sum(place.value is not None for place in places)
    return _drawn(study, places, _OFFENSIVENESS, f"{scored} of {len(places)} groups have a score")


def _offensive(
    study: Study,
    group: IdentityGroup,
    rows: Mapping[str, ScoreRow],
    known: Mapping[tuple[str, int | None, str], Interval],
    answers: str,
) -> Placed:
    raw, scaled, unrated = rows.get("o"), rows.get("o_scaled"), rows.get("unrated")
    low, high = known.get(("o", group.pk, ""), (None, None))
    without = int(unrated.value or 0) if unrated else 0
    value, shown, detail = None, "no score: no rated stereotype was marked as present", ""
    if raw and raw.value is not None:
        # where all groups have the same there is nothing to scale by
        known_scale = scaled is not None and scaled.value is not None
        value = scaled.value if scaled and scaled.value is not None else 0.0
        said = f"raw O = {raw.value:.3g}{_words(low, high)}"
        shown = f"{value:.2f} ({said})" if known_scale else f"{said}, the same for all"
        detail = f"{raw.n} rated attributes" + (f", {without} without a rating" if without else "")
    return Placed(
        group=group.name,
        country=group.country,
        value=value,
        shown=shown,
        detail=detail,
        link=group_link(study, group.pk),
        cells=(
            scaled.value if scaled else None,
            raw.value if raw else None,
            low,
            high,
            raw.n if raw else 0,
            without,
            answers,
        ),
    )


def _visual_stereotypes(study: Study) -> dict[int, list[_Seen]]:
    """{group: its visual stereotypes, the most likely first}; a group that was judged without any has none.

    Visual is what passes the study's rule where the study asks; otherwise what it shows with images, since
    only visual attributes are shown. Raises NothingToDraw.
    """
    if study.stereotype_source_id is None:
        raise NothingToDraw(
            f"Study '{study.name}' has no source of stereotypes: which attributes are stereotypes of a group "
            "is not known."
        )
    kinds = task_kinds(study)
    counts = {}
    found: dict[int, list[_Seen]] = {}
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
            found.setdefault(group, []).append(_Seen(text, *counts.get((group, attribute), (0, 0))))
    if not any(found.values()):
        raise NothingToDraw(
            f"Study '{study.name}' has no visual stereotypes yet: attributes that are stereotypes of a group "
            "and that annotators found visual, or that were shown with its images."
        )
    for of_group in found.values():
        of_group.sort(key=lambda one: (-(one.likelihood or 0.0), one.text))
    return found


def _nations(seen: Mapping[int, list[_Seen]]) -> list[tuple[IdentityGroup, list[_Seen]]]:
    groups = IdentityGroup.objects.filter(pk__in=seen, axis=Axis.NATIONALITY).order_by("name")
    return [(group, seen[group.pk]) for group in groups]


def _drawn(study: Study, places: list[Placed], words: MapTexts, extent: str) -> Figure:
    if not places:
        raise NothingToDraw(f"Study '{study.name}' is not about nationalities: no map of countries shows it.")
    simulated = has_simulated_answers(study)
    scored = sorted((place for place in places if place.value is not None), key=lambda one: -(one.value or 0))
    highest = "; ".join(f"{place.group} {place.shown}" for place in scored[:5])
    by = " (simulated answers)" if simulated else ""
    return world_map(
        places,
        words.about(
            subtitle=f"{marked_title(study.title, simulated=simulated)}; {extent}",
            alt=f"{words.measure[0].upper()}{words.measure[1:]}{by}: {extent}. Highest: {highest}.",
        ),
    )


def _most_likely(of_group: list[_Seen]) -> str:
    judged = [str(one) for one in of_group if one.n]
    return ", ".join(judged[:_NAMED]) + (" …" if len(judged) > _NAMED else "")


def _link(study: Study, group: IdentityGroup, of_group: list[_Seen]) -> str:
    """Only groups whose images were judged have a page."""
    return group_link(study, group.pk) if any(one.n for one in of_group) else ""


def _words(low: float | None, high: float | None) -> str:
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
