"""The prompts that ask a language model for candidates (PROTOCOL §14; SeeGULL 3.1). Pure: no Django."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

MOST_PAIRS = 10
"""Most seed pairs in a prompt."""


class PromptVariant(StrEnum):
    """What a prompt shows of each pair, and where it ends (PROTOCOL §14)."""

    IDENTITY_ATTRIBUTE = "identity-attribute"
    ATTRIBUTE_IDENTITY = "attribute-identity"
    TARGET_IDENTITY = "target-identity"
    TARGET_ATTRIBUTE = "target-attribute"

    @property
    def attribute_first(self) -> bool:
        return self in (PromptVariant.ATTRIBUTE_IDENTITY, PromptVariant.TARGET_ATTRIBUTE)

    @property
    def has_target(self) -> bool:
        """Whether the prompt ends inside a further tuple, which the model completes."""
        return self in (PromptVariant.TARGET_IDENTITY, PromptVariant.TARGET_ATTRIBUTE)


@dataclass(frozen=True, slots=True)
class Seed:
    """A known pair, as it is written in prompts."""

    identity: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """`key`: the numbers of the seeds in their order in the prompt, from 1, such as '12-47'. The same seeds
    and settings always give the same key."""

    key: str
    text: str


class PromptsRefused(ValueError):
    """Settings that give no prompts. The message says what to do."""


@dataclass(frozen=True)
class Prompts:
    """All prompts of one variant: `n` of the seeds in each, every choice or a seeded sample of `sample` of
    them, each in both orders. Made as they are read, so that there may be millions.

    Both orders: the pairs of a choice as in the list of seeds, and reversed. For two pairs these are all
    orders; for more, the other permutations are not asked. One pair has one order.

    A target is the identity (or attribute) of one more seed, which the choice does not contain: one for each
    choice, drawn with `sample_seed`, and the same for both orders. So each variant has as many prompts.

    Raises PromptsRefused if the seeds are too few or the sample is larger than the number of choices.

    Examples
    --------
    >>> seeds = (Seed("Mexican", "lazy"), Seed("Italian", "mafia"))
    >>> [prompt.text for prompt in Prompts(seeds, PromptVariant.IDENTITY_ATTRIBUTE)]
    ['(Mexican, lazy), (Italian, mafia)', '(Italian, mafia), (Mexican, lazy)']
    """

    seeds: Sequence[Seed]
    variant: PromptVariant
    n: int = 2
    sample: int | None = None
    sample_seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MOST_PAIRS:
            raise PromptsRefused(f"n is {self.n}: a prompt shows 1 to {MOST_PAIRS} pairs.")
        needed = max(2, self.n + self.variant.has_target)
        if len(self.seeds) < needed:
            one_more = " and one more as the target" if self.variant.has_target else ""
            raise PromptsRefused(
                f"{len(self.seeds)} seed pairs: prompts of {self.n} pairs{one_more} need at least {needed}. "
                "Add pairs, or choose a smaller n."
            )
        if self.sample is not None and not 1 <= self.sample <= self.choices:
            raise PromptsRefused(
                f"The sample is {self.sample:,}: choose 1 to {self.choices:,}, the number of choices of "
                f"{self.n} of {len(self.seeds)} pairs."
            )

    @property
    def choices(self) -> int:
        """C(N, n): the number of choices without a sample."""
        return math.comb(len(self.seeds), self.n)

    @property
    def orders(self) -> int:
        return 1 if self.n == 1 else 2

    def __len__(self) -> int:
        return (self.choices if self.sample is None else self.sample) * self.orders

    def __iter__(self) -> Iterator[Prompt]:
        for choice in self._chosen():
            target = self._target(choice) if self.variant.has_target else None
            yield self._prompt(choice, target)
            if self.orders == 2:
                yield self._prompt(choice[::-1], target)

    def _chosen(self) -> Iterator[tuple[int, ...]]:
        if self.sample is None:
            yield from combinations(range(len(self.seeds)), self.n)
            return
        draw = random.Random(f"choices {self.sample_seed}")  # noqa: S311  # a sample, not a secret
        ranks: set[int] = set()
        if 2 * self.sample > self.choices:
            ranks.update(draw.sample(range(self.choices), self.sample))
        while len(ranks) < self.sample:
            ranks.add(draw.randrange(self.choices))
        for rank in sorted(ranks):
            yield combination_at(rank, size=len(self.seeds), n=self.n)

    def _target(self, choice: tuple[int, ...]) -> int:
        draw = random.Random(f"target {self.sample_seed} {choice}")  # noqa: S311
        place = draw.randrange(len(self.seeds) - len(choice))
        for taken in choice:  # ascending
            place += place >= taken
        return place

    def _prompt(self, choice: tuple[int, ...], target: int | None) -> Prompt:
        shown = []
        for place in choice:
            seed = self.seeds[place]
            first, second = seed.identity, seed.attribute
            if self.variant.attribute_first:
                first, second = second, first
            shown.append(f"({first}, {second})")
        places = list(choice)
        if target is not None:
            places.append(target)
            seed = self.seeds[target]
            shown.append(f"({seed.attribute if self.variant.attribute_first else seed.identity},")
        return Prompt("-".join(str(place + 1) for place in places), ", ".join(shown))


def combination_at(rank: int, *, size: int, n: int) -> tuple[int, ...]:
    """Number `rank` (from 0) of `itertools.combinations(range(size), n)`, without making those before it.

    Examples
    --------
    >>> combination_at(3, size=4, n=2)
    (1, 2)
    """
    chosen: list[int] = []
    first = 0
    for left in range(n, 0, -1):
        while (with_first := math.comb(size - first - 1, left - 1)) <= rank:
            rank -= with_first
            first += 1
        chosen.append(first)
        first += 1
    return tuple(chosen)
