"""Which attributes are shown with each image, and which of them are drawn. Pure: no Django."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.demo.picture import fits
from annotation.demo.scenario import ATTRIBUTES_PER_PAGE, PICTURES_PER_GROUP, Group, Scenario

THRESHOLD = 2
_TRIES = 2000


@dataclass(frozen=True)
class PicturePlan:
    """One image of a group. `pages`: the attributes of each page, in their recorded order."""

    index: int
    drawn: frozenset[str]
    pages: tuple[tuple[str, ...], ...]
    seed: int


@dataclass(frozen=True)
class GroupPlan:
    """`stereotypical` is S(id) and `random` is R(id) of PROTOCOL §5: the same number, not associated with
    id."""

    group: str
    region: str
    stereotypical: tuple[str, ...]
    random: tuple[str, ...]
    pictures: tuple[PicturePlan, ...]


def make(scenario: Scenario) -> tuple[GroupPlan, ...]:
    """The plan of every group; the same scenario gives the same plan."""
    return tuple(_plan_group(scenario, group) for group in scenario.groups)


def _plan_group(scenario: Scenario, group: Group) -> GroupPlan:
    # A string seed: the draws of a group do not depend on the groups before it in the file.
    rng = random.Random(f"{scenario.seed}:{group.name}")  # noqa: S311 - a draw of a study, not a secret
    visual = scenario.visual()
    stereotypical = [text for text in group.stereotypes(threshold=THRESHOLD) if text in visual]
    others = [text for text in visual if text not in group.votes]
    randoms = rng.sample(others, len(stereotypical))
    level = scenario.levels[group.level]
    drawn = _choose_images(
        rng,
        counts={
            **_spread(stereotypical, level.drawn_stereotypical, rng),
            **_spread(randoms, level.drawn_random, rng),
        },
        name=group.name,
    )
    pictures = []
    for index, chosen in enumerate(drawn, start=1):
        shown = [*stereotypical, *randoms]
        rng.shuffle(shown)
        pages = tuple(
            tuple(shown[start : start + ATTRIBUTES_PER_PAGE])
            for start in range(0, len(shown), ATTRIBUTES_PER_PAGE)
        )
        pictures.append(PicturePlan(index=index, drawn=chosen, pages=pages, seed=rng.randrange(2**31)))
    return GroupPlan(
        group=group.name,
        region=group.region,
        stereotypical=tuple(stereotypical),
        random=tuple(randoms),
        pictures=tuple(pictures),
    )


def _spread(attributes: Sequence[str], total: int, rng: random.Random) -> dict[str, int]:
    """The number of images in which each attribute is drawn: `total`, spread as evenly as possible."""
    order = rng.sample(list(attributes), len(attributes))
    each, left = divmod(total, len(order))
    return {text: each + (place < left) for place, text in enumerate(order)}


def _choose_images(rng: random.Random, *, counts: dict[str, int], name: str) -> list[frozenset[str]]:
    """Choose the images of each attribute so that the attributes of every image fit together."""
    for _ in range(_TRIES):
        pictures: list[set[str]] = [set() for _ in range(PICTURES_PER_GROUP)]
        for attribute in sorted(counts, key=lambda text: -counts[text]):
            room = [picture for picture in pictures if fits({*picture, attribute})]
            if len(room) < counts[attribute]:
                break
            for picture in rng.sample(room, counts[attribute]):
                picture.add(attribute)
        else:
            return [frozenset(picture) for picture in pictures]
    raise ValueError(
        f"The images of {name!r} cannot show {sum(counts.values())} drawn attributes. "
        "Lower drawn_stereotypical or drawn_random of its level in annotation/demo/data/simulation.toml."
    )
