"""What people wrote, without what could lead to somebody: a net, not a proof. Read the texts before they go.

Removed: addresses, links, telephone numbers, account names and names of this installation's accounts, ids
of crowd platforms' participants.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.contrib.auth import get_user_model

from annotation.models import Annotator, Enrolment

REMOVED = "[removed]"
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x2060, 0xFEFF])
_PATTERNS = (
    # addresses, also as people spell them out
    re.compile(r"[\w.+'-]+\s*@\s*[\w-]+(?:\.[\w-]+)+"),
    re.compile(
        r"[\w.+-]+\s+(?:at|\(at\)|\[at\])\s+[\w-]+(?:\s*(?:\.|\bdot\b|\(dot\)|\[dot\])\s*[\w-]+)+", re.I
    ),
    # links, with and without their beginning
    re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.I),
    re.compile(r"\bwww\.\S+", re.I),
    re.compile(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|me|info|co|app|dev|ly|tv|[a-z]{2})/\S*", re.I),
    re.compile(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|info|app)\b", re.I),
    re.compile(r"(?<![\w@])@\w[\w.-]*\w"),
    # seven digits or more, however they are grouped; not a span of years
    re.compile(
        r"(?<!\w)(?!(?:1\d|20)\d\d\s?[-–]\s?(?:1\d|20)\d\d(?!\w))(?:\+|00)?\(?\d(?:[\s().\-/]{0,3}\d){6,}(?!\w)"
    ),
    # Prolific's participants and Mechanical Turk's
    re.compile(r"\b[0-9a-f]{24}\b", re.I),
    re.compile(r"\bA[0-9A-Z]{11,20}\b"),
)
_WORD = re.compile(r"[\w.@+\-]+")
_EDGES = ".@+-_"


def known_names() -> frozenset[str]:
    """What this installation calls people, in small letters: accounts, names, addresses, pseudonyms, ids of
    crowd platforms. For `Screen`."""
    names: set[str] = set()
    accounts = get_user_model().objects.values_list("username", "first_name", "last_name", "email")
    for account in accounts.iterator():
        names.update(account)
    names.update(Annotator.objects.values_list("pseudonym", flat=True).iterator())
    for ids in Enrolment.objects.values_list("crowd_participant", "crowd_session").iterator():
        names.update(ids)
    return frozenset(part for name in names for part in _parts(name))


def _parts(name: str) -> Iterable[str]:
    """A name as a whole and in its words: 'Ada Lovelace' is found in 'ask Lovelace', too."""
    folded = _plain(name).casefold()
    return [part for part in {folded, *_WORD.findall(folded)} if len(part) > 2]


def _plain(text: str) -> str:
    """One way to write what looks the same: full-width letters as narrow ones, nothing invisible."""
    return unicodedata.normalize("NFKC", text).translate(_INVISIBLE)


@dataclass
class Screen:
    """Removes from texts, and counts in how many of them it had to."""

    names: frozenset[str]
    texts: int = field(default=0, init=False)
    removed: int = field(default=0, init=False)

    def __call__(self, text: str) -> str:
        """`text` with `[removed]` for everything that is not to be told."""
        plain = said = _plain(text)
        for pattern in _PATTERNS:
            said = pattern.sub(REMOVED, said)
        said = _WORD.sub(self._unless_known, said)
        self.texts += bool(text)
        if said == plain:
            return text
        self.removed += 1
        return said

    def _unless_known(self, word: re.Match[str]) -> str:
        whole = word.group()
        folded = whole.casefold()
        if folded in self.names or folded.strip(_EDGES) in self.names:
            return REMOVED
        parts = re.split(r"([.@+\-])", whole)
        if not any(part.casefold() in self.names for part in parts):
            return whole
        return "".join(REMOVED if part.casefold() in self.names else part for part in parts)


__all__ = ["REMOVED", "Screen", "known_names"]
