"""Candidates in the answers of a language model: the rules of PROTOCOL §14 (SeeGULL 3.1), in their order and
each counted. Pure: no Django."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metrics.candidates import duplicates
from metrics.candidates.identity_forms import SEVERAL, IdentityForms

LONGEST_ATTRIBUTE = 200
"""Letters that the catalogue can hold."""
_NEITHER_LETTER_NOR_SPACE_NOR_HYPHEN = re.compile(r"[^\w\s-]|[\d_]")
_HYPHENS = str.maketrans({"‐": "-", "‑": "-"})
# Candidates and elements held at most: memory stays flat however many answers there are.
_MOST_HELD = 400_000
_NO_GROUP = SEVERAL - 1
_GROUP_BITS = 32
_ATTRIBUTE = (1 << _GROUP_BITS) - 1
_Numbers = npt.NDArray[np.int64]
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
    _counts: defaultdict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    _held: list[tuple[_Numbers, _Numbers]] = field(default_factory=list)
    """Candidates that are not in `_counts` yet, as (group and number of the attribute in one, how often)."""
    _elements: _Elements = field(init=False)

    def __post_init__(self) -> None:
        self._elements = _Elements(self.forms)

    def add(self, texts: Iterable[str]) -> None:
        """Read answers; each is the text of `whole_text`."""
        for part in _batched(texts):
            groups, attributes = _read(part, self._elements, self.rules)
            keys, times = np.unique(groups << _GROUP_BITS | attributes, return_counts=True)
            self._held.append((keys, times))
            held = sum(len(keys) for keys, _ in self._held)
            if held > _MOST_HELD or len(self._elements) > _MOST_HELD:
                self._count_held()

    def result(self) -> Extracted:
        """The candidates of all answers read so far."""
        self._count_held()
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

    def _count_held(self) -> None:
        if not self._held:
            return
        keys, places = np.unique(np.concatenate([keys for keys, _ in self._held]), return_inverse=True)
        times = np.zeros(len(keys), dtype=np.int64)
        np.add.at(times, places, np.concatenate([times for _, times in self._held]))
        texts = self._elements.texts
        rows = zip((keys >> _GROUP_BITS).tolist(), (keys & _ATTRIBUTE).tolist(), times.tolist(), strict=True)
        for group, number, more in rows:
            of_group, attribute = self._counts[group], texts[number]
            of_group[attribute] = of_group.get(attribute, 0) + more
        self._held.clear()
        if len(self._elements) > _MOST_HELD:
            self._elements = _Elements(self.forms)


class _Elements(dict[str, tuple[int, int, bool, bool]]):
    """Elements of tuples by their text as written, each cleaned and looked up once: the number of its cleaned
    text in `texts` (0: there is none), the group that it names or _NO_GROUP, whether it was changed, and
    whether it is too long for an attribute."""

    def __init__(self, forms: IdentityForms) -> None:
        self._find = forms.find
        self.texts = [""]
        self._numbers = {"": 0}

    def __missing__(self, written: str) -> tuple[int, int, bool, bool]:
        text, changed = clean(written)
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        group = self._find(text)
        found = number, _NO_GROUP if group is None else group, changed, len(text) > LONGEST_ATTRIBUTE
        self[written] = found
        return found


def _read(texts: Sequence[str], elements: _Elements, rules: RuleCounts) -> tuple[_Numbers, _Numbers]:
    """The candidates in `texts`, in order: their groups, and their attributes by number in `elements`. Counts
    the rules. What follows a '(' up to the next one is a tuple if it is closed there.

    Arrow divides the texts, and only distinct elements are looked at one by one: in Python this takes several
    times as long.
    """
    pieces = pc.split_pattern(pa.array(texts, pa.large_string()), "(")
    starts = pieces.offsets.to_numpy()[:-1]
    after = np.ones(len(pieces.values), dtype=bool)
    after[starts] = False  # what precedes the first '('
    closed = pc.match_substring(pieces.values, ")").to_numpy(zero_copy_only=False) & after
    rules.answers += len(texts)
    rules.answers_without_tuple += len(texts) - int(np.logical_or.reduceat(closed, starts).sum())
    ended = pc.split_pattern(pieces.values.filter(pa.array(closed)), ")", max_splits=1)
    parts = pc.split_pattern(ended.values.take(ended.offsets[:-1]), ",")
    written = parts.values.dictionary_encode()
    table = np.array([elements[one] for one in written.dictionary.to_pylist()], dtype=np.int64)
    numbers, groups, changed, long = table.reshape(-1, 4).T
    places, offsets = written.indices.to_numpy(), parts.offsets.to_numpy()
    starts = offsets[:-1]
    rules.tuples += len(starts)
    if len(starts):
        rules.cleaned += int(np.logical_or.reduceat(changed[places], starts).sum())

    pairs = starts[np.diff(offsets) == 2]
    first, second = places[pairs], places[pairs + 1]
    both = (numbers[first] > 0) & (numbers[second] > 0)
    first, second = first[both], second[both]
    rules.not_two += len(starts) - len(first)
    named = groups[first] != _NO_GROUP, groups[second] != _NO_GROUP
    rules.no_identity += int((~named[0] & ~named[1]).sum())
    rules.two_identities += int((named[0] & named[1]).sum())
    one = named[0] ^ named[1]
    turned = ~named[0][one]
    first, second = first[one], second[one]
    identity, attribute = np.where(turned, second, first), np.where(turned, first, second)
    several = groups[identity] == SEVERAL
    too_long = ~several & (long[attribute] > 0)
    kept = ~(several | too_long)
    rules.several_groups += int(several.sum())
    rules.too_long += int(too_long.sum())
    rules.attribute_first += int((turned & kept).sum())
    return groups[identity[kept]], numbers[attribute[kept]]


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
    elements = _Elements(forms)
    groups, attributes = _read([text], elements, RuleCounts())
    return [
        (group, elements.texts[number]) for group, number in zip(groups.tolist(), attributes, strict=True)
    ]
