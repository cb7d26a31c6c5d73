"""Choosing the language in which a study's texts are shown (docs/translating.md). Pure: no Django."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LANGUAGE = "en"
"""The language of texts outside `translations`."""

Translations = Mapping[str, Mapping[str, Any]]
"""Language -> field, e.g. "title" -> its text in that language."""


@dataclass(frozen=True)
class LocalizedText:
    """A text and the language it is written in."""

    text: str
    language: str

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


def language_fallbacks(language: str) -> tuple[str, str]:
    """The languages to try for a reader of `language`, best first: 'pt-br', then 'pt'."""
    return language, language.partition("-")[0]


def translation(translations: Translations, field: str, language: str) -> tuple[Any, str] | None:
    """A field for readers of `language`, with the language found; None if there is no translation."""
    for name in language_fallbacks(language):
        if text := translations.get(name, {}).get(field):
            return text, name
    return None


def translated_field(row: Any, field: str, language: str) -> tuple[Any, str]:
    """A field of a study or a task for readers of `language`, or its original, with the language found."""
    return translation(row.translations, field, language) or (getattr(row, field), LANGUAGE)


def translated_text(row: Any, field: str, language: str) -> LocalizedText:
    """Like `translated_field`, for a text."""
    return LocalizedText(*translated_field(row, field, language))
