"""Matching people to the slots of a unit. Pure: no Django (DESIGN §4).

Each slot of a unit needs a different person who matches its stratum. All slots can be filled exactly if every
set of k slots has k people who match one of them (Hall's theorem). Augmenting paths find a maximum matching.
"""

from collections.abc import Mapping, Sequence
from itertools import islice, product
from math import prod

from annotation.core import strata

_OTHER_VALUE = "-"  # stands for every value that no stratum names
_MAX_PROFILES = 20_000


def matching_people(texts: Sequence[str], profiles: Sequence[Mapping[str, str]]) -> list[list[int]]:
    """The indices of the matching profiles, for each stratum.

    Examples
    --------
    >>> matching_people(["any", "origin: Asia"], [{"origin": "Asia"}, {}])
    [[0, 1], [0]]
    """
    parsed = {text: strata.parse(text) for text in set(texts)}
    matching = {
        text: [number for number, profile in enumerate(profiles) if stratum.matches(profile)]
        for text, stratum in parsed.items()
    }
    return [matching[text] for text in texts]


def match(candidates: Sequence[Sequence[int]]) -> list[int | None]:
    """A maximum matching: the person who fills each slot, or None. Each person fills one slot at most.

    `candidates`: for each slot, the indices of the people who may fill it.

    Examples
    --------
    >>> match([[0, 1], [0]])
    [1, 0]
    >>> match([[0], [0]])
    [0, None]
    """
    # As many candidates as there are slots are enough: such a slot can always be filled.
    choices = [list(islice(each, len(candidates))) for each in candidates]
    slot_of: dict[int, int] = {}

    def place(slot: int, tried: set[int]) -> bool:
        for person in choices[slot]:
            if person in tried:
                continue
            tried.add(person)
            if person not in slot_of or place(slot_of[person], tried):
                slot_of[person] = slot
                return True
        return False

    for slot in range(len(choices)):
        place(slot, set())
    filled: list[int | None] = [None] * len(choices)
    for person, slot in slot_of.items():
        filled[slot] = person
    return filled


def most_units_for_one_person(units: Sequence[tuple[Sequence[str], int]]) -> int:
    """The largest number of units that one person can be given, over all profiles.

    `units`: (the strata of a unit's slots, number of such units). Tries every profile that the strata
    distinguish. If there are too many of them, it returns the number of all units as an upper bound.

    Examples
    --------
    >>> most_units_for_one_person([(["origin: Europe"], 4), (["origin: Asia", "gender: not male"], 5)])
    9
    """
    parsed = [([strata.parse(text) for text in set(texts)], number) for texts, number in units]
    values: dict[str, set[str]] = {}
    for choices, _number in parsed:
        for clause in (clause for stratum in choices for clause in stratum.clauses):
            values.setdefault(clause.field, {_OTHER_VALUE}).update(clause.values)
    if prod(len(each) for each in values.values()) > _MAX_PROFILES:
        return sum(number for _texts, number in units)
    return max(
        sum(number for choices, number in parsed if any(stratum.matches(profile) for stratum in choices))
        for profile in (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
    )
