"""Which attributes are shown with whose pictures, and which of them are really drawn. Pure: no Django."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.demo.picture import fits
from annotation.demo.scenario import ATTRIBUTES_PER_PAGE, PICTURES_PER_GROUP, Group, Scenario

THRESHOLD = 2
_TRIES = 2000


@dataclass(frozen=True)
class PicturePlan:
    """One picture of a group. `pages`: the attributes shown, page by page, in their recorded order."""

    index: int
    drawn: frozenset[str]
    pages: tuple[tuple[str, ...], ...]
    seed: int


@dataclass(frozen=True)
class GroupPlan:
    """`stereotypical` is S(id), `random` R(id) of PROTOCOL §5: as many, associated with `id` nowhere."""

    group: str
    stereotypical: tuple[str, ...]
    random: tuple[str, ...]
    pictures: tuple[PicturePlan, ...]


def make(scenario: Scenario) -> tuple[GroupPlan, ...]:
    """The plan of every group; the same scenario gives the same plan."""
    return tuple(_plan_group(scenario, group) for group in scenario.groups)


def _plan_group(scenario: Scenario, group: Group) -> GroupPlan:
    # A string seed: each group has its own draws, whatever comes before it in the file.
    rng = random.Random(f"{scenario.seed}:{group.name}")  # noqa: S311 - a draw of a study, not a secret
    visual = scenario.visual()
    stereotypical = [text for text in group.stereotypes(threshold=THRESHOLD) if text in visual]
    others = [text for text in visual if text not in group.votes]
    randoms = rng.sample(others, len(stereotypical))
    level = scenario.levels[group.level]
    drawn = _draw_cells(
        rng,
        wanted={
            **_cells(stereotypical, level.drawn_stereotypical, rng),
            **_cells(randoms, level.drawn_random, rng),
        },
        name=group.name,
    )
    pictures = []
    for index in range(1, PICTURES_PER_GROUP + 1):
        shown = [*stereotypical, *randoms]
        rng.shuffle(shown)
        pages = tuple(
            tuple(shown[start : start + ATTRIBUTES_PER_PAGE])
            for start in range(0, len(shown), ATTRIBUTES_PER_PAGE)
        )
        pictures.append(
            PicturePlan(index=index, drawn=drawn[index - 1], pages=pages, seed=rng.randrange(2**31))
        )
    return GroupPlan(
        group=group.name,
        stereotypical=tuple(stereotypical),
        random=tuple(randoms),
        pictures=tuple(pictures),
    )


def _cells(attributes: Sequence[str], total: int, rng: random.Random) -> dict[str, int]:
    """In how many pictures each attribute is drawn: `total` spread as evenly as it goes."""
    order = rng.sample(list(attributes), len(attributes))
    each, left = divmod(total, len(order))
    return {text: each + (place < left) for place, text in enumerate(order)}


def _draw_cells(rng: random.Random, *, wanted: dict[str, int], name: str) -> list[frozenset[str]]:
    """Choose the pictures of each attribute so that what meets in a picture can be seen together."""
    for _ in range(_TRIES):
        pictures: list[set[str]] = [set() for _ in range(PICTURES_PER_GROUP)]
        for attribute in sorted(wanted, key=lambda text: -wanted[text]):
            room = [picture for picture in pictures if fits({*picture, attribute})]
            if len(room) < wanted[attribute]:
                break
            for picture in rng.sample(room, wanted[attribute]):
                picture.add(attribute)
        else:
            return [frozenset(picture) for picture in pictures]
    raise ValueError(
        f"The pictures of {name!r} cannot hold {sum(wanted.values())} drawings. "
        "Lower drawn_stereotypical or drawn_random of its level in annotation/demo/data/simulation.toml."
    )
