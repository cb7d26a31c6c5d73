"""Read the items of a task, and what a machine judge answered about them, as arrays (PROTOCOL §16).

Nothing here is a judgement of a person: answers of models are rows of `generation.models.Answer`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, QuerySet

from annotation.annotate.queries import shown_order
from annotation.annotate.services.answer_rules import clip
from annotation.core.scales import SCALES
from annotation.models import Option, OptionRole, Purpose, Study, Task
from generation.backends.base import FILTERED
from generation.models import Answer, Run
from metrics.core.purposes import MACHINE_JUDGE
from metrics.core.stats.checks import Ints
from metrics.machine_judges.design import BASE, ORDER, Design, label_order, order_key, read_key
from metrics.machine_judges.parsing import Problem, Selection, read_choice, read_selection
from metrics.machine_judges.readings import Judged, Readings, ReadingsBuilder, Verdicts, verdicts

NONE_OF_ABOVE = 0
"""Stands for null in arrays of attributes, images and groups; no row has this key."""
_CACHE_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Items:
    """The options (O,) of the data units of a task, by the positions of unit and option: ids of `units`,
    `options`, `attributes` (0: none of the above), `images` and `groups` (0: the task has none), the
    `regions` of the groups, and the `positions` of the units in the task."""

    units: Ints
    options: Ints
    attributes: Ints
    images: Ints
    groups: Ints
    regions: tuple[str, ...]
    positions: Ints


@dataclass(frozen=True)
class Judge:
    """A run of a machine judge with what it is about and what it answered."""

    run: Run
    study: Study
    task: Task
    design: Design
    items: Items
    readings: Readings
    _verdicts: dict[str, Verdicts] = field(default_factory=dict, init=False, repr=False, compare=False)

    def verdicts(self, variant: str = BASE) -> Verdicts:
        """Those of `variant`, found once: scores by group ask for them again and again."""
        if variant not in self._verdicts:
            self._verdicts[variant] = verdicts(self.readings, variant)
        return self._verdicts[variant]


def judge_runs(study: Study) -> QuerySet[Run]:
    """The runs of machine judges about items of `study`, newest first."""
    return Run.objects.filter(
        recipe__design__purpose=MACHINE_JUDGE, recipe__design__study=study.name
    ).order_by("-pk")


def answers_stamp(run: Run) -> list[object]:
    """Changes when the run has new answers."""
    found = Answer.objects.filter(run=run).order_by().aggregate(number=Count("pk"), last=Max("pk"))
    return [run.pk, found["number"], found["last"]]


def judged_task(design: Design, study: Study) -> Task:
    """The task that a judge was asked about. Raises Task.DoesNotExist if it is gone."""
    tasks = Task.objects.select_related("image_set")
    return tasks.get(study=study, kind=design.task, version=design.task_version)


def read_judge(run: Run, study: Study) -> Judge:
    """A judge with all its answers. The answers are read once and cached until there are more. Raises
    Task.DoesNotExist if its task is gone."""
    design = Design.from_json(run.recipe["design"])
    task = judged_task(design, study)
    items = read_items(task)
    stamp = ".".join(map(str, answers_stamp(run)))
    key = f"machine-judge-3:{stamp}:{len(items.options)}"
    readings: Readings | None = cache.get(key)
    if readings is None:
        readings = _read(run, design, items)
        cache.set(key, readings, _CACHE_SECONDS)
    return Judge(run, study, task, design, items, readings)


def read_items(task: Task) -> Items:
    """The options of the task's data units. One query."""
    rows = (
        Option.objects.filter(unit__task=task, unit__purpose=Purpose.DATA)
        .order_by("unit__position", "position")
        .values_list(
            *("unit", "pk", "attribute", "unit__image", "unit__image__group", "unit__association__group"),
            *("unit__image__group__region", "unit__association__group__region", "unit__position"),
        )
    )
    found = list(rows)
    ids = np.array(
        [[row[0], row[1], row[2] or 0, row[3] or 0, row[4] or row[5] or 0, row[8]] for row in found],
        dtype=np.int64,
    ).reshape(-1, 6)
    units, options, attributes, images, groups, positions = ids.T
    regions = tuple(row[6] or row[7] or "" for row in found)
    return Items(units, options, attributes, images, groups, regions, positions)


