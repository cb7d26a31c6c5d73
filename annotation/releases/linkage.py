"""What readers can infer about people from who judged the same unit, even if strata are withheld. Pure.

If each unit has one annotator of each origin, two people of the same origin never share a unit. Colouring the
graph of who judged with whom then reveals the origins, except for their names. In general, strata are a
constraint problem of the same kind. It is solved here as a reader of the release could: by elimination.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from annotation.core import strata
from annotation.studies.matching import match

JudgedUnit = tuple[tuple[int, ...], tuple[str, ...]]
"""The people who judged a unit, and the strata of all its slots."""


@dataclass(frozen=True)
class Linkage:
    """`hidden`: how many people judged units with strata that are not all published for them. `found`: for
    how many of these people, at least, the strata can be inferred. `determined`: whether they can be inferred
    for all people of some design, so that only the names of the groups remain unknown."""

    hidden: int = 0
    found: int = 0
    determined: bool = False


def linkage(
    judged: Iterable[JudgedUnit],
    matched: Mapping[int, frozenset[str]],
    published: Mapping[int, frozenset[str]],
) -> Linkage:
    """What a reader can infer who knows the study's strata and who judged which unit.

    `matched`: the strata that each person matches; `published`: the strata of which the release says whether
    the person matches them. A design is a set of strata that units have. For each design the strata of one
    unit's people are assumed to be known, which names the groups. The result is a lower bound: it eliminates
    impossible types but does not search.
    """
    units = sorted({_sorted(unit) for unit in judged if any(text != strata.ANY for text in unit[1])})
    constraints = _Constraints(units, {one: matched[one] for people, _ in units for one in people})
    designs: dict[tuple[str, ...], list[tuple[int, ...]]] = defaultdict(list)
    for people, slots in units:
        designs[slots].append(people)
    hidden: set[int] = set()
    found: set[int] = set()
    determined = False
    nothing: frozenset[str] = frozenset()
    for design, of_design in designs.items():
        texts = frozenset(design) - {strata.ANY}
        withheld = {one for people in of_design for one in people if not texts <= published.get(one, nothing)}
        first = max(of_design, key=lambda people: sum(len(constraints.units_of[one]) for one in people))
        assumed = dict.fromkeys(first, texts)
        domains = constraints.solve(
            {one: published.get(one, nothing) | assumed.get(one, nothing) for one in constraints.units_of}
        )
        inferred = {one for one in withheld if constraints.agree(domains[one], texts)}
        hidden |= withheld
        if inferred - set(first) or inferred == withheld:
            # Otherwise nothing follows beyond what was assumed about one unit
            found |= inferred
        determined |= bool(withheld) and inferred == withheld
    return Linkage(len(hidden), len(found), determined)


def _sorted(unit: JudgedUnit) -> JudgedUnit:
    people, texts = unit
    return tuple(sorted(people)), tuple(sorted(texts))


class _Constraints:
    """Which types each person can have. A type is a set of strata that somebody matches; a set of types is an
    integer with one bit per type. In each unit every person needs a slot of their own."""

    def __init__(self, units: Sequence[JudgedUnit], matched: Mapping[int, frozenset[str]]) -> None:
        types = sorted(set(matched.values()), key=sorted)
        self._all = (1 << len(types)) - 1
        self._matched = matched
        self._fits = {
            text: sum(1 << place for place, texts in enumerate(types) if text in texts)
            for text in {text for _, slots in units for text in slots}
        }
        self._fits[strata.ANY] = self._all
        self._units = [(people, tuple(self._fits[text] for text in slots)) for people, slots in units]
        self.units_of: dict[int, list[int]] = defaultdict(list)
        for place, (people, _) in enumerate(self._units):
            for one in people:
                self.units_of[one].append(place)

    def solve(self, known: Mapping[int, Collection[str]]) -> dict[int, int]:
        """The possible types of each person. `known`: strata of which it is known whether the person matches
        them."""
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
        """Whether all of these types match the same ones of these strata."""
        return all(types & self._fits[text] in (0, types) for text in texts)

    def _narrow(self, domains: dict[int, int]) -> None:
        """Remove the types that some unit rules out, until nothing changes."""
        waiting = deque(range(len(self._units)))
        queued = set(waiting)
        while waiting:
            place = waiting.popleft()
            queued.discard(place)
            people, slots = self._units[place]
            free = tuple(
                sum(1 << slot for slot, kinds in enumerate(slots) if kinds & domains[one]) for one in people
            )
            for one, usable in zip(people, _usable(free), strict=True):
                possible = 0
                for slot, kinds in enumerate(slots):
                    if usable >> slot & 1:
                        possible |= kinds
                if domains[one] & possible != domains[one]:
                    domains[one] &= possible
                    affected = [each for each in self.units_of[one] if each not in queued]
                    waiting += affected
                    queued.update(affected)


def _bits(number: int) -> list[int]:
    return [1 << place for place in range(number.bit_length()) if number >> place & 1]


@lru_cache(maxsize=100_000)
def _usable(free: tuple[int, ...]) -> tuple[int, ...]:
    """For each person, the slots that still leave one for everybody else. Slots are bits of an integer."""
    return tuple(
        sum(
            slot
            for slot in _bits(mine)
            if None not in match([_bits(other & ~slot) for other in (*free[:at], *free[at + 1 :])])
        )
        for at, mine in enumerate(free)
    )
