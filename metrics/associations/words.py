"""The words in a model's answers (PROTOCOL §11), in both variants. Pure: no Django."""

import re
from collections.abc import Iterable
from importlib.resources import files

from metrics.captions.stats.term_finder import lemmas

LONGEST_WORD = 200
"""Letters that a table holds; a longer one is cut."""
_BRACKETS = re.compile(r"\[(.*?)\]", re.DOTALL)
_SPACES = re.compile(r"\s+")
_LETTERS = r"[^\W\d_]"
# one word: letters, with single hyphens or apostrophes between them; a lone letter is not a completed word
_WORD = re.compile(rf"{_LETTERS}+(?:[-'’]{_LETTERS}+)+|{_LETTERS}{{2,}}")
# a word with digits is none
_TOKENS = re.compile(rf"(?<!\w){_LETTERS}+(?:'{_LETTERS}+)*(?!\w)")

STOP_WORDS = frozenset(files("metrics.associations").joinpath("stop_words.txt").read_text("utf-8").split())
"""English function words, the list that NLTK has."""


def bracketed(text: str) -> str | None:
    """The text inside the first brackets; None without any."""
    found = _BRACKETS.search(text)
    return found[1] if found else None


def completed_word(text: str) -> str:
    """*Published*: the text inside the first brackets, or the whole answer without any, in lower case and
    without spaces; "" if nothing is there.

    Examples
    --------
    >>> completed_word("The word is [ Ambi tious ].")
    'ambitious'
    """
    inside = bracketed(text)
    word = _SPACES.sub("", text if inside is None else inside).lower()
    return word[:LONGEST_WORD]


def valid_word(text: str, letter: str, *, needs_brackets: bool) -> str | None:
    """*Corrected*: the completed word, or None if it is no single word of at least two letters, begins with
    another letter, or (`needs_brackets`) is not in brackets.

    Examples
    --------
    >>> valid_word("[Ambitious]", "a", needs_brackets=True)
    'ambitious'
    >>> valid_word("[lazy]", "a", needs_brackets=True) is valid_word("ambitious", "a", needs_brackets=True)
    True
    """
    inside = bracketed(text)
    if inside is None:
        if needs_brackets:
            return None
        # a message without brackets is no word, but "[ambi tious]" is
        word = text.strip().lower()
    else:
        word = _SPACES.sub("", inside).lower()
    if not word.startswith(letter) or len(word) > LONGEST_WORD or not _WORD.fullmatch(word):
        return None
    return word


def published_words(text: str) -> list[str]:
    """*Published*: lower case, split at white space, tokens of letters only, without stop words.

    Examples
    --------
    >>> published_words("The man wears a red hat, and a scarf")
    ['man', 'wears', 'red', 'scarf']
    """
    return [word[:LONGEST_WORD] for word in text.lower().split() if word not in STOP_WORDS and word.isalpha()]


def corrected_words(text: str, own: frozenset[str] = frozenset()) -> list[str]:
    """*Corrected*: the lemmas of real words, without stop words and without `own`, the descriptor's lemmas.

    Examples
    --------
    >>> corrected_words("The old man wears a red hat, and scarves", own=frozenset({"old"}))
    ['man', 'wear', 'red', 'hat', 'scarf']
    """
    text = text.replace("’", "'").lower()
    return [
        lemma[:LONGEST_WORD]
        for word in _TOKENS.findall(text)
        if word not in STOP_WORDS
        for lemma in lemmas(word)
        if lemma not in STOP_WORDS and lemma not in own
    ]


def own_words(names: Iterable[str]) -> frozenset[str]:
    """The lemmas of a descriptor's names."""
    return frozenset(lemma for name in names for lemma in lemmas(name))
