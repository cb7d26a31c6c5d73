"""Finding attributes in captions (PROTOCOL §8)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

LANGUAGE = "en"
# Letters and digits; an apostrophe within a word belongs to it, a hyphen parts words.
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_LEMMAS_KEPT = 100_000


@dataclass(frozen=True)
class TermFinder:
    """Attributes, ready to be found in many captions. Made by `term_finder`.

    `phrases`: first lemma -> (the lemmas after it, number of the attribute) of every attribute that
    begins with it, so that a caption costs one look-up a word, however many attributes there are.
    """

    attributes: tuple[str, ...]
    phrases: Mapping[str, tuple[tuple[tuple[str, ...], int], ...]]

    def find(self, text: str) -> list[int]:
        """The number of the attribute, once for each time it occurs in `text`, in reading order."""
        words = lemmas(text)
        found = []
        for place, word in enumerate(words):
            for rest, number in self.phrases.get(word, ()):
                if not rest or words[place + 1 : place + 1 + len(rest)] == rest:
                    found.append(number)
        return found


def term_finder(attributes: Sequence[str]) -> TermFinder:
    """Prepare to find `attributes`: whole words after lower-casing and lemmatising, phrases as phrases.

    Parameters
    ----------
    attributes : sequence of str
        Any text; it is lower-cased and lemmatised as captions are. Two attributes with the same lemmas
        ('hat', 'hats') are both found wherever one is. A text without a word is never found.

    Returns
    -------
    Finder
        `find(caption)` gives the index into `attributes` of every occurrence. An attribute within another
        is found too: 'dark skin' is also an occurrence of 'skin'.

    Raises
    ------
    ValueError
        If an attribute is given twice: its occurrences would be counted double.

    References
    ----------
    .. [1] Jha et al. (2024), ViSAGe, ACL 2024. doi:10.18653/v1/2024.acl-long.667
    .. [2] Barbaresi, simplemma, doi:10.5281/zenodo.4673264: the lemmas, from a dictionary it ships.

    Examples
    --------
    >>> term_finder(["hat", "dark skin", "skin"]).find("Two men with dark skins, in hats; that's skin-deep.")
    [1, 2, 0, 2]
    """
    phrases: dict[str, list[tuple[tuple[str, ...], int]]] = {}
    if len(set(attributes)) < len(attributes):
        twice = next(text for place, text in enumerate(attributes) if text in attributes[:place])
        raise ValueError(f"The attribute '{twice}' is given twice.")
    for number, text in enumerate(attributes):
        words = lemmas(text)
        if words:
            phrases.setdefault(words[0], []).append((words[1:], number))
    return TermFinder(tuple(attributes), {first: tuple(found) for first, found in phrases.items()})


def lemmas(text: str) -> tuple[str, ...]:
    """The lemmas of the words of `text`, lower case.

    Hyphens part words, so that 'dark-skinned' and 'dark skinned' are the same; a possessive 's is dropped.

    Examples
    --------
    >>> lemmas("Women's dark-coloured saris")
    ('woman', 'dark', 'colour', 'sari')
    """
    return tuple(_lemma(word) for word in _WORD.findall(text.lower()))


@lru_cache(maxsize=_LEMMAS_KEPT)
def _lemma(word: str) -> str:
    # Its dictionary takes a fifth of a second to load: only for those who read captions.
    import simplemma

    plain = _POSSESSIVE.sub("", word)
    lemma = simplemma.lemmatize(plain, lang=LANGUAGE)
    if lemma == plain:
        # It knows 'Americans', which lower-casing made 'americans'.
        lemma = simplemma.lemmatize(plain.capitalize(), lang=LANGUAGE)
    return lemma.lower()
