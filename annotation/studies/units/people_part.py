"""The random part of what a task shows that people judge, where machine judges answer all of it (PROTOCOL
§16). Pure: no Django."""

import random
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeVar

Key = TypeVar("Key", int, str)


def draw_people_part(
    stimuli: Iterable[tuple[str, Key]], *, share: float | None, seed: int
) -> frozenset[Key] | None:
    """The keys of the stimuli that people judge; None if they judge all (`share` None).

    `stimuli`: the name of the identity group of each stimulus ('' if the task has no groups), and its key. A
    stimulus is an image with all its pages, an association or an attribute. The stimuli of a group must come
    in an order that is the same in every database. Of each group round(share x number) are drawn without
    replacement, at least one. Each group has its own generator, so adding a group does not change the draws
    of the others.

    >>> sorted(draw_people_part([("a", n) for n in range(10)], share=0.3, seed=1))
    [1, 3, 4]
    """
    if share is None:
        return None
    by_group: defaultdict[str, list[Key]] = defaultdict(list)
    for group, key in stimuli:
        by_group[group].append(key)
    return frozenset(
        key
        for group, keys in by_group.items()
        for key in random.Random(f"{seed}/people/{group}").sample(  # noqa: S311 - a draw to be repeated
            keys, max(1, round(share * len(keys)))
        )
    )
