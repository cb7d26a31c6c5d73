"""The content of the demonstration, read from annotation/demo/data/*.toml. Pure: no Django."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

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
    votes: dict[str, tuple[int, int, int, int, int, int]]
    offence: dict[str, tuple[int, ...]]

    def stereotypes(self, *, threshold: int) -> list[str]:
        """Attributes that at least `threshold` of the out-region annotators call stereotypical."""
        return sorted(attribute for attribute, counts in self.votes.items() if counts[3] >= threshold)


@dataclass(frozen=True)
class SimulatedAnnotator:
    origin: str
    gender: str
    age_band: str


@dataclass(frozen=True)
class Scenario:
    source: dict[str, str]
    groups: tuple[Group, ...]
    attributes: dict[str, str]
    """attribute -> kind: object, cue or character."""
    levels: dict[str, Level]
    annotators: tuple[SimulatedAnnotator, ...]
    hit: float
    jitter: float
    depiction_strata: tuple[str, ...]
    visual_strata: tuple[str, ...]
    visual_weights: dict[str, tuple[int, ...]]
    reasons: tuple[str, ...]
    seed: int

    def visual(self) -> list[str]:
        """Attributes meant to be visual; a test checks that the simulated ratings agree."""
        return sorted(text for text, kind in self.attributes.items() if kind != "character")

    def with_levels(self, **levels: Level) -> Scenario:
        """The same scenario with other levels of bias, for experiments."""
        return replace(self, levels={**self.levels, **levels})

    def only(self, *groups: str) -> Scenario:
        """The same scenario with some of its groups, for experiments."""
        return replace(self, groups=tuple(group for group in self.groups if group.name in groups))

    def expected_theta(self, level: str) -> float:
        """The planted stereotypical tendency: its value in the limit of infinitely many annotators."""
        planted = self.levels[level]
        cells = PICTURES_PER_GROUP * ATTRIBUTES_PER_PAGE
        stereotypical = _likelihood(
            planted.drawn_stereotypical / cells, self.hit, planted.false_stereotypical
        )
        random = _likelihood(planted.drawn_random / cells, self.hit, planted.false_random)
        return stereotypical / random if random else float("inf")


def _likelihood(drawn: float, hit: float, false: float) -> float:
    return drawn * hit + (1 - drawn) * false


@cache
def load() -> Scenario:
    """The scenario as shipped."""
    catalogue = _read("catalogue.toml")
    simulation = _read("simulation.toml")
    rating = simulation["visual_nature"]
    return Scenario(
        source=catalogue["source"],
        groups=tuple(_group(entry) for entry in catalogue["group"]),
        attributes={text: kind for kind, texts in catalogue["attributes"].items() for text in texts},
        levels={name: Level(**values) for name, values in simulation["levels"].items()},
        annotators=tuple(SimulatedAnnotator(**entry) for entry in simulation["annotator"]),
        hit=simulation["depiction"]["hit"],
        jitter=simulation["depiction"]["jitter"],
        depiction_strata=tuple(simulation["depiction"]["strata"]),
        visual_strata=tuple(rating["strata"]),
        visual_weights={kind: tuple(rating[kind]) for kind in ("object", "cue", "character")},
        reasons=tuple(rating["reasons"]),
        seed=simulation["seed"],
    )


def _group(entry: dict[str, Any]) -> Group:
    votes = {attribute: tuple(counts) for attribute, counts in entry["votes"].items()}
    offence = {attribute: tuple(ratings) for attribute, ratings in entry["offence"].items()}
    return Group(**{**entry, "votes": votes, "offence": offence})


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))
