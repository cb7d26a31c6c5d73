"""Candidates in the answers of a language model: the rules of PROTOCOL §14 (SeeGULL 3.1), in their order and
each counted. Pure: no Django."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from metrics.candidates import duplicates
from metrics.candidates.identity_forms import SEVERAL, IdentityForms

LONGEST_ATTRIBUTE = 200
"""Letters that the catalogue can hold."""
_TUPLE = re.compile(r"\([^()]*\)")
_NEITHER_LETTER_NOR_SPACE_NOR_HYPHEN = re.compile(r"[^\w\s-]|[\d_]")
_HYPHENS = str.maketrans({"‐": "-", "‑": "-"})
# Distinct tuples held before they are mapped: memory stays flat however many answers there are.
_MOST_HELD = 200_000


@dataclass(slots=True)
class RuleCounts:
    """What each rule found, in the order of the rules. `tuples` is the sum of `not_two`, `no_identity`,
    `two_identities`, `several_groups`, `too_long` and of the counts of all candidates.

    answers, answers_without_tuple: those without any tuple are kept, and give nothing.
    tuples: parenthesised texts.
    cleaned: tuples of which characters were removed.
    not_two: dropped, because they do not have exactly two elements (an element has a letter).
    attribute_first: (attribute, identity), counted like (identity, attribute).
    no_identity: dropped, because neither element names a group.
    two_identities: dropped, because both elements name a group, so that neither is the attribute.
    several_groups: dropped, because the element names several groups.
    too_long: dropped, because the attribute is longer than the catalogue can hold.
    plurals, ing: candidates that count for another one of the same group.
    """

    answers: int = 0
    answers_without_tuple: int = 0
    tuples: int = 0
    cleaned: int = 0
    not_two: int = 0
    attribute_first: int = 0
    no_identity: int = 0
    two_identities: int = 0
    several_groups: int = 0
    too_long: int = 0
    plurals: int = 0
    ing: int = 0


@dataclass(frozen=True)
class Extracted:
    """`counts`: group -> attribute -> how often it was given, over all answers and without duplicates.
    `merged`: group -> duplicate -> the attribute it counts for."""

    counts: Mapping[int, Mapping[str, int]]
    merged: Mapping[int, Mapping[str, str]]
    rules: RuleCounts


@dataclass
class Extraction:
    """Reads answers in parts, and then gives the candidates: `add` any number of times, then `result`."""

    forms: IdentityForms
    rules: RuleCounts = field(default_factory=RuleCounts)
    _held: Counter[str] = field(default_factory=Counter)
    _counts: dict[int, dict[str, int]] = field(default_factory=dict)

    def add(self, texts: Iterable[str]) -> None:
        """Read answers; each is the text of `whole_text`."""
        held, find = self._held, _TUPLE.findall
        answers = without = 0
        for text in texts:
            answers += 1
            if found := find(text):
                held.update(found)
                if len(held) > _MOST_HELD:
                    self._map_held()
            else:
                without += 1
        self.rules.answers += answers
        self.rules.answers_without_tuple += without

    def result(self) -> Extracted:
        """The candidates of all answers read so far."""
        self._map_held()
        counts: dict[int, dict[str, int]] = {}
        merged: dict[int, dict[str, str]] = {}
        rules = RuleCounts(**{name: getattr(self.rules, name) for name in RuleCounts.__slots__})
        for group, attributes in self._counts.items():
            found = duplicates.merge(attributes)
            counts[group] = found.counts
            rules.plurals += len(found.plurals)
            rules.ing += len(found.ing)
            if found.plurals or found.ing:
                merged[group] = {**found.plurals, **found.ing}
        return Extracted(counts, merged, rules)

    def _map_held(self) -> None:
        rules, element = self.rules, _Elements(self.forms)
        for text, times in self._held.items():
            rules.tuples += times
            parts = [element[part] for part in text[1:-1].split(",")]
            rules.cleaned += times * any(part.cleaned for part in parts)
            if len(parts) != 2 or not all(part.text for part in parts):
                rules.not_two += times
                continue
            read = read_pair(*parts)
            if isinstance(read, str):
                setattr(rules, read, getattr(rules, read) + times)
                continue
            group, attribute, attribute_first = read
            rules.attribute_first += times * attribute_first
            of_group = self._counts.setdefault(group, {})
            of_group[attribute] = of_group.get(attribute, 0) + times
        self._held.clear()


@dataclass(frozen=True, slots=True)
class Element:
    """`text`: without the characters that the rule removes; empty without a letter. `cleaned`: whether any
    was removed. `group`: what it names: an id, SEVERAL or None."""

    text: str
    cleaned: bool
    group: int | None


class _Elements(dict[str, Element]):
    """Elements by their text as written, each cleaned and mapped once."""

    def __init__(self, forms: IdentityForms) -> None:
        self._forms = forms

    def __missing__(self, written: str) -> Element:
        self[written] = made = element(written, self._forms)
        return made


def element(written: str, forms: IdentityForms) -> Element:
    text, cleaned = clean(written)
    return Element(text, cleaned, forms.find(text) if text else None)


def clean(written: str) -> tuple[str, bool]:
    """`written` with its letters, the spaces inside and the hyphens within only, and whether anything else
    was removed. Letters of any script count; any white space is a space.

    Examples
    --------
    >>> clean(' "hard-working"  people!')
    ('hard-working people', True)
    """
    text = written
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_HYPHENS)
    kept = _NEITHER_LETTER_NOR_SPACE_NOR_HYPHEN.sub("", text)
    plain = " ".join(kept.split()).strip("- ")
    return plain, len(kept) != len(text)


def read_pair(first: Element, second: Element) -> tuple[int, str, bool] | str:
    """(group, attribute in lower case, whether the attribute came first) of a tuple, or the name of the rule
    in RuleCounts that drops it."""
    if first.group is None and second.group is None:
        return "no_identity"
    if first.group is not None and second.group is not None:
        return "two_identities"
    identity, attribute = (second, first) if first.group is None else (first, second)
    if identity.group == SEVERAL:
        return "several_groups"
    if len(attribute.text) > LONGEST_ATTRIBUTE:
        return "too_long"
    assert identity.group is not None
    return identity.group, attribute.text.lower(), attribute is first


@lru_cache(maxsize=4096)
def open_tuple(prompt: str) -> str:
    """The last tuple of a prompt if it is not closed: the answer continues it. Else an empty text.

    Examples
    --------
    >>> open_tuple("(Mexican, lazy), (Italian, mafia), (Indian,")
    '(Indian,'
    """
    start = prompt.rfind("(")
    return prompt[start:] if start > prompt.rfind(")") else ""


def whole_text(prompt: str, answer: str) -> str:
    """The text in which tuples are sought: the answer, after the open tuple of its prompt if it has one.

    The answer to '..., (Indian,' begins within the tuple: ' smart), (Chinese, ...'. If it begins the tuple
    anew ('(Indian, smart)'), the parenthesis that was left open counts for nothing. Nor do closed tuples of
    the prompt: they were not given by the model.
    """
    return open_tuple(prompt) + answer


def pairs_of(text: str, forms: IdentityForms) -> list[tuple[int, str]]:
    """The (group, attribute) pairs in one text of `whole_text`, before duplicates are merged."""
    found = []
    for each in _TUPLE.findall(text):
        parts = [element(part, forms) for part in each[1:-1].split(",")]
        if len(parts) == 2 and all(part.text for part in parts):
            read = read_pair(*parts)
            if not isinstance(read, str):
                found.append(read[:2])
    return found
