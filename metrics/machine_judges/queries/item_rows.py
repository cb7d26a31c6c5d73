"""Items with what people and a machine judge chose, with the boxes of both (PROTOCOL §16).

Only the items of one page are read, in a fixed number of queries. People are counted, never named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from django.db.models import Count
from django.db.models.functions import Length, Substr

from annotation.annotate.queries import units_as_json
from annotation.core.scales import SCALES, label_of
from annotation.core.translation import LANGUAGE
from annotation.models import IdentityGroup, Option
from generation.models import Answer
from metrics.core.answers import counted_judgements
from metrics.core.stats.checks import Ints
from metrics.depiction.queries.gallery import GalleryImage, fill
from metrics.depiction.queries.pictures import Rect, rect
from metrics.machine_judges.data import Judge
from metrics.machine_judges.design import BASE, asking_key, read_key
from metrics.machine_judges.disagreement import Ranking
from metrics.machine_judges.parsing import Problem
from metrics.machine_judges.readings import PROBLEMS, Readings, verdicts
from metrics.machine_judges.words import problem_words, variant_words

TEXT_SHOWN = 2_000
"""Characters of a raw answer on a page."""
SAMPLES_SHOWN = 3
"""Raw answers of an item in one variant on a page."""


@dataclass(frozen=True)
class LabelCount:
    """How many people chose a label, and in how many of its samples the judge did."""

    value: int
    name: str
    people: int
    judge: int
    is_verdict: bool


@dataclass(frozen=True)
class Said:
    """The judge's verdict in a variant: the value of `alike` of its `samples`."""

    variant: str
    value: int
    name: str
    alike: int
    samples: int

    @property
    def words(self) -> str:
        return variant_words(self.variant)


@dataclass(frozen=True)
class RawAnswer:
    """An answer as it came, its first TEXT_SHOWN characters of `length`. `problem`: why it is unusable."""

    variant: str
    sample: int
    text: str
    length: int
    ended: str
    problem: Problem | None

    @property
    def variant_words(self) -> str:
        return variant_words(self.variant)

    @property
    def problem_words(self) -> str:
        return problem_words(self.problem) if self.problem else ""

    @property
    def is_shortened(self) -> bool:
        return self.length > len(self.text)


@dataclass
class ItemRow:
    """An item, at `place` in `Items`. `disagreement`: from 0 to 1, None without people. `said`: BASE first.
    `statement`: of a text item, in English. `picture`: with the boxes of people; `boxes` and `corners` are
    those of the judge, and `whole` says that it called the attribute visible in the image as a whole."""

    option: Option
    place: int
    region: str
    people: int
    differing: int
    disagreement: float | None
    labels: list[LabelCount]
    said: list[Said]
    statement: str = ""
    picture: GalleryImage | None = None
    boxes: list[Rect] = field(default_factory=list)
    corners: list[list[float]] = field(default_factory=list)
    whole: bool = False
    answers: list[RawAnswer] = field(default_factory=list)

    @property
    def group(self) -> IdentityGroup | None:
        unit = self.option.unit
        if unit.image is not None:
            return unit.image.group
        return unit.association.group if unit.association is not None else None

    @property
    def base(self) -> Said:
        return self.said[0]

    @property
    def others(self) -> list[Said]:
        return self.said[1:]


def item_rows(judge: Judge, ranked: Ranking, chosen: Ints) -> list[ItemRow]:
    """The rows at the places `chosen` of `ranked`. A fixed number of queries."""
    places = ranked.places[chosen]
    readings = judge.readings.about(places)
    pks = judge.items.options[places].tolist()
    options = _options(pks)
    people = _people(judge, pks)
    said = _said(judge, readings)
    found = {}
    for at, place, pk in zip(chosen.tolist(), places.tolist(), pks, strict=True):
        number = int(ranked.people[at])
        found[pk] = ItemRow(
            option=options[pk],
            place=place,
            region=judge.items.regions[place],
            people=number,
            differing=int(ranked.differing[at]),
            disagreement=float(ranked.disagreement[at]) if number else None,
            labels=_labels(judge, readings, place, people[pk], int(ranked.values[at])),
            said=said[place],
        )
    _add_answers(judge, found)
    if judge.design.is_rating:
        _add_statements(judge, found)
    else:
        _add_pictures(judge, found, readings)
    return list(found.values())


def _options(pks: Sequence[int]) -> dict[int, Option]:
    options = Option.objects.select_related(
        "attribute", "unit__image__group", "unit__image__image_set", "unit__association__group"
    )
    return options.in_bulk(pks)


