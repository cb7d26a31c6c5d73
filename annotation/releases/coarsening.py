"""Profile fields made coarser until nobody stands out (k-anonymity; Samarati and Sweeney 1998). Pure.

Global recoding first: a field is told in fewer, wider values for everybody (region -> Global South or North
-> withheld; age bands merged). Of all recodings that one is taken which, after local suppression of what is
still rare, tells most. Own words are never told: only values that a form offers.
"""

from __future__ import annotations

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
"""Values that stand for several of those that a form offers."""

Values = tuple[str | None, ...]
Cell = tuple[bool, Values]
"""Whether it is of programs, which nobody could take for people, and a value for each field."""


@dataclass(frozen=True)
class Field:
    """A field with the values that its form offers. `steps`: each a wider way to say them, value for value.

    `whole`: whether withholding it for everybody is tried as the last step.
    """

    name: str
    choices: tuple[str, ...]
    steps: tuple[Mapping[str, str], ...] = ()
    whole: bool = True

    def offered(self, value: str) -> str | None:
        """`value` as the form spells it; None for somebody's own words."""
        known = {choice.casefold(): choice for choice in self.choices}
        return known.get(value.strip().casefold())

    def at(self, level: int, value: str | None) -> str | None:
        """`value` at a level: 0 as it was chosen, each step wider, at last withheld."""
        if value is None or level > len(self.steps):
            return None
        return self.steps[level - 1][value] if level else value


def field_of(name: str, choices: Sequence[str], *, own_question: bool = False) -> Field:
    """The field with the steps that are known for it. A question of a study's own has none, and is
    withheld for single people only: there may be any number of them, and trying all ways takes 2 ** n."""
    offered = tuple(choices)
    if name in GEOGRAPHIC:
        return Field(name, offered, ({each: NORTH if each in _NORTHERN else SOUTH for each in offered},))
    if name == "age_band":
        return Field(name, offered, tuple({each: _AGES[each][step] for each in offered} for step in (0, 1)))
    return Field(name, offered, whole=not own_question)


@dataclass(frozen=True)
class Person:
    """What somebody lets be published of themselves, as they said it."""

    simulated: bool
    said: Mapping[str, str]


@dataclass(frozen=True)
class FieldReport:
    """What became of one field: at which level everybody's value is told, of `levels` + 1, and of how many
    people it is told, was in their own words, or was too rare."""

    name: str
    level: int
    levels: int
    told: int
    own_words: int
    rare: int

    @property
    def withheld(self) -> bool:
        return self.told == 0


@dataclass(frozen=True)
class Coarsened:
    """`values`: for each person, in the order given, a value for each of `fields`; None is withheld."""

    fields: tuple[str, ...]
    values: tuple[Values, ...]
    report: tuple[FieldReport, ...]

    def exactly(self, place: int) -> dict[str, str]:
        """Of the person at `place`, what is told as they said it, and not in wider words."""
        told = zip(self.fields, self.values[place], strict=True)
        return {name: value for name, value in told if value is not None and value not in WIDER}


