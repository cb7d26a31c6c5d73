"""The ways to write an identity, and the group that each names (PROTOCOL §14). Pure: no Django."""

import csv
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

SEVERAL = -1
"""What a form that names several groups is mapped to."""


@dataclass(frozen=True, slots=True)
class Group:
    """An identity group as the catalogue has it."""

    pk: int
    axis: str
    name: str
    demonym: str
    country: str
    region: str


class IdentityForms:
    """Finds the group that a text names, whatever its case, accents and hyphens, with or without 'the'.

    A form is a group's name or demonym (an adjective mostly), a noun of the table identity_forms.csv, a
    plural of one of these, or the name of the country or state. Where groups share a form, the one whose name
    it is comes first, then the demonym or noun, then the plural, and then the country: 'British' is the
    British, and not the English whose country is the United Kingdom. A form that several groups share at its
    first place ('Nepal': Nepalese and Nepali) names none of them: it is SEVERAL.
    """

    def __init__(self, groups: Iterable[Group]) -> None:
        self.groups = {group.pk: group for group in groups}
        self._found: dict[str, int] = {}
        for forms_of in (_names, _demonyms, _plurals, _countries):
            found: dict[str, set[int]] = {}
            for group in self.groups.values():
                for form in forms_of(group):
                    found.setdefault(_key(form), set()).add(group.pk)
            for key, pks in found.items():
                if key:
                    self._found.setdefault(key, pks.pop() if len(pks) == 1 else SEVERAL)

        # 'the' may come first
        self._most_breaks = 1 + max((key.count(" ") for key in self._found), default=0)

    def find(self, text: str) -> int | None:
        """The id of the group that `text` names, SEVERAL, or None."""
        if text.isascii() and text.isalpha():
            return self._found.get(text.lower())  # most texts, and several times as fast
        return self._found.get(_key(text)) if text.count(" ") + text.count("-") <= self._most_breaks else None


def _key(text: str) -> str:
    plain = text.lower()
    if not plain.isascii():
        decomposed = unicodedata.normalize("NFKD", plain)
        plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    words = "".join(letter if letter.isalpha() else " " if letter in " -" else "" for letter in plain).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] == "the" else words)


def _names(group: Group) -> Iterator[str]:
    yield group.name


def _demonyms(group: Group) -> Iterator[str]:
    yield group.demonym
    yield from _table().get((group.axis, group.name), ())


def _plurals(group: Group) -> Iterator[str]:
    for form in (group.name, *_demonyms(group)):
        if not form:
            continue
        yield from plurals(form)
        yield f"{form} people"


def _countries(group: Group) -> Iterator[str]:
    yield group.country


def plurals(noun: str) -> Iterator[str]:
    """Regular plurals of a noun. They are looked up, so that one too many does no harm."""
    if noun.endswith("man"):
        yield f"{noun[:-3]}men"
    yield f"{noun}s"
    if noun.endswith(("s", "sh", "ch", "x", "z")):
        yield f"{noun}es"
    if noun.endswith("y"):
        yield f"{noun[:-1]}ies"


@cache
def _table() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """(axis, identity) -> nouns and short names that its demonym does not show: Dane, Finn, USA."""
    text = files("metrics").joinpath("candidates/identity_forms.csv").read_text(encoding="utf-8")
    return {
        (line["axis"], line["identity"]): tuple(line["forms"].split("|"))
        for line in csv.DictReader(text.splitlines())
    }
