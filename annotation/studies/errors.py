"""Errors about a study: the key of the study file they concern, and a message for files and one for pages.
Pure: no Django."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NO_VALUE = object()
_PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]")


class KeyPath(str):
    """A key of a study file, e.g. 'tasks[2].strata[1]'."""

    __slots__ = ()


class StudyError(ValueError):
    """Something wrong with a study. `str()` gives the message for a study file.

    `message` is formatted with `details`. Its placeholder `%(it)s` stands for the key, and in a file for the
    key and its value; a message without it is prefixed with the key. `fix` says what to write in a file.
    Pages show `page_message` instead of `message`. Messages that pages show are marked with `gettext_noop`,
    and the pages translate them.
    """

    def __init__(
        self,
        message: str,
        *,
        key: str = "",
        value: Any = _NO_VALUE,
        fix: str = "",
        page_message: str = "",
        **details: object,
    ) -> None:
        self.key = KeyPath(key)
        self.value = value
        self.page_message = page_message or message
        self.details = details
        super().__init__(f"{self._file_message(message)} {fix}".rstrip())

    @property
    def has_value(self) -> bool:
        return self.value is not _NO_VALUE

    def _file_message(self, message: str) -> str:
        it = f"{self.key} = {shortened(repr(self.value))}" if self.has_value else self.key
        text = "".join(str(piece) for piece in message_pieces(message, {"it": it, **self.details}))
        return f"{self.key}: {text}" if self.key and "%(it)s" not in message else text


class StudyFileError(StudyError):
    """A study file that cannot be used. The message gives the key, the value and what to write instead."""


class StudyRefused(StudyError):
    """A study that cannot be made, or a change of status that is not allowed. The message says what to do."""


def gettext_noop(text: str) -> str:
    """Mark a message that pages show, so that it is in the catalogues (docs/translating.md)."""
    return text


def message_pieces(message: str, details: Mapping[str, object]) -> Iterator[object]:
    """Split `message` at its placeholders: text and details in turn.

    Examples
    --------
    >>> list(message_pieces("%(a)s is 5 % of %(b)s.", {"a": 1, "b": KeyPath("c.d")}))
    ['', 1, ' is 5 % of ', 'c.d', '.']
    """
    for number, piece in enumerate(_PLACEHOLDER.split(message)):
        yield details.get(piece, f"%({piece})s") if number % 2 else piece


def shortened(text: str) -> str:
    """`text` cut to at most 80 characters, to quote it in a message."""
    return text if len(text) <= 80 else text[:77] + "..."
