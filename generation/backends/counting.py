"""Count the n-grams of texts of any length in constant memory. Pure: no torch, no Django.

An n-gram is one to `max_n` consecutive words of a line without punctuation between them, in lower case. When
there are too many counts for memory, they are written to sorted files, which are merged at the end.
"""

from __future__ import annotations

import codecs
import hashlib
import heapq
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

MAX_IN_MEMORY = 1_000_000
"""Distinct n-grams in memory at once: about 150 MB."""

_BLOCK_BYTES = 1 << 20
_MAX_OPEN_FILES = 64  # while merging: well below the limit of an operating system
_LONGEST_WORD = 40  # longer ones are links, hashes or encoded files
# Parts of words that Python's \w excludes: vowel signs and other marks (Hindi, Thai, Hebrew ...), and
# joiners.
_MARKS = "".join(
    letter for letter in map(chr, range(0x300, 0xFFFF)) if unicodedata.category(letter)[0] == "M"
)
_LETTERS = rf"[^\W_](?:[^\W_]|[{_MARKS}\u200c\u200d])*"
_WORDS = re.compile(rf"{_LETTERS}(?:['’\-]{_LETTERS})*")
_BETWEEN_WORDS = re.compile(r"[ \t\u00a0]*")


class TextRefused(ValueError):
    """A file that is not readable text. The message names the file and the cure."""


@dataclass(frozen=True)
class Source:
    """A file that was counted: `sha256` of its bytes, number of `words`."""

    name: str
    sha256: str
    bytes: int
    words: int


def count_ngrams(
    files: Iterable[Path],
    *,
    into: Path,
    folder: Path,
    max_n: int,
    max_in_memory: int = MAX_IN_MEMORY,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Source]:
    """Write the n-grams of all files to `into`, one sorted line `n-gram TAB count` each; returns the sources.

    `folder` is for temporary files; `progress` gets the bytes read so far. Raises TextRefused.
    """
    counts = _Counts(folder, max_in_memory)
    sources = []
    done = reported = 0
    for path in files:
        reader = _Reader(path)
        words = 0
        for line in reader.lines():
            for phrase in _phrases(line):
                words += len(phrase)
                counts.add(phrase, max_n)
            if done + reader.bytes_read > reported:
                progress(reported := done + reader.bytes_read)
        done += reader.bytes_read
        sources.append(Source(path.name, reader.sha256.hexdigest(), reader.bytes_read, words))
    counts.merge(into)
    return sources


def read_counts(path: Path) -> Generator[tuple[str, int]]:
    """The lines of a file that `count_ngrams` wrote."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            ngram, _, number = line.rstrip("\n").partition("\t")
            yield ngram, int(number)


def most_frequent(path: Path, *, min_count: int, limit: int | None) -> Iterator[tuple[str, int]]:
    """At most `limit` n-grams with at least `min_count` occurrences, in alphabetical order: the most
    frequent, and of those with equal counts the alphabetically first."""
    how_many = Counter(number for _, number in read_counts(path) if number >= min_count)
    left = sum(how_many.values()) if limit is None else limit
    # Count -> how many n-grams with that count to keep. There are few distinct counts in any text.
    keep = {}
    for number in sorted(how_many, reverse=True):
        keep[number] = min(left, how_many[number])
        left -= keep[number]
    for ngram, number in read_counts(path):
        if keep.get(number):
            keep[number] -= 1
            yield ngram, number


class _Reader:
    """The lines of a UTF-8 file; a line longer than a block is split at a space."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.sha256 = hashlib.sha256()
        self.bytes_read = 0

    def lines(self) -> Iterator[str]:
        rest = b""
        try:
            with self._path.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    rest += block if self.bytes_read else block.removeprefix(codecs.BOM_UTF8)
                    self.sha256.update(block)
                    self.bytes_read += len(block)
                    complete, rest = self._split(rest)
                    yield from self._decode(complete).splitlines()
        except OSError as error:
            raise TextRefused(f"{self._path} cannot be read: {error.strerror}. Name a text file.") from error
        yield from self._decode(rest).splitlines()

    def _split(self, buffer: bytes) -> tuple[bytes, bytes]:
        """The complete lines, and the rest, which may continue in the next block."""
        end = buffer.rfind(b"\n") + 1
        if not end and len(buffer) > _BLOCK_BYTES:
            end = buffer.rfind(b" ") + 1
            if not end:
                raise TextRefused(
                    f"{self._path} has {len(buffer)} bytes with no space and no end of line before byte "
                    f"{self.bytes_read}: these are not words. Name a text file, unpacked."
                )
        return buffer[:end], buffer[end:]

    def _decode(self, data: bytes) -> str:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TextRefused(
                f"{self._path} is not UTF-8 text ({error.reason} before byte {self.bytes_read}). "
                "Save it as UTF-8, unpacked, and try again."
            ) from error


def _phrases(line: str) -> Iterator[list[str]]:
    """The sequences of words in a line that are separated only by spaces."""
    line = unicodedata.normalize("NFC", line)
    phrase: list[str] = []
    end = 0
    for found in _WORDS.finditer(line):
        adjoins = _BETWEEN_WORDS.fullmatch(line, end, found.start()) is not None
        long = found.end() - found.start() > _LONGEST_WORD
        if phrase and (long or not adjoins):
            yield phrase
            phrase = []
        if not long:
            phrase.append(found.group().lower())
        end = found.end()
    if phrase:
        yield phrase


class _Counts:
    """Counts in memory, and sorted files of those that did not fit."""

    def __init__(self, folder: Path, max_in_memory: int) -> None:
        self._folder = folder
        self._max_in_memory = max_in_memory
        self._counts: Counter[str] = Counter()
        self._files: list[Path] = []
        self._number = 0

    def add(self, phrase: list[str], max_n: int) -> None:
        for start in range(len(phrase)):
            for end in range(start + 1, min(start + max_n, len(phrase)) + 1):
                self._counts[" ".join(phrase[start:end])] += 1
            if len(self._counts) >= self._max_in_memory:
                self._spill()

    def _spill(self) -> None:
        self._files.append(self._new_file())
        _write(self._files[-1], sorted(self._counts.items()))
        self._counts.clear()
        if len(self._files) == _MAX_OPEN_FILES:
            merged = self._new_file()
            self._merge_files(merged)
            self._files = [merged]

    def merge(self, into: Path) -> None:
        self._spill()
        self._merge_files(into)
        self._files = []

    def _merge_files(self, into: Path) -> None:
        with ExitStack() as stack:  # a generator that is not exhausted would keep its file open
            files = [stack.enter_context(closing(read_counts(path))) for path in self._files]
            merged = groupby(heapq.merge(*files), key=lambda one: one[0])
            _write(into, ((ngram, sum(number for _, number in same)) for ngram, same in merged))
        for path in self._files:
            path.unlink()

    def _new_file(self) -> Path:
        self._number += 1
        return self._folder / f"counts.{self._number}"


def _write(path: Path, counts: Iterable[tuple[str, int]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{ngram}\t{number}\n" for ngram, number in counts)
