"""Counting the words of answers, in both variants (PROTOCOL §11). Pure: no Django. Memory grows with the
distinct pairs, not with the answers."""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from metrics.associations.askings import LETTERS, Modality, Setting
from metrics.associations.stats import Ints, PairCounts
from metrics.associations.words import completed_word, corrected_words, published_words, valid_word

_MOST_HELD = 1_000_000
_WORD_BITS = 32


class ReadAnswer(NamedTuple):
    """One answer. `descriptor`: its number. `document`: the row of the list and the run that the answer
    belongs to, for completed words; every description is a document of its own. `letter`: "" for texts."""

    setting: Setting
    descriptor: int
    document: tuple[int, int]
    letter: str
    text: str


@dataclass
class SettingFacts:
    """What was read in one setting. `unparsed`: answers without a valid word, which *corrected* leaves out.
    `without_word`: answers that give *published* no word."""

    answers: int = 0
    documents: int = 0
    unparsed: int = 0
    without_word: int = 0


class _Numbers(dict[str, int]):
    """A number for each word, from 0, in the order of appearance."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


class _Counter:
    """Counts whole numbers; what was counted is merged from time to time."""

    def __init__(self) -> None:
        self._held = array("q")
        self._keys: Ints = np.zeros(0, dtype=np.int64)
        self._times: Ints = np.zeros(0, dtype=np.int64)

    def add(self, key: int) -> None:
        self._held.append(key)
        if len(self._held) > _MOST_HELD:
            self._merge()

    def result(self) -> tuple[Ints, Ints]:
        """The distinct numbers in ascending order, and how often each was added."""
        self._merge()
        return self._keys, self._times

    def _merge(self) -> None:
        held, times = np.unique(np.frombuffer(self._held, dtype=np.int64), return_counts=True)
        self._held = array("q")
        keys, inverse = np.unique(np.concatenate([self._keys, held]), return_inverse=True)
        merged = np.zeros(len(keys), dtype=np.int64)
        np.add.at(merged, inverse, np.concatenate([self._times, times]))
        self._keys, self._times = keys, merged


class _Tally:
    """The occurrences of one setting and variant."""

    def __init__(self, words: _Numbers) -> None:
        self._words = words
        self._pairs, self._in_documents = _Counter(), _Counter()

    def add_completed(self, descriptor: int, document: int, word: str) -> None:
        number = self._words[word]
        self._pairs.add(descriptor << _WORD_BITS | number)
        self._in_documents.add(document << _WORD_BITS | number)

    def add_text(self, descriptor: int, document: int, words: list[str]) -> None:
        numbers = [self._words[word] for word in words]
        for number in numbers:
            self._pairs.add(descriptor << _WORD_BITS | number)
        for number in set(numbers):
            self._in_documents.add(document << _WORD_BITS | number)

    def counts(self, documents: int) -> PairCounts:
        pairs, tf = self._pairs.result()
        in_documents, _ = self._in_documents.result()
        of_word = (1 << _WORD_BITS) - 1
        holding = np.bincount(in_documents & of_word, minlength=len(self._words))
        word = pairs & of_word
        return PairCounts(pairs >> _WORD_BITS, word, tf, holding[word], documents)


@dataclass
class SettingCounts:
    """The counts of one setting so far."""

    setting: Setting
    words: _Numbers
    facts: SettingFacts = field(default_factory=SettingFacts)
    published: _Tally = field(init=False)
    corrected: _Tally = field(init=False)
    document_numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    completes: bool = field(init=False)

    def __post_init__(self) -> None:
        self.published, self.corrected = _Tally(self.words), _Tally(self.words)
        self.completes = self.setting.modality == Modality.T2T


class Counting:
    """Reads answers: `add` any number of times, then `results`.

    `own`: the descriptor's number -> its own lemmas, which *corrected* leaves out of texts.
    `needs_brackets`: whether a completed word must be in brackets; not in a table of words made elsewhere.
    """

    def __init__(self, own: Mapping[int, frozenset[str]], *, needs_brackets: bool) -> None:
        self._own, self._needs_brackets = own, needs_brackets
        self._words = _Numbers()
        self._settings: dict[Setting, SettingCounts] = {}
        self._completed: dict[tuple[str, str], tuple[str, str | None]] = {}

    @property
    def words(self) -> list[str]:
        """The word of each number."""
        return list(self._words)

    def add(self, answers: Iterable[ReadAnswer]) -> None:
        for answer in answers:
            counts = self._settings.get(answer.setting)
            if counts is None:
                counts = self._settings[answer.setting] = SettingCounts(answer.setting, self._words)
            counts.facts.answers += 1
            if counts.completes:
                self._add_completed(counts, answer)
            else:
                self._add_text(counts, answer)

    def results(self) -> list[tuple[SettingCounts, PairCounts, PairCounts]]:
        """Of each setting: what was read, the *published* pairs and the *corrected* pairs."""
        found = []
        for setting in Setting:
            if counts := self._settings.get(setting):
                documents = counts.facts.documents
                found.append((counts, counts.published.counts(documents), counts.corrected.counts(documents)))
        return found

    def _add_completed(self, counts: SettingCounts, answer: ReadAnswer) -> None:
        document = counts.document_numbers.setdefault(answer.document, len(counts.document_numbers))
        counts.facts.documents = len(counts.document_numbers)
        key = (answer.text, answer.letter)
        words = self._completed.get(key)
        if words is None:  # most answers repeat earlier ones
            valid = valid_word(answer.text, answer.letter, needs_brackets=self._needs_brackets)
            words = self._completed[key] = (completed_word(answer.text), valid)
            if len(self._completed) > _MOST_HELD:
                self._completed.clear()
        published, corrected = words
        if published:
            counts.published.add_completed(answer.descriptor, document, published)
        else:
            counts.facts.without_word += 1
        if corrected is None:
            counts.facts.unparsed += 1
        else:
            counts.corrected.add_completed(answer.descriptor, document, corrected)

    def _add_text(self, counts: SettingCounts, answer: ReadAnswer) -> None:
        document = counts.facts.documents
        counts.facts.documents += 1
        own = self._own.get(answer.descriptor, frozenset())
        published = published_words(answer.text)
        corrected = corrected_words(answer.text, own)
        counts.facts.without_word += not published
        counts.facts.unparsed += not corrected
        counts.published.add_text(answer.descriptor, document, published)
        counts.corrected.add_text(answer.descriptor, document, corrected)


def published_n(setting: Setting, documents: int) -> int:
    """N of idf as published: 26 x documents for completed words, else the documents."""
    return documents * (len(LETTERS) if setting.modality == Modality.T2T else 1)
