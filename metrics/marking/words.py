"""Whether a text names a group (PROTOCOL §12). Pure: no Django.

A text is marked if one of the group's words stands directly before a noun for a person: "an Asian woman".
Case does not matter. Spaces and hyphens are the same: "african american" finds "African-American man". A word
that is part of a longer compound does not count: neither "black-haired woman" nor "non-white man", and
"asian-american woman" only if "asian american" is one of the words.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

NOUNS = ("person", "people", "persons", "man", "men", "woman", "women")
MOST_WORDS = 50
LONGEST_WORD = 80
_ENDING = re.compile(r"(?<=\w)(?P<first>\w)/(?P<other>\w{1,2})(?!\w)")


class WordsRefused(ValueError):
    """Words that cannot be looked for. The message names the line or the field, and the cure."""


@dataclass(frozen=True)
class WordList:
    """`words`: group -> its words. `alone`: a word counts without a noun, also in "a white shirt"."""

    words: Mapping[str, tuple[str, ...]]
    nouns: tuple[str, ...] = NOUNS
    alone: bool = False

    def pattern(self, group: str) -> re.Pattern[str]:
        """What a text that names the group contains. Finds nothing if the group has no word."""
        words = "|".join(map(_flexible, _longest_first(self.words.get(group, ()))))
        if not words:
            return re.compile(r"(?!)")
        nouns = "|".join(map(_flexible, _longest_first(self.nouns)))
        after = "" if self.alone else rf"[\s-]+(?:{nouns})"
        return re.compile(rf"(?<![\w-])(?:{words}){after}(?![\w-])", re.IGNORECASE)


def marks(listed: WordList, group: str, text: str) -> bool:
    """Whether `text` names the group.

    Examples
    --------
    >>> listed = WordList({"Asian": ("asian",)})
    >>> marks(listed, "Asian", "An Asian woman in a red coat"), marks(listed, "Asian", "asian food")
    (True, False)
    """
    return listed.pattern(group).search(text) is not None


def default_words(name: str, demonym: str, singular: str, nouns: Sequence[str] = NOUNS) -> tuple[str, ...]:
    """What the catalogue calls a group: its name, demonym and singular, each once, without a noun at its end.
    A name with a slash is several words: captions write "latina" and "latino", hardly ever "latina/o".

    Examples
    --------
    >>> default_words("Mexico", "Mexican", "Mexican person"), default_words("Latina/o", "", "")
    (('mexico', 'mexican'), ('latina', 'latino'))
    """
    texts = (each for text in (name, demonym, singular) for each in _without_slash(text))
    return tuple(dict.fromkeys(filter(None, (_bare(text, nouns) for text in texts))))


def read_words(text: str, *, groups: Iterable[str], name: str = "words") -> dict[str, tuple[str, ...]]:
    """The words of each group that `text` names: a line for each, `Group: word, word`. Empty lines and lines
    that begin with # are left out. `groups`: those that there are. Raises WordsRefused.

    Examples
    --------
    >>> read_words("Asian: asian, Asian American", groups=["Asian", "White"])
    {'Asian': ('asian', 'asian american')}
    """
    known = {group.casefold(): group for group in groups}
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where = f"{name}: line {number}"
        given, colon, words = (part.strip() for part in line.partition(":"))
        if not colon or not given:
            raise WordsRefused(f"{where}: write the group, a colon and its words: Group: word, word.")
        group = known.get(given.casefold())
        if group is None:
            there = ", ".join(sorted(known.values())) or "none"
            raise WordsRefused(f"{where}: the set has no group '{given[:60]}'. There are: {there}.")
        if group in found:
            raise WordsRefused(f"{where}: '{group}' has a line above. Write all its words in one line.")
        found[group] = check_words(words.split(","), where)
    return found


def check_words(words: Iterable[str], where: str) -> tuple[str, ...]:
    """The words in lower case, each once. Raises WordsRefused."""
    found = tuple(dict.fromkeys(filter(None, (" ".join(word.lower().split()) for word in words))))
    if not found:
        raise WordsRefused(f"{where}: there is no word. Give at least one.")
    if len(found) > MOST_WORDS:
        raise WordsRefused(f"{where}: {len(found)} words; at most {MOST_WORDS} are possible.")
    for word in found:
        if len(word) > LONGEST_WORD or not re.search(r"\w", word):
            raise WordsRefused(f"{where}: '{word[:40]}' is no word of at most {LONGEST_WORD} characters.")
    return found


def as_lines(words: Mapping[str, Sequence[str]]) -> str:
    """Inverse of `read_words`."""
    return "".join(f"{group}: {', '.join(each)}\n" for group, each in words.items())


def _without_slash(text: str) -> list[str]:
    """One or two letters after a slash replace the letter before it; more are a name of their own."""
    if ending := _ENDING.search(text):
        other = f"{text[: ending.start()]}{ending['other']}{text[ending.end() :]}"
        first = f"{text[: ending.start()]}{ending['first']}{text[ending.end() :]}"
        return [*_without_slash(first), *_without_slash(other)]
    return text.split("/")


def _bare(text: str, nouns: Sequence[str]) -> str:
    words = text.lower().split()
    while len(words) > 1 and words[-1] in nouns:
        words.pop()
    return " ".join(words)


def _longest_first(words: Sequence[str]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _flexible(word: str) -> str:
    return r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", word.strip(" -"))))
