"""Coarsening of profiles for k-anonymity (Samarati and Sweeney 1998). Pure.

Fields are recoded globally to fewer, wider values, then rare combinations are suppressed locally. Of all
recodings, the one that publishes most is taken. Only values that a form offers are published.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

NORTH, SOUTH = "Global North", "Global South"
_NORTHERN = frozenset({"Australia", "Europe", "North America", "Oceania"})
_AGES = {
    "18-24": ("18-34", "18-34"),
    "25-34": ("18-34", "18-34"),
    "35-44": ("35-54", "35+"),
    "45-54": ("35-54", "35+"),
    "55-64": ("55+", "35+"),
    "65+": ("55+", "35+"),
}
GEOGRAPHIC = frozenset({"origin", "residence", "identity_region"})
WIDER = frozenset({NORTH, SOUTH}.union(*_AGES.values()))
"""Values that each stand for several choices of a form."""

Values = tuple[str | None, ...]
Column = list[str | None]
"""What is published of each cell for one field."""
Cell = tuple[bool, Values]
"""Whether it is of programs (which are recognisable, so they cannot hide people), and a value per field."""


@dataclass(frozen=True)
class Field:
    """A field with the choices of its form. `steps`: mappings from the choices to ever wider values.

    `may_withhold`: whether withholding the field for everybody is tried as the last step.
    """

    name: str
    choices: tuple[str, ...]
    steps: tuple[Mapping[str, str], ...] = ()
    may_withhold: bool = True

    def match_choice(self, value: str) -> str | None:
        """`value` as the form spells it; None for a person's own words."""
        known = {choice.casefold(): choice for choice in self.choices}
        return known.get(value.strip().casefold())

    def value_at(self, level: int, value: str | None) -> str | None:
        """`value` at a level: 0 is as chosen, each step is wider, the last is withheld."""
        if value is None or level > len(self.steps):
            return None
        return self.steps[level - 1][value] if level else value


def make_field(name: str, choices: Sequence[str], *, own_question: bool = False) -> Field:
    """The field with its known steps. A study's own question has none and is withheld only for individual
    people: there may be n of them, and trying all combinations would take 2 ** n recodings."""
    values = tuple(choices)
    if name in GEOGRAPHIC:
        return Field(name, values, ({each: NORTH if each in _NORTHERN else SOUTH for each in values},))
    if name == "age_band":
        return Field(name, values, tuple({each: _AGES[each][step] for each in values} for step in (0, 1)))
    return Field(name, values, may_withhold=not own_question)


@dataclass(frozen=True)
class Person:
    """The profile answers that a person permits to publish, as they entered them."""

    simulated: bool
    answers: Mapping[str, str]


@dataclass(frozen=True)
class FieldReport:
    """The result for one field: the level at which values are published, out of 0 to `levels`, and the number
    of people whose value is published, was in their own words, or was too rare."""

    name: str
    level: int
    levels: int
    published: int
    own_words: int
    rare: int

    @property
    def withheld(self) -> bool:
        return self.published == 0


@dataclass(frozen=True)
class Coarsened:
    """`values`: for each person, in the given order, a value for each of `fields`; None if withheld."""

    fields: tuple[str, ...]
    values: tuple[Values, ...]
    report: tuple[FieldReport, ...]

    def exact_values(self, index: int) -> dict[str, str]:
        """The published values of the person at `index` that were not widened."""
        published = zip(self.fields, self.values[index], strict=True)
        return {name: value for name, value in published if value is not None and value not in WIDER}


