"""What is wrong with a study: where, and in words that do not say where. A study file names the key; the
pages on which a study is set up name the field (setup/views/checks.py). Pure: no Django.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NO_VALUE = object()
_NAMED = re.compile(r"%\((\w+)\)[sd]")


class Place(str):
    """A key of a study file, e.g. 'tasks[2].strata[1]', that the words of an error speak of."""

    __slots__ = ()


class StudyError(ValueError):
    """Something wrong with a study. str() says it in the terms of a study file.

    `what` says it with `details` filled in; `%(it)s` stands for the place, and in a file for its value too. A
    file puts the place before words without it. `cure`: what to write in a file. `on_page`: what pages say
    instead of `what`. What pages say is marked by `gettext_noop`, and they translate it.
    """

    def __init__(
        self,
        what: str,
        *,
        place: str = "",
        value: Any = _NO_VALUE,
        cure: str = "",
        on_page: str = "",
        **details: object,
    ) -> None:
        self.place = Place(place)
        self.value = value
        self.words = on_page or what
        self.details = details
        super().__init__(f"{self._in_a_file(what)} {cure}".rstrip())

    @property
    def has_value(self) -> bool:
        return self.value is not _NO_VALUE

    def _in_a_file(self, what: str) -> str:
        it = f"{self.place} = {shortened(repr(self.value))}" if self.has_value else self.place
        said = "".join(str(part) for part in parts(what, {"it": it, **self.details}))
        return f"{self.place}: {said}" if self.place and "%(it)s" not in what else said


def gettext_noop(text: str) -> str:
    """Mark words that pages show, so that the catalogues hold them (docs/translating.md)."""
    return text


def parts(words: str, details: Mapping[str, object]) -> Iterator[object]:
    """`words` piece by piece: the text between the names of details, and the details themselves.

    Examples
    --------
    >>> list(parts("%(a)s is 5 % of %(b)s.", {"a": 1, "b": Place("c.d")}))
    ['', 1, ' is 5 % of ', 'c.d', '.']
    """
    for number, piece in enumerate(_NAMED.split(words)):
        yield details.get(piece, f"%({piece})s") if number % 2 else piece


def shortened(text: str) -> str:
    """What somebody wrote, as a message quotes it."""
    return text if len(text) <= 80 else text[:77] + "..."


__all__ = ["Place", "StudyError", "gettext_noop", "parts", "shortened"]
