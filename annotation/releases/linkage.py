"""What follows about people from who judged the same unit, though strata are not told. Pure.

Where each unit had one annotator of each origin, two of the same origin never share a unit: whoever colours
the graph of who judged with whom has the origins, but for their names. Strata in general are a puzzle of the
same kind, and it is solved here as a reader of the release could: by elimination.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from annotation.core import strata
from annotation.studies.matching import match

Reserved = tuple[tuple[int, ...], tuple[str, ...]]
"""The people who judged a unit, and the strata of all its slots."""


@dataclass(frozen=True)
class Linkage:
    """`hidden`: how many people judged units with reserved places without all of that being told of them.
    `found`: for how many of them, at least, it follows from who judged the same unit. `determined`: whether
    for units of one design it follows for all, so that nothing but the groups' names is left to guess."""

    hidden: int = 0
    found: int = 0
    determined: bool = False


def linkage(
    reserved: Iterable[Reserved], matched: Mapping[int, frozenset[str]], told: Mapping[int, frozenset[str]]
) -> Linkage:
    """What somebody finds who knows the strata of the study and who judged what.

    `matched`: the strata that each person matches; `told`: those of which it is told whether they do. Of each
    set of strata that units have, the people of one unit are known from the start, which names the groups.
    What is found is a lower bound: nothing is tried out, only what no unit leaves room for is ruled out.
    """
    units = sorted({_sorted(unit) for unit in reserved if any(text != strata.ANY for text in unit[1])})
    puzzle = _Puzzle(units, {one: matched[one] for who, _ in units for one in who})
    designs: dict[tuple[str, ...], list[tuple[int, ...]]] = defaultdict(list)
    for who, slots in units:
        designs[slots].append(who)
    hidden: set[int] = set()
    found: set[int] = set()
    determined = False
    nothing: frozenset[str] = frozenset()
    for design, of_design in designs.items():
        texts = frozenset(design) - {strata.ANY}
        untold = {one for who in of_design for one in who if not texts <= told.get(one, nothing)}
        first = max(of_design, key=lambda who: sum(len(puzzle.units_of[one]) for one in who))
        assumed = dict.fromkeys(first, texts)
        domains = puzzle.solved(
            {one: told.get(one, nothing) | assumed.get(one, nothing) for one in puzzle.units_of}
        )
        sure = {one for one in untold if puzzle.agree(domains[one], texts)}
        hidden |= untold
        if sure - set(first) or sure == untold:
            # otherwise nothing followed of what was assumed of one unit
            found |= sure
        determined |= bool(untold) and sure == untold
    return Linkage(len(hidden), len(found), determined)


def _sorted(unit: Reserved) -> Reserved:
    who, texts = unit
    return tuple(sorted(who)), tuple(sorted(texts))


class _Puzzle:
    """Who may be of which type: a type is a set of strata that somebody matches, and a set of types a number
    with one bit for each. Each unit needs a slot of its own for each of its people."""

    def __init__(self, units: Sequence[Reserved], matched: Mapping[int, frozenset[str]]) -> None:
        types = sorted(set(matched.values()), key=sorted)
        self._all = (1 << len(types)) - 1
        self._matched = matched
        self._fits = {
            text: sum(1 << place for place, texts in enumerate(types) if text in texts)
            for text in {text for _, slots in units for text in slots}
        }
        self._fits[strata.ANY] = self._all
        self._units = [(who, tuple(self._fits[text] for text in slots)) for who, slots in units]
        self.units_of: dict[int, list[int]] = defaultdict(list)
        for place, (who, _) in enumerate(self._units):
            for one in who:
                self.units_of[one].append(place)

    def solved(self, known: Mapping[int, Collection[str]]) -> dict[int, int]:
        """Which types are left for each person. `known`: strata of which it is known whether they match."""
        domains = {}
        for one, texts in self._matched.items():
            domains[one] = self._all
            for text in texts & self._fits.keys() & set(known[one]):
                domains[one] &= self._fits[text]
            for text in self._fits.keys() & set(known[one]) - texts:
                domains[one] &= ~self._fits[text]
        self._narrow(domains)
        return domains

    def agree(self, types: int, texts: Collection[str]) -> bool:
        """Whether all of these types match the same of these strata."""
        return all(types & self._fits[text] in (0, types) for text in texts)

    def _narrow(self, domains: dict[int, int]) -> None:
        """Take away what no unit leaves room for, until nothing more follows."""
        waiting = deque(range(len(self._units)))
        queued = set(waiting)
        while waiting:
            place = waiting.popleft()
            queued.discard(place)
            who, slots = self._units[place]
            free = tuple(
                sum(1 << slot for slot, kinds in enumerate(slots) if kinds & domains[one]) for one in who
            )
            for one, usable in zip(who, _usable(free), strict=True):
                left = 0
                for slot, kinds in enumerate(slots):
                    if usable >> slot & 1:
                        left |= kinds
                if domains[one] & left != domains[one]:
                    domains[one] &= left
                    more = [each for each in self.units_of[one] if each not in queued]
                    waiting += more
                    queued.update(more)


def _bits(number: int) -> list[int]:
    return [1 << place for place in range(number.bit_length()) if number >> place & 1]


@lru_cache(maxsize=100_000)
def _usable(free: tuple[int, ...]) -> tuple[int, ...]:
    """For each person those of their slots that leave one for everybody else. Slots are bits of a number."""
    return tuple(
        sum(
            slot
            for slot in _bits(mine)
            if None not in match([_bits(other & ~slot) for other in (*free[:at], *free[at + 1 :])])
        )
        for at, mine in enumerate(free)
    )


__all__ = ["Linkage", "Reserved", "linkage"]