def _people(judge: Judge, pks: Sequence[int]) -> defaultdict[int, Counter[int]]:
    """Option -> value -> how many people chose it."""
    counted: defaultdict[int, Counter[int]] = defaultdict(Counter)
    judgements = counted_judgements(judge.study, judge.task.kind).filter(option__in=pks).order_by()
    for option, value, number in judgements.values_list("option", "value").annotate(number=Count("pk")):
        counted[option][value] = number
    return counted


def _labels(
    judge: Judge, readings: Readings, place: int, people: Mapping[int, int], verdict: int
) -> list[LabelCount]:
    base = readings.variants[readings.answers] == readings.names.index(BASE)
    values = Counter(readings.values[base & (readings.options == place)].tolist())
    return [
        LabelCount(
            each.value, each.name, people.get(each.value, 0), values[each.value], each.value == verdict
        )
        for each in SCALES[judge.task.kind]
    ]


def _said(judge: Judge, readings: Readings) -> defaultdict[int, list[Said]]:
    """Place -> the verdict in each variant that has one, BASE first."""
    found: defaultdict[int, list[Said]] = defaultdict(list)
    for variant in readings.names:
        judged = verdicts(readings, variant)
        rows = (each.tolist() for each in (judged.options, judged.values, judged.alike, judged.samples))
        for place, value, alike, samples in zip(*rows, strict=True):
            name = label_of(judge.task.kind, value).name
            found[place].append(Said(variant, value, name, alike, samples))
    return found


def _add_answers(judge: Judge, rows: Mapping[int, ItemRow]) -> None:
    """One query."""
    names = judge.readings.names
    units = {row.option.unit.position: row.option.unit_id for row in rows.values()}
    answers = Answer.objects.filter(
        run=judge.run,
        job__run=judge.run,
        job__key__in=[asking_key(position, variant) for position in units for variant in names],
        job__number__lte=SAMPLES_SHOWN,
    ).order_by("job")
    problems = _problems(judge.readings, {*units.values()})
    found: defaultdict[int, list[RawAnswer]] = defaultdict(list)
    for key, sample, text, length, ended in answers.values_list(
        "job__key", "job__number", Substr("text", 1, TEXT_SHOWN), Length("text"), "ended"
    ):
        position, variant = read_key(key)
        unit = units[position]
        problem = problems.get((unit, variant, sample))
        found[unit].append(RawAnswer(variant, sample, text, length, ended, problem))
    for row in rows.values():
        row.answers = sorted(
            found[row.option.unit_id], key=lambda each: (names.index(each.variant), each.sample)
        )


def _problems(readings: Readings, units: set[int]) -> dict[tuple[int, str, int], Problem]:
    chosen = np.flatnonzero(np.isin(readings.unusable_units, [*units]))
    return {
        (
            int(readings.unusable_units[at]),
            readings.names[readings.unusable_variants[at]],
            int(readings.unusable_samples[at]),
        ): PROBLEMS[readings.unusable_problems[at]]
        for at in chosen
    }


def _add_statements(judge: Judge, rows: Mapping[int, ItemRow]) -> None:
    """One query."""
    keys = {row.option.unit_id: UUID(int=0) for row in rows.values()}
    items = units_as_json(study_id=judge.study.pk, keys=keys, language=LANGUAGE)
    statements = {each["unit"]: "".join(text for _kind, text in each["statement"]) for each in items}
    for row in rows.values():
        row.statement = statements[row.option.unit_id]


def _add_pictures(judge: Judge, rows: Mapping[int, ItemRow], readings: Readings) -> None:
    """Two queries."""
    pictures = {pk: GalleryImage(row.option.unit.image) for pk, row in rows.items() if row.option.unit.image}
    judgements = counted_judgements(judge.study, judge.task.kind).filter(option__in=list(pictures))
    fill(pictures, judgements, by="option")
    judged = verdicts(readings)
    at = {place: number for number, place in enumerate(judged.options.tolist())}
    whole = readings.whole & (readings.variants[readings.answers] == readings.names.index(BASE))
    for pk, picture in pictures.items():
        row = rows[pk]
        row.picture = picture
        row.corners = judged.corners[judged.boxes == at[row.place]].tolist()
        row.whole = bool(whole[readings.options == row.place].any())
        image = picture.image
        row.boxes = [rect(corners, width=image.width, height=image.height) for corners in row.corners]
