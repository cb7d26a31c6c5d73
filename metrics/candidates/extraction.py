"""Candidates in the answers of a language model: the rules of PROTOCOL §14 (SeeGULL 3.1), in their order and
each counted. Pure: no Django."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metrics.candidates import duplicates
from metrics.candidates.identity_forms import SEVERAL, IdentityForms

LONGEST_ATTRIBUTE = 200
"""Letters that the catalogue can hold."""
_TUPLE = re.compile(r"\([^()]*\)")
_NEITHER_LETTER_NOR_SPACE_NOR_HYPHEN = re.compile(r"[^\w\s-]|[\d_]")
_HYPHENS = str.maketrans({"‐": "-", "‑": "-"})
# Distinct tuples held before they are mapped: memory stays flat however many answers there are.
_MOST_HELD = 400_000
_AT_ONCE = 50_000
_LETTERS_AT_ONCE = 20_000_000


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
    _held: dict[str, int] = field(default_factory=dict)
    _counts: defaultdict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _words: Words = field(init=False)

    def __post_init__(self) -> None:
        self._words = Words(self.forms)

    def add(self, texts: Iterable[str]) -> None:
        """Read answers; each is the text of `whole_text`."""
        for part in _batched(texts):
            self._hold(part)
            if len(self._held) > _MOST_HELD:
                self._map_held()

    def result(self) -> Extracted:
        """The candidates of all answers read so far."""
        self._map_held()
        counts: dict[int, dict[str, int]] = {}
        merged: dict[int, dict[str, str]] = {}
        rules = dataclasses.replace(self.rules)
        for group, attributes in sorted(self._counts.items()):
            found = duplicates.merge(attributes)
            counts[group] = found.counts
            rules.plurals += len(found.plurals)
            rules.ing += len(found.ing)
            if found.plurals or found.ing:
                merged[group] = {**found.plurals, **found.ing}
        return Extracted(counts, merged, rules)

    def _hold(self, texts: list[str]) -> None:
        """Count the tuples of some answers. What follows a '(' up to the next one is a tuple if it is closed
        there. Arrow divides the texts and counts equal pieces: in Python this takes twice as long."""
        pieces = pc.split_pattern(pa.array(texts, pa.large_string()), "(")
        starts = pieces.offsets.to_numpy()[:-1]
        after = np.ones(len(pieces.values), dtype=bool)
        after[starts] = False  # what precedes the first '('
        closed = pc.match_substring(pieces.values, ")").to_numpy(zero_copy_only=False) & after
        self.rules.answers += len(texts)
        self.rules.answers_without_tuple += len(texts) - int(np.logical_or.reduceat(closed, starts).sum())
        found = pieces.values.filter(pa.array(closed)).value_counts()
        for piece, times in zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True):
            inside = piece[: piece.index(")")]
            self._held[inside] = self._held.get(inside, 0) + times

    def _map_held(self) -> None:
        rules, words = self.rules, self._words
        text_of, group_of, changed = words.texts, words.groups, words.cleaned
        for written, times in self._held.items():
            rules.tuples += times
            parts = written.split(",")
            texts = [text_of[part] for part in parts]
            if changed and not changed.isdisjoint(parts):
                rules.cleaned += times
            if len(texts) != 2 or "" in texts:
                rules.not_two += times
                continue
            first, second = texts
            read = read_pair(first, group_of[first], second, group_of[second])
            if isinstance(read, str):
                setattr(rules, read, getattr(rules, read) + times)
                continue
            group, attribute = read
            if attribute is first:
                rules.attribute_first += times
            of_group = self._counts[group]
            of_group[attribute] = of_group.get(attribute, 0) + times
        self._held.clear()
        if len(text_of) > _MOST_HELD:
            self._words = Words(self.forms)


class _Texts(dict[str, str]):
    """Elements by their text as written, each cleaned once. `cleaned`: those with other characters."""

    def __init__(self) -> None:
        self.cleaned: set[str] = set()

    def __missing__(self, written: str) -> str:
        text, cleaned = clean(written)
        if cleaned:
            self.cleaned.add(written)
        self[written] = text
        return text


class _Groups(dict[str, int | None]):
    """What cleaned texts name, each looked up once."""

    def __init__(self, forms: IdentityForms) -> None:
        self._find = forms.find

    def __missing__(self, text: str) -> int | None:
        self[text] = group = self._find(text)
        return group


class Words:
    """The elements of tuples: cleaned, and mapped to groups."""

    def __init__(self, forms: IdentityForms) -> None:
        self.texts = _Texts()
        self.cleaned = self.texts.cleaned
        self.groups = _Groups(forms)


def clean(written: str) -> tuple[str, bool]:
    """`written` in lower case with its letters, the spaces inside and the hyphens within only, and whether
    anything else was removed. Letters of any script count; any white space is a space.

    Examples
    --------
    >>> clean(' "Hard-working"  people!')
    ('hard-working people', True)
    """
    text = written.strip()
    if text.isascii():
        if text.isalpha():
            return text.lower(), False
    else:
        text = unicodedata.normalize("NFC", text).translate(_HYPHENS)
    kept = _NEITHER_LETTER_NOR_SPACE_NOR_HYPHEN.sub("", text)
    return " ".join(kept.split()).strip("- ").lower(), len(kept) != len(text)


def read_pair(
    first: str, first_group: int | None, second: str, second_group: int | None
) -> tuple[int, str] | str:
    """(group, attribute) of a tuple with two elements, or the name of the rule in RuleCounts that drops
    it."""
    if first_group is None:
        if second_group is None:
            return "no_identity"
        group, attribute = second_group, first
    elif second_group is None:
        group, attribute = first_group, second
    else:
        return "two_identities"
    if group == SEVERAL:
        return "several_groups"
    if len(attribute) > LONGEST_ATTRIBUTE:
        return "too_long"
    return group, attribute


def _batched(texts: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    letters = 0
    for text in texts:
        part.append(text)
        letters += len(text)
        if len(part) == _AT_ONCE or letters > _LETTERS_AT_ONCE:
            yield part
            part, letters = [], 0
    if part:
        yield part


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
    words, found = Words(forms), []
    for written in _TUPLE.findall(text):
        texts = [words.texts[part] for part in written[1:-1].split(",")]
        if len(texts) == 2 and all(texts):
            first, second = texts
            read = read_pair(first, words.groups[first], second, words.groups[second])
            if not isinstance(read, str):
                found.append(read)
    return found
