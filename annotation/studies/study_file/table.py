"""A table of a study file, read and checked key by key. Pure: no Django."""

from __future__ import annotations

import difflib
import re
from typing import Any

from annotation.core.text_order import reordering_character
from annotation.core.translation import LANGUAGE
from annotation.studies.errors import StudyFileError
from annotation.studies.errors import gettext_noop as _

HIGHEST_COUNT = 32_767
"""Limit for small counts: votes, minutes, answers."""
LARGEST_NUMBER = 2**31 - 1
"""Limit for large counts: items, images."""
LARGEST_SEED = 2**63 - 1


class Table:
    """A TOML table. `path`: its key in the file; empty for the whole file."""

    def __init__(self, values: dict[str, Any], *, path: str) -> None:
        self._values = values
        self._path = path
        self._read_keys: set[str] = set()
        self._tables: list[Table] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def path_of(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def raw(self, key: str, default: Any = None) -> Any:
        self._read_keys.add(key)
        return self._values.get(key, default)

    def text(self, key: str, *, required: bool = False, default: str = "", longest: int = 0) -> str:
        value = self.raw(key, default)
        if not isinstance(value, str):
            raise self.error(key, value, _("%(it)s is not text."), fix="Put it in quotation marks.")
        self._refuse_nul(key, [value])
        value = value.strip()
        if required and not value:
            raise self.missing(key, fix=f'Add it, e.g. {key} = "...".')
        if longest and len(value) > longest:
            raise self.error(
                key, value, _("%(it)s is longer than %(most)s characters. Shorten it."), most=longest
            )
        return value

    def title(self, key: str, *, required: bool = False, longest: int) -> str:
        """A text that stands within others on pages, so that it must not turn them around."""
        text = self.text(key, required=required, longest=longest)
        if code := reordering_character(text):
            raise StudyFileError(
                _(
                    "there is an invisible character that turns text around (%(code)s). Delete the text and "
                    "type it anew."
                ),
                key=self.path_of(key),
                code=code,
            )
        return text

    def prose(self, key: str, *, required: bool = False) -> str:
        """A text of paragraphs separated by empty lines. Wrapped lines of a paragraph are joined; list items
        keep their own line."""
        text = self.text(key, required=required).replace("\r\n", "\n")
        return re.sub(r"(?<!\n)\n(?!\n|[-*•]|\d+[.)])[ \t]*", " ", text)

    def integer(self, key: str, *, default: int, least: int, most: int = HIGHEST_COUNT) -> int:
        value = self.raw(key, default)
        if not _is_between(value, least, most) or not isinstance(value, int):
            raise self.error(
                key,
                value,
                _("%(it)s is not a whole number from %(least)s to %(most)s."),
                least=least,
                most=most,
            )
        return value

    def optional_integer(self, key: str, *, least: int, most: int = HIGHEST_COUNT) -> int | None:
        """None if the key is left out."""
        self._read_keys.add(key)
        return self.integer(key, default=least, least=least, most=most) if key in self else None

    def fraction(self, key: str, *, default: float | None, most: float = 1) -> float | None:
        value = self.raw(key, default)
        if value is None:
            return None
        if not _is_between(value, 0, most):
            raise self.error(
                key,
                value,
                f"%(it)s is not a number from 0 to {most}.",
                page_message=_("Write a number from 0 to %(percent)s."),
                percent=f"{most * 100:g}",
            )
        return float(value)

    def optional_decimal(self, key: str, *, least: float, most: float) -> float | None:
        """A number with at most two decimals, so that every page can show it in full."""
        value = self.raw(key)
        if value is None:
            return None
        if not _is_between(value, least, most):
            raise self.error(
                key,
                value,
                _("%(it)s is not a number from %(least)s to %(most)s."),
                least=f"{least:g}",
                most=f"{most:g}",
            )
        if round(value, 2) != value:
            raise self.error(key, value, _("%(it)s has more than two decimal places. Round it."))
        return float(value)

    def boolean(self, key: str, *, default: bool) -> bool:
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.error(
                key,
                value,
                "%(it)s is neither true nor false.",
                page_message=_("%(it)s is neither yes nor no. Choose again."),
            )
        return value

    def text_list(self, key: str) -> tuple[str, ...]:
        value = self.raw(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise self.error(
                key, value, _("%(it)s is not a list of texts."), fix=f'Write {key} = ["...", "..."].'
            )
        self._refuse_nul(key, value)
        return tuple(" ".join(item.split()) for item in value)

    def table(self, key: str, *, required: bool = False) -> Table:
        value = self.raw(key, {})
        if not isinstance(value, dict) or (required and not value):
            raise self.missing(key, "the table [%(it)s] is missing.", fix="Add it; see docs/studies.md.")
        return self._inner(value, self.path_of(key))

    def tables(self, key: str) -> list[Table]:
        value = self.raw(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(
                key,
                value,
                "%(it)s is not a list of tables.",
                fix=f"Write [[{self.path_of(key)}]].",
                page_message=_("This cannot be read. Fill it in again."),
            )
        return [self._inner(item, f"{self.path_of(key)}[{number}]") for number, item in enumerate(value, 1)]

    def _inner(self, values: dict[str, Any], path: str) -> Table:
        self._tables.append(Table(values, path=path))
        return self._tables[-1]

    def by_language(self) -> list[tuple[str, Table]]:
        """The sub-tables by language, e.g. [consent.es]."""
        found = []
        for key, value in self._values.items():
            if not isinstance(value, dict):
                continue
            if len(key) > 10 or not re.fullmatch(r"[a-z]{2,3}(-[a-z0-9]+)*", key):
                raise StudyFileError(
                    "'%(it)s' is not a language code. Write e.g. 'es' or 'pt-br'.",
                    key=self.path_of(key),
                    page_message=_("'%(code)s' is not a language code."),
                    code=key,
                )
            if key == LANGUAGE:
                raise StudyFileError(
                    f"'%(it)s': the texts without a language are the English ones ('{LANGUAGE}'). "
                    "Write the text there.",
                    key=self.path_of(key),
                    page_message=_("There are two texts in English. Keep one of them."),
                )
            found.append((key, self.table(key)))
        return found

    def reject_unknown_keys(self) -> None:
        """Raise StudyFileError for the first key that was never read, here or in the tables read from it."""
        for table in self._tables:
            table.reject_unknown_keys()
        for key in self._values:
            if key not in self._read_keys:
                near = difflib.get_close_matches(key, self._read_keys, n=1)
                hint = (
                    f"Did you mean '{near[0]}'?"
                    if near
                    else f"There are: {', '.join(sorted(self._read_keys))}."
                )
                raise StudyFileError(
                    f"there is no key '%(it)s'. {hint}",
                    key=self.path_of(key),
                    page_message=_("'%(name)s' is unknown here. Remove it."),
                    name=key,
                )

    def error(
        self, key: str, value: Any, what: str, *, fix: str = "", page_message: str = "", **details: object
    ) -> StudyFileError:
        return StudyFileError(
            what, key=self.path_of(key), value=value, fix=fix, page_message=page_message, **details
        )

    def missing(
        self,
        key: str,
        what: str = "%(it)s is missing.",
        *,
        fix: str,
        page_message: str = _("Add %(it)s."),
        **details: object,
    ) -> StudyFileError:
        return StudyFileError(what, key=self.path_of(key), fix=fix, page_message=page_message, **details)

    def _refuse_nul(self, key: str, values: list[str]) -> None:
        for value in values:
            if "\0" in value:
                raise self.error(
                    key,
                    value,
                    _("%(it)s contains the NUL character (\\u0000), which cannot be stored. Remove it."),
                )


def _is_between(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
