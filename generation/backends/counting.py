"""Count the n-grams of texts of any length in constant memory. Pure: no torch, no Django.

An n-gram is one to `max_n` words that follow each other in one line with no punctuation between them, in
lower case. Counts beyond what memory may hold are written to sorted files and merged.
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

HELD = 1_000_000
"""Different n-grams in memory at once: about 150 MB."""

_BLOCK = 1 << 20
_FILES = 64  # open at once while merging: well below what an operating system allows
_LONGEST_WORD = 40  # longer ones are links, hashes or encoded files
# What Python's \w leaves out of words: vowel signs and other marks (Hindi, Thai, Hebrew ...), and joiners.
_MARKS = "".join(
    letter for letter in map(chr, range(0x300, 0xFFFF)) if unicodedata.category(letter)[0] == "M"
)
_LETTERS = rf"[^\W_](?:[^\W_]|[{_MARKS}\u200c\u200d])*"
_WORDS = re.compile(rf"{_LETTERS}(?:['’\-]{_LETTERS})*")
_BETWEEN_WORDS = re.compile(r"[ \t\u00a0]*")


class TextRefused(ValueError):
    """A text that cannot be read; names the file and the cure."""


@dataclass(frozen=True)
class Source:
    """A file that was read: `sha256` of its bytes, `words` found in it."""

    name: str
    sha256: str
    bytes: int
    words: int


def count(
    files: Iterable[Path],
    *,
    into: Path,
    folder: Path,
    max_n: int,
    held: int = HELD,
    told: Callable[[int], None] = lambda done: None,
) -> list[Source]:
    """Write `into` the n-grams of all files, a line `n-gram TAB count` each, sorted; say what was read.

    `folder` takes temporary files; `told` hears the bytes read so far. Raises TextRefused.
    """
    runs = _Runs(folder, held)
    sources = []
    done = heard = 0
    for path in files:
        reader = _Reader(path)
        words = 0
        for line in reader.lines():
            for phrase in _phrases(line):
                words += len(phrase)
                runs.add(phrase, max_n)
            if done + reader.read > heard:
                told(heard := done + reader.read)
        done += reader.read
        sources.append(Source(path.name, reader.sha256.hexdigest(), reader.read, words))
    runs.merge(into)
    return sources


def counted(path: Path) -> Generator[tuple[str, int]]:
    """The lines of a file that `count` wrote."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            ngram, _, number = line.rstrip("\n").partition("\t")
            yield ngram, int(number)


def chosen(path: Path, *, min_count: int, limit: int | None) -> Iterator[tuple[str, int]]:
    """Of the counted n-grams those seen `min_count` times, at most `limit`: the most frequent, and of those
    seen equally often the alphabetically first; in alphabetical order."""
    how_many = Counter(number for _, number in counted(path) if number >= min_count)
    room = sum(how_many.values()) if limit is None else limit
    # How many of each count there is room for. Few counts differ, whatever the length of the text.
    taken = {}
    for number in sorted(how_many, reverse=True):
        taken[number] = min(room, how_many[number])
        room -= taken[number]
    for ngram, number in counted(path):
        if taken.get(number):
            taken[number] -= 1
            yield ngram, number


class _Reader:
    """The lines of a UTF-8 file; one that is longer than a block comes in several parts, cut at a space."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.sha256 = hashlib.sha256()
        self.read = 0

    def lines(self) -> Iterator[str]:
        rest = b""
        try:
            with self._path.open("rb") as file:
                while block := file.read(_BLOCK):
                    rest += block if self.read else block.removeprefix(codecs.BOM_UTF8)
                    self.sha256.update(block)
                    self.read += len(block)
                    whole, rest = self._cut(rest)
                    yield from self._decoded(whole).splitlines()
        except OSError as error:
            raise TextRefused(f"{self._path} cannot be read: {error.strerror}. Name a text file.") from error
        yield from self._decoded(rest).splitlines()

    def _cut(self, held: bytes) -> tuple[bytes, bytes]:
        """What can be read already, and what may go on in the next block."""
        end = held.rfind(b"\n") + 1
        if not end and len(held) > _BLOCK:
            end = held.rfind(b" ") + 1
            if not end:
                raise TextRefused(
                    f"{self._path} has {len(held)} bytes with no space and no end of line before byte "
                    f"{self.read}: these are not words. Name a text file, unpacked."
                )
        return held[:end], held[end:]

    def _decoded(self, part: bytes) -> str:
        try:
            return part.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TextRefused(
                f"{self._path} is not UTF-8 text ({error.reason} before byte {self.read}). "
                "Save it as UTF-8, unpacked, and try again."
            ) from error


def _phrases(line: str) -> Iterator[list[str]]:
    """The runs of words in a line that nothing but spaces stands between."""
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


class _Runs:
    """Counts in memory, and the sorted files of those that memory had no room for."""

    def __init__(self, folder: Path, held: int) -> None:
        self._folder = folder
        self._held = held
        self._counts: Counter[str] = Counter()
        self._files: list[Path] = []
        self._made = 0

    def add(self, phrase: list[str], max_n: int) -> None:
        for start in range(len(phrase)):
            for end in range(start + 1, min(start + max_n, len(phrase)) + 1):
                self._counts[" ".join(phrase[start:end])] += 1
            if len(self._counts) >= self._held:
                self._spill()

    def _spill(self) -> None:
        self._files.append(self._new())
        _write(self._files[-1], sorted(self._counts.items()))
        self._counts.clear()
        if len(self._files) == _FILES:
            merged = self._new()
            self._merge_files(merged)
            self._files = [merged]

    def merge(self, into: Path) -> None:
        self._spill()
        self._merge_files(into)
        self._files = []

    def _merge_files(self, into: Path) -> None:
        with ExitStack() as opened:  # a generator that is not read to its end would keep its file open
            files = [opened.enter_context(closing(counted(path))) for path in self._files]
            merged = groupby(heapq.merge(*files), key=lambda one: one[0])
            _write(into, ((ngram, sum(number for _, number in same)) for ngram, same in merged))
        for path in self._files:
            path.unlink()

    def _new(self) -> Path:
        self._made += 1
        return self._folder / f"counts.{self._made}"


def _write(path: Path, counts: Iterable[tuple[str, int]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{ngram}\t{number}\n" for ngram, number in counts)


__all__ = ["HELD", "Source", "TextRefused", "chosen", "count", "counted"]
