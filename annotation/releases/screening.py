"""Removes identifying details from what annotators wrote. It may miss some: read texts before publishing."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.contrib.auth import get_user_model

from annotation.models import Annotator, Enrolment

REMOVED = "[removed]"
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x2060, 0xFEFF])
_PATTERNS = (
    # e-mail addresses, also spelled out
    re.compile(r"[\w.+'-]+\s*@\s*[\w-]+(?:\.[\w-]+)+"),
    re.compile(
        r"[\w.+-]+\s+(?:at|\(at\)|\[at\])\s+[\w-]+(?:\s*(?:\.|\bdot\b|\(dot\)|\[dot\])\s*[\w-]+)+", re.I
    ),
    # links, with and without a scheme
    re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.I),
    re.compile(r"\bwww\.\S+", re.I),
    re.compile(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|me|info|co|app|dev|ly|tv|[a-z]{2})/\S*", re.I),
    re.compile(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|info|app)\b", re.I),
    re.compile(r"(?<![\w@])@\w[\w.-]*\w"),
    # seven or more digits, however grouped, but not a range of years
    re.compile(
        r"(?<!\w)(?!(?:1\d|20)\d\d\s?[-–]\s?(?:1\d|20)\d\d(?!\w))(?:\+|00)?\(?\d(?:[\s().\-/]{0,3}\d){6,}(?!\w)"
    ),
    # participant ids of Prolific and Mechanical Turk
    re.compile(r"\b[0-9a-f]{24}\b", re.I),
    re.compile(r"\bA[0-9A-Z]{11,20}\b"),
)
_WORD = re.compile(r"[\w.@+\-]+")
_EDGES = ".@+-_"


def known_names() -> frozenset[str]:
    """All names of people in this installation, case-folded: user names, names, e-mail addresses, pseudonyms,
    ids of crowd platforms. For `Screen`."""
    names: set[str] = set()
    accounts = get_user_model().objects.values_list("username", "first_name", "last_name", "email")
    for account in accounts.iterator():
        names.update(account)
    names.update(Annotator.objects.values_list("pseudonym", flat=True).iterator())
    for ids in Enrolment.objects.values_list("crowd_participant", "crowd_session").iterator():
        names.update(ids)
    return frozenset(part for name in names for part in _parts(name))


def _parts(name: str) -> Iterable[str]:
    """A name as a whole and its words, so that 'Ada Lovelace' is found in 'ask Lovelace'."""
    folded = _plain(name).casefold()
    return [part for part in {folded, *_WORD.findall(folded)} if len(part) > 2]


def _plain(text: str) -> str:
    """Text that looks the same in one form: full-width letters become narrow, invisible characters go."""
    return unicodedata.normalize("NFKC", text).translate(_INVISIBLE)


@dataclass
class Screen:
    """Screens texts, and counts how many it changed."""

    names: frozenset[str]
    texts: int = field(default=0, init=False)
    removed: int = field(default=0, init=False)

    def __call__(self, text: str) -> str:
        """`text` with every identifying detail replaced by `[removed]`."""
        plain = screened = _plain(text)
        for pattern in _PATTERNS:
            screened = pattern.sub(REMOVED, screened)
        screened = _WORD.sub(self._remove_known, screened)
        self.texts += bool(text)
        if screened == plain:
            return text
        self.removed += 1
        return screened

    def _remove_known(self, word: re.Match[str]) -> str:
        whole = word.group()
        folded = whole.casefold()
        if folded in self.names or folded.strip(_EDGES) in self.names:
            return REMOVED
        parts = re.split(r"([.@+\-])", whole)
        return "".join(REMOVED if part.casefold() in self.names else part for part in parts)