def _read(run: Run, design: Design, items: Items) -> Readings:
    built = ReadingsBuilder(design.variants)
    for each in read_answers(run, design, items):
        built.add(each.unit, each.variant, each.sample, each.found)
    return built.result()


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """One answer. `found`: what it says of each option, in the order shown, or why it cannot be used."""

    unit: int
    variant: str
    sample: int
    found: Sequence[Judged] | Problem


def read_answers(run: Run, design: Design, items: Items) -> Iterator[ReadAnswer]:
    """All answers of a run about `items`, one at a time. One query."""
    reader = _Reader(design, items)
    sizes = "job__image__width", "job__image__height"
    answers = Answer.objects.filter(run=run).order_by("job")
    rows = answers.values_list("job__key", "job__number", "text", "ended", *sizes)
    for key, sample, text, ended, width, height in rows.iterator(chunk_size=2000):
        try:
            position, variant = read_key(key)
        except ValueError:
            continue
        unit = reader.units.get(position, 0)
        if not unit or variant not in design.variants:
            continue  # an answer that was brought in from elsewhere, about nothing that was asked
        found: Sequence[Judged] | Problem = Problem.WITHHELD
        if ended != FILTERED:
            found = reader.read(text, unit, variant, width or 0, height or 0)
        yield ReadAnswer(unit, variant, sample, found)


class _Reader:
    """Reads the answers of one design. The order in which a unit's options were shown is worked out once for
    all samples."""

    def __init__(self, design: Design, items: Items) -> None:
        self.design = design
        self.places: dict[int, list[int]] = defaultdict(list)
        for place, unit in enumerate(items.units.tolist()):
            self.places[unit].append(place)
        self.units = dict(zip(items.positions.tolist(), items.units.tolist(), strict=True))
        self._positions = {unit: position for position, unit in self.units.items()}
        self._none = set(np.flatnonzero(items.attributes == NONE_OF_ABOVE).tolist())
        self._orders: dict[tuple[int, bool], list[int]] = {}

    def read(self, text: str, unit: int, variant: str, width: int, height: int) -> Sequence[Judged] | Problem:
        if self.design.is_rating:
            return self._rating(text, unit, variant)
        shown = self._shown(unit, variant)
        none = next((at for at, place in enumerate(shown) if place in self._none), -1)
        found = read_selection(
            text, len(shown), none=none, boxes=self.design.boxes, width=width, height=height
        )
        return found if isinstance(found, Problem) else _clipped(found, shown, width, height)

    def _rating(self, text: str, unit: int, variant: str) -> Sequence[Judged] | Problem:
        scale = SCALES[self.design.task]
        choice = read_choice(text, len(scale))
        if isinstance(choice, Problem):
            return choice
        label = scale[label_order(len(scale), variant)[choice]]
        return [Judged(self.places[unit][0], label.value)]

    def _shown(self, unit: int, variant: str) -> list[int]:
        """The places of a unit's options, in the order shown."""
        asked = unit, variant == ORDER
        if asked not in self._orders:
            roles = {True: OptionRole.NONE_OF_ABOVE, False: OptionRole.STIMULUS}
            options = [{"place": place, "role": roles[place in self._none]} for place in self.places[unit]]
            attributes = sum(place not in self._none for place in self.places[unit])
            key = order_key(self.design, self._positions[unit], variant, attributes=attributes)
            shown = shown_order(options, key=key)
            self._orders[asked] = [option["place"] for option in shown]
        return self._orders[asked]


def _clipped(found: Selection, shown: Sequence[int], width: int, height: int) -> list[Judged] | Problem:
    """Boxes by the rules for people: inside the image, or refused."""
    judged: list[Judged] = []
    for at, place in enumerate(shown):
        if at not in found.chosen:
            judged.append(Judged(place, 0))
            continue
        boxes = [clip(each, width=width, height=height) for each in found.boxes.get(at, ())]
        inside = [box for box in boxes if box is not None]
        if len(inside) < len(boxes):
            return Problem.BOX
        judged.append(Judged(place, 1, at in found.whole, inside))
    return judged
