"""The reference table of an image ranking: a CSV with a region a row and a group a column. Pure."""

from dataclasses import dataclass


class ReferenceRefused(ValueError):
    """What is wrong in a reference table. The message names the row and the column, and the cure."""


@dataclass(frozen=True)
class Reference:
    """`shares`: one row a region, one number a group, each 0 to 1."""

    regions: tuple[str, ...]
    groups: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


def read_reference(text: str) -> Reference:
    """Raises ReferenceRefused."""
    raise NotImplementedError
