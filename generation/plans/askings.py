"""What a run asks a model."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Asking:
    """A prompt, perhaps about an image (its id), or a text or a pair of texts to classify.

    `key`: what it is for, at most 200 characters, unique in its run. `group_id`, `attribute_id`: whom and
    what it is about, if that is in the catalogue.
    """

    key: str
    prompt: str
    text_pair: str = ""
    group_id: int | None = None
    attribute_id: int | None = None
    image_id: int | None = None


class Askings(Protocol):
    """Any number of askings, in an order that stays the same. They may be made while they are read."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Asking]: ...
