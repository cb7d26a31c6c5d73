"""The content of the demonstration, read from annotation/demo/data/*.toml. Pure: no Django."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"
PICTURES_PER_GROUP = 5
ATTRIBUTES_PER_PAGE = 4
"""Besides 'none of the above', the fifth option (PROTOCOL §5)."""


@dataclass(frozen=True)
class Level:
    """How the images and answers of a group are simulated (simulation.toml).

    `drawn_*`: the number of cells (image, attribute) that are drawn. `false_*`: the probability that an
    annotator selects such an attribute where it is not drawn.
    """

    drawn_stereotypical: int
    drawn_random: int
    false_stereotypical: float
    false_random: float


@dataclass(frozen=True)
class Group:
    """`votes`: attribute -> in-region and out-region S, N, U counts; `offence`: attribute -> ratings."""

    name: str
    country: str
    region: str
    global_south: bool
    level: str
    votes: dict[str, list[int]]
    offence: dict[str, list[int]]

    def stereotypes(self, *, threshold: int) -> list[str]:
        """Attributes that at least `threshold` of the out-region annotators call stereotypical."""
        return sorted(attribute for attribute, counts in self.votes.items() if counts[3] >= threshold)


@dataclass(frozen=True)
class Scenario:
    source: dict[str, str]
    groups: tuple[Group, ...]
    attributes: dict[str, str]
    """attribute -> kind: object, cue or character."""
    levels: dict[str, Level]
    annotators: tuple[dict[str, str], ...]
    """Profile of each: field -> value."""
    hit: float
    jitter: float
    depiction_strata: tuple[str, ...]
    visual_strata: tuple[str, ...]
    visual_weights: dict[str, list[int]]
    reasons: tuple[str, ...]
    seed: int

    def visual(self) -> list[str]:
        """Attributes meant to be visual; a test checks that the simulated ratings agree."""
        return sorted(text for text, kind in self.attributes.items() if kind != "character")

    def expected_theta(self, level: str) -> float:
        """The planted stereotypical tendency: its value in the limit of infinitely many annotators."""
        planted = self.levels[level]
        stereotypical = self._likelihood(planted.drawn_stereotypical, planted.false_stereotypical)
        random = self._likelihood(planted.drawn_random, planted.false_random)
        return stereotypical / random if random else float("inf")

    def _likelihood(self, drawn: int, false: float) -> float:
        share = drawn / (PICTURES_PER_GROUP * ATTRIBUTES_PER_PAGE)
        return share * self.hit + (1 - share) * false


@cache
def load() -> Scenario:
    """The scenario as shipped."""
    catalogue, simulation = (
        tomllib.loads((DATA / name).read_text(encoding="utf-8"))
        for name in ("catalogue.toml", "simulation.toml")
    )
    rating, depiction = simulation["visual_nature"], simulation["depiction"]
    return Scenario(
        source=catalogue["source"],
        groups=tuple(Group(**entry) for entry in catalogue["group"]),
        attributes={text: kind for kind, texts in catalogue["attributes"].items() for text in texts},
        levels={name: Level(**values) for name, values in simulation["levels"].items()},
        annotators=tuple(simulation["annotator"]),
        hit=depiction["hit"],
        jitter=depiction["jitter"],
        depiction_strata=tuple(depiction["strata"]),
        visual_strata=tuple(rating["strata"]),
        visual_weights={kind: rating[kind] for kind in ("object", "cue", "character")},
        reasons=tuple(rating["reasons"]),
        seed=simulation["seed"],
    )
