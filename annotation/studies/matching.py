"""Whether the people who are there can fill the slots of a unit. Pure: no Django (DESIGN §4).

A unit's slots need different people, each of a stratum they match. That can be done for all slots at once
exactly if every set of k slots has k people who match one of them (Hall's theorem), and a matching as large
as can be is found by augmenting paths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product
from math import prod

from annotation.core import strata

_OTHER_VALUE = "-"  # a value that no stratum names
_MAX_PROFILES = 20_000


def matching_people(texts: Sequence[str], profiles: Sequence[Mapping[str, str]]) -> list[list[int]]:
    """For each stratum, the numbers of the people who match it.

    Examples
    --------
    >>> people_for(["any", "origin: Asia"], [{"origin": "Asia"}, {}])
    [[0, 1], [0]]
    """
    parsed = {text: strata.parse(text) for text in set(texts)}
    matching = {
        text: [number for number, profile in enumerate(profiles) if stratum.matches(profile)]
        for text, stratum in parsed.items()
    }
    return [matching[text] for text in texts]


def match(candidates: Sequence[Sequence[int]]) -> list[int | None]:
    """Who fills each slot, one person at most one slot, as many slots as can be filled.

    `candidates`: for each slot the people who may fill it. None where nobody is left.

    Examples
    --------
    >>> match([[0, 1], [0]])
    [1, 0]
    >>> match([[0], [0]])
    [0, None]
    """
    # A slot with as many candidates as there are slots can always be filled, so more need not be looked at.
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


def most_units_for_one_person(wanted: Sequence[tuple[Sequence[str], int]]) -> int:
    """How many units one person can be given at most, whatever their profile. `wanted`: the strata of a
    unit's slots, and how many units have those.

    Every profile is tried that the strata tell apart. Where these are too many, it is the number of all
    units, which nobody can be given more of.

    Examples
    --------
    >>> most_for_one([(["origin: Europe"], 4), (["origin: Asia", "gender: not male"], 5)])
    9
    """
    parsed = [([strata.parse(text) for text in set(texts)], number) for texts, number in wanted]
    values: dict[str, set[str]] = {}
    for choices, _number in parsed:
        for clause in (clause for stratum in choices for clause in stratum.clauses):
            values.setdefault(clause.field, {_OTHER_VALUE}).update(clause.values)
    if prod(len(each) for each in values.values()) > _MAX_PROFILES:
        return sum(number for _texts, number in wanted)
    return max(
        sum(number for choices, number in parsed if any(stratum.matches(profile) for stratum in choices))
        for profile in (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
    )
