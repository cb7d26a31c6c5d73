"""Count the n-grams of texts of any length in constant memory. Pure: no torch, no Django.

An n-gram is one to `max_n` consecutive words of a line without punctuation between them, in lower case. When
there are too many counts for memory, they are written to an SQLite file, which adds them up at the end.
"""

import codecs
import hashlib
import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

MAX_IN_MEMORY = 1_000_000
"""Distinct n-grams in memory at once: about 150 MB."""

_BLOCK_BYTES = 1 << 20
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
    max_n: int,
    max_in_memory: int = MAX_IN_MEMORY,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Source]:
    """Write the n-grams of all files to the new SQLite file `into`; returns the sources.

    `progress` gets the bytes read so far. Raises TextRefused, sqlite3.Error.
    """
    counts: Counter[str] = Counter()
    sources = []
    done = reported = 0
    with closing(sqlite3.connect(into)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE counted (ngram TEXT, number INTEGER)")
        for path in files:
            reader = _Reader(path)
            words = 0
            for line in reader.lines():
                for phrase in _phrases(line):
                    words += len(phrase)
                    for start in range(len(phrase)):
                        for end in range(start + 1, min(start + max_n, len(phrase)) + 1):
                            counts[" ".join(phrase[start:end])] += 1
                    if len(counts) >= max_in_memory:
                        _write(database, counts)
                if done + reader.bytes_read > reported:
                    progress(reported := done + reader.bytes_read)
            done += reader.bytes_read
            sources.append(Source(path.name, reader.sha256.hexdigest(), reader.bytes_read, words))
        _write(database, counts)
    return sources


def most_frequent(path: Path, *, min_count: int, limit: int | None) -> Iterator[tuple[str, int]]:
    """At most `limit` n-grams with at least `min_count` occurrences, in alphabetical order: the most
    frequent, and of those with equal counts the alphabetically first."""
    with closing(sqlite3.connect(path)) as database:
        yield from database.execute(
            "SELECT * FROM (SELECT ngram, SUM(number) AS total FROM counted GROUP BY ngram "
            "HAVING total >= ? ORDER BY total DESC, ngram LIMIT ?) ORDER BY ngram",
            (min_count, -1 if limit is None else limit),
        )


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


def _write(database: sqlite3.Connection, counts: Counter[str]) -> None:
    """Write the counts to the file, and forget them."""
    database.executemany("INSERT INTO counted VALUES (?, ?)", counts.items())
    database.commit()
    counts.clear()