def coarsen(people: Sequence[Person], fields: Sequence[Field], *, k: int) -> Coarsened:
    """Of people, and apart from them of programs, nothing is told or each combination is that of at least
    `k`. A blank counts as a value: those of whom nothing is told are nobody, or at least `k`, too.

    What holds for all fields holds for any of them, since the people of a combination of some fields are
    those of several combinations of all. Raises ValueError for a `k` below 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}. It is a number of people, from 1.")
    asked = [[person.said.get(field.name) for person in people] for field in fields]
    offered = [
        [field.offered(value) if value else None for value in said]
        for field, said in zip(fields, asked, strict=True)
    ]
    rows = list(zip(*offered, strict=True)) if fields else [()] * len(people)
    cells = Counter((person.simulated, row) for person, row in zip(people, rows, strict=True))
    ways = [range(len(field.steps) + (2 if field.whole else 1)) for field in fields]
    best: tuple[float, tuple[int, ...], dict[Cell, Cell], Counter[Cell]] | None = None
    # Levels come in ascending order: of two ways that tell as much, the finer one is kept.
    for levels in product(*ways):
        weights = [_weight(field, level) for field, level in zip(fields, levels, strict=True)]
        final = _told(cells, fields, levels, k)
        sizes = _sizes(cells, final)
        hidden = _hidden_too(sizes, weights, k)
        tells = sum((number - hidden[cell]) * _tells(cell, weights) for cell, number in sizes.items())
        if best is None or tells > best[0]:
            best = (tells, levels, final, hidden)
    assert best is not None
    _, levels, final, hidden = best
    values = tuple(
        _values(final[person.simulated, row], hidden) for person, row in zip(people, rows, strict=True)
    )
    return Coarsened(
        fields=tuple(field.name for field in fields),
        values=values,
        report=tuple(
            _report(field, levels[place], asked[place], offered[place], [row[place] for row in values])
            for place, field in enumerate(fields)
        ),
    )


def _values(cell: Cell, hidden: Counter[Cell]) -> Values:
    """What is told of the next person of a cell: nothing, while there are some of it to hide."""
    if hidden[cell]:
        hidden[cell] -= 1
        return (None,) * len(cell[1])
    return cell[1]


def _weight(field: Field, level: int) -> float:
    return 1 - level / (len(field.steps) + 1)


def _tells(cell: Cell, weights: Sequence[float]) -> float:
    """How much is told of each person of a cell."""
    return sum(weight for weight, value in zip(weights, cell[1], strict=True) if value is not None)


def _sizes(cells: Mapping[Cell, int], now: Mapping[Cell, Cell]) -> Counter[Cell]:
    sizes: Counter[Cell] = Counter()
    for cell, number in cells.items():
        sizes[now[cell]] += number
    return sizes


def _told(
    cells: Mapping[Cell, int], fields: Sequence[Field], levels: Sequence[int], k: int
) -> dict[Cell, Cell]:
    """Each cell as it is told at these levels, after local suppression."""
    now = {
        (simulated, row): (
            simulated,
            tuple(field.at(level, value) for field, level, value in zip(fields, levels, row, strict=True)),
        )
        for simulated, row in cells
    }
    while True:
        sizes = _sizes(cells, now)
        small = [cell for cell, size in sizes.items() if size < k and any(cell[1])]
        if not small:
            return now
        moves = _one_value_less(small, sizes)
        now = {cell: moves.get(told, told) for cell, told in now.items()}


def _hidden_too(sizes: Mapping[Cell, int], weights: Sequence[float], k: int) -> Counter[Cell]:
    """Of how many more people of each cell nothing is told, so that those who said nothing, or whose values
    were all too rare, are not fewer than `k`. Taken where it costs least: people whom their cell can spare,
    or one cell as a whole."""
    hidden: Counter[Cell] = Counter()
    for simulated in (False, True):
        told = sorted(
            ((cell, size) for cell, size in sizes.items() if cell[0] == simulated and any(cell[1])),
            key=lambda each: _tells(each[0], weights),
        )
        missing = k - sizes.get((simulated, (None,) * len(weights)), 0)
        if missing in range(1, k) and told:
            spared: Counter[Cell] = Counter()
            for cell, size in told:
                spared[cell] = min(size - k, missing - spared.total())
            whole = min(told, key=lambda each: each[1] * _tells(each[0], weights))
            ways = [Counter({whole[0]: whole[1]})]
            if spared.total() == missing:
                ways.append(spared)
            hidden += min(
                ways, key=lambda way: sum(number * _tells(cell, weights) for cell, number in way.items())
            )
    return hidden


def _one_value_less(small: Sequence[Cell], sizes: Mapping[Cell, int]) -> dict[Cell, Cell]:
    """For each small cell the one next to it, one value fewer, where most people would then be.

    All of a cell move together and no other cell loses anybody, so it ends.
    """
    arriving: Counter[Cell] = Counter()
    for cell in small:
        for target in _without_one(cell):
            arriving[target] += sizes[cell]
    moves = {}
    for cell in small:
        moves[cell] = max(_without_one(cell), key=lambda to: arriving[to] + sizes.get(to, 0))
    return moves


def _without_one(cell: Cell) -> list[Cell]:
    simulated, row = cell
    return [
        (simulated, (*row[:place], None, *row[place + 1 :]))
        for place, value in enumerate(row)
        if value is not None
    ]


def _report(
    field: Field,
    level: int,
    asked: Sequence[str | None],
    offered: Sequence[str | None],
    told: Sequence[str | None],
) -> FieldReport:
    return FieldReport(
        name=field.name,
        level=level,
        levels=len(field.steps) + 1,
        told=sum(value is not None for value in told),
        own_words=sum(bool(said) and choice is None for said, choice in zip(asked, offered, strict=True)),
        rare=sum(choice is not None and value is None for choice, value in zip(offered, told, strict=True)),
    )


__all__ = ["Coarsened", "Field", "FieldReport", "Person", "coarsen", "field_of"]
