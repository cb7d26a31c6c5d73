"""In which language a text is shown, of those it is written in: the one rule for everything that studies say
(docs/translating.md). Pure: no Django.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

LANGUAGE = "en"
"""The language of the texts that stand under no language of their own."""

Translations = Mapping[str, Mapping[str, Any]]
"""Language -> part, e.g. "title" -> what it says in that language."""


class Translated(Protocol):
    """What says its parts in English, as attributes, and in other languages."""

    @property
    def translations(self) -> Translations: ...


@dataclass(frozen=True)
class Told:
    """A text, and the language that it is written in."""

    text: str
    language: str

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


def looked_for(language: str) -> tuple[str, str]:
    """The languages in which a reader of `language` is given a text, the better one first: their own, and
    what that is a variety of. Else it is as it was written.

    Examples
    --------
    >>> looked_for("pt-br")
    ('pt-br', 'pt')
    """
    return language, language.partition("-")[0]


def translation(translations: Translations, part: str, language: str) -> tuple[Any, str] | None:
    """A part for readers of `language`, and in which language that is; None if it is in none of theirs."""
    for name in looked_for(language):
        if said := translations.get(name, {}).get(part):
            return said, name
    return None


def part_of(row: Translated, part: str, language: str) -> tuple[Any, str]:
    """A part of a study or a task for readers of `language`, else as it was written; and in which language
    that is."""
    return translation(row.translations, part, language) or (getattr(row, part), LANGUAGE)


def text_of(row: Translated, part: str, language: str) -> Told:
    """As `part_of`, of a text."""
    return Told(*part_of(row, part, language))


__all__ = ["Told", "Translated", "Translations", "looked_for", "part_of", "text_of", "translation"]
