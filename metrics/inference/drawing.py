"""Draw the attribute that stands for each identity group (PROTOCOL §15). Pure: no Django.

A draw is the attribute with the smallest SHA-256 of seed, group and attribute. Each attribute is equally
likely, and a group's draw depends on the seed, its name and its own attributes only: not on other groups, on
ids, on the order of rows or on the version of a library.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

RANDOM = "random"
"""The source of the baseline: pairs of a group with an attribute that is not associated with it."""


@dataclass(frozen=True, slots=True, order=True)
class GroupName:
    """An identity group: names are unique within an axis only."""

    axis: str
    name: str


def draw(seed: int, group: GroupName, attributes: Collection[str], *, purpose: str = "") -> str | None:
    """One of `attributes`; None if there is none. Draws for two purposes are independent.

    Examples
    --------
    >>> mexican = GroupName("nationality", "Mexican")
    >>> draw(0, mexican, ["rude", "kind"]) == draw(0, mexican, {"kind", "rude"})
    True
    """
    return min(attributes, key=lambda text: _rank(seed, group, text, purpose), default=None)


def draw_stereotypes(stereotypes: Mapping[GroupName, Collection[str]], *, seed: int) -> dict[GroupName, str]:
    """One of its `stereotypes` for each group that has any."""
    drawn = {group: draw(seed, group, texts) for group, texts in stereotypes.items()}
    return {group: text for group, text in drawn.items() if text is not None}


def draw_random(
    stereotypes: Mapping[GroupName, Collection[str]],
    associated: Mapping[GroupName, Collection[str]],
    *,
    seed: int,
) -> dict[GroupName, str]:
    """For each group with a stereotype, one attribute that is a stereotype of others and in no way associated
    with the group, whatever the votes. A group without such an attribute is left out."""
    pool = sorted({text for texts in stereotypes.values() for text in texts})
    found = {}
    for group, texts in stereotypes.items():
        own = {*texts, *associated.get(group, ())}
        text = (
            draw(seed, group, [each for each in pool if each not in own], purpose=RANDOM) if texts else None
        )
        if text is not None:
            found[group] = text
    return found


def _rank(seed: int, group: GroupName, attribute: str, purpose: str) -> tuple[bytes, str]:
    named = "\n".join((str(seed), purpose, group.axis, group.name, attribute))
    return hashlib.sha256(named.encode()).digest(), attribute