def coarsen(people: Sequence[Person], fields: Sequence[Field], *, k: int) -> Coarsened:
    """Coarsen profiles until at least `k` people share each combination of values, or nothing is published.

    Blanks count as values, so the people without any published value are none or at least `k`, too. Programs
    are treated the same way, separately. What holds for all fields holds for any subset of them: each
    combination of some fields is a union of combinations of all. Raises ValueError for a `k` below 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}. It is a number of people, from 1.")
    answers = [[person.answers.get(field.name) for person in people] for field in fields]
    choices = [
        [field.match_choice(value) if value else None for value in values]
        for field, values in zip(fields, answers, strict=True)
    ]
    rows = list(zip(*choices, strict=True)) if fields else [()] * len(people)
    cells = Counter((person.simulated, row) for person, row in zip(people, rows, strict=True))
    level_ranges = [range(len(field.steps) + (2 if field.may_withhold else 1)) for field in fields]
    columns = [
        [[field.value_at(level, row[index]) for _, row in cells] for level in level_ranges[index]]
        for index, field in enumerate(fields)
    ]
    best: tuple[float, tuple[int, ...], dict[Cell, Cell], Counter[Cell]] | None = None
    # Levels come in ascending order: of two recodings that publish as much, the finer one is kept
    for levels in product(*level_ranges):
        weights = [1 - level / (len(field.steps) + 1) for field, level in zip(fields, levels, strict=True)]
        final = _recode(cells, [column[level] for column, level in zip(columns, levels, strict=True)], k)
        sizes = _sizes(cells, final)
        hidden = _fill_blanks(sizes, weights, k)
        utility = sum((number - hidden[cell]) * _utility(cell, weights) for cell, number in sizes.items())
        if best is None or utility > best[0]:
            best = (utility, levels, final, hidden)
    assert best is not None
    _, levels, final, hidden = best
    values = tuple(
        _values(final[person.simulated, row], hidden) for person, row in zip(people, rows, strict=True)
    )
    return Coarsened(
        fields=tuple(field.name for field in fields),
        values=values,
        report=tuple(
            _report(field, levels[index], answers[index], choices[index], [row[index] for row in values])
            for index, field in enumerate(fields)
        ),
    )


def _values(cell: Cell, hidden: Counter[Cell]) -> Values:
    """The published values of the next person of a cell: blanks as long as `hidden` counts some of it."""
    if hidden[cell]:
        hidden[cell] -= 1
        return (None,) * len(cell[1])
    return cell[1]


def _utility(cell: Cell, weights: Sequence[float]) -> float:
    """How much is published of each person of a cell."""
    return sum(weight for weight, value in zip(weights, cell[1], strict=True) if value is not None)


def _sizes(cells: Mapping[Cell, int], recoded: Mapping[Cell, Cell]) -> dict[Cell, int]:
    sizes: dict[Cell, int] = {}
    for cell, number in cells.items():
        to = recoded[cell]
        sizes[to] = sizes.get(to, 0) + number
    return sizes


def _recode(cells: Mapping[Cell, int], columns: Sequence[Column], k: int) -> dict[Cell, Cell]:
    """Each cell as published with these values of each field, after local suppression."""
    rows = zip(*columns, strict=True) if columns else [()] * len(cells)
    recoded = {cell: (cell[0], row) for cell, row in zip(cells, rows, strict=True)}
    while True:
        sizes = _sizes(cells, recoded)
        small = [cell for cell, size in sizes.items() if size < k and any(cell[1])]
        if not small:
            return recoded
        moves = _drop_one_value(small, sizes)
        recoded = {cell: moves.get(target, target) for cell, target in recoded.items()}


def _fill_blanks(sizes: Mapping[Cell, int], weights: Sequence[float], k: int) -> Counter[Cell]:
    """How many more people of each cell get only blanks, so that the people with only blanks are not fewer
    than `k`. The cheapest choice is taken: people whom their cells can spare, or one whole cell."""
    hidden: Counter[Cell] = Counter()
    for simulated in (False, True):
        published = sorted(
            ((cell, size) for cell, size in sizes.items() if cell[0] == simulated and any(cell[1])),
            key=lambda each: _utility(each[0], weights),
        )
        missing = k - sizes.get((simulated, (None,) * len(weights)), 0)
        if missing in range(1, k) and published:
            spared: Counter[Cell] = Counter()
            for cell, size in published:
                spared[cell] = min(size - k, missing - spared.total())
            whole = min(published, key=lambda each: each[1] * _utility(each[0], weights))
            candidates = [Counter({whole[0]: whole[1]})]
            if spared.total() == missing:
                candidates.append(spared)
            hidden += min(
                candidates,
                key=lambda counts: sum(number * _utility(cell, weights) for cell, number in counts.items()),
            )
    return hidden


def _drop_one_value(small: Sequence[Cell], sizes: Mapping[Cell, int]) -> dict[Cell, Cell]:
    """For each small cell, the cell with one value fewer that would then have most people.

    All people of a cell move together and no other cell loses anybody, so the suppression ends.
    """
    fewer = {cell: _without_one(cell) for cell in small}
    then: dict[Cell, int] = {}
    for cell, targets in fewer.items():
        for to in targets:
            then[to] = then.get(to, sizes.get(to, 0)) + sizes[cell]
    return {cell: max(targets, key=then.__getitem__) for cell, targets in fewer.items()}


def _without_one(cell: Cell) -> list[Cell]:
    simulated, row = cell
    return [
        (simulated, (*row[:index], None, *row[index + 1 :]))
        for index, value in enumerate(row)
        if value is not None
    ]


def _report(
    field: Field,
    level: int,
    answers: Sequence[str | None],
    choices: Sequence[str | None],
    published: Sequence[str | None],
) -> FieldReport:
    return FieldReport(
        name=field.name,
        level=level,
        levels=len(field.steps) + 1,
        published=sum(value is not None for value in published),
        own_words=sum(
            bool(answer) and choice is None for answer, choice in zip(answers, choices, strict=True)
        ),
        rare=sum(
            choice is not None and value is None for choice, value in zip(choices, published, strict=True)
        ),
    )
