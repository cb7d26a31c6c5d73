"""Finding attributes in captions (PROTOCOL §8; Jha et al. 2024, ViSAGe, doi:10.18653/v1/2024.acl-long.667).
Lemmas: the dictionary of simplemma (Barbaresi, doi:10.5281/zenodo.4673264)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

LANGUAGE = "en"
# letters and digits; an apostrophe within a word belongs to it, a hyphen separates words
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_LEMMAS_KEPT = 100_000


@dataclass(frozen=True)
class TermFinder:
    """Attributes prepared for searching many captions. Made by `term_finder`.

    `phrases`: first lemma -> (the lemmas after it, index of the attribute) of every attribute that begins
    with it, so that each word of a caption costs one look-up, however many attributes there are.
    """

    attributes: tuple[str, ...]
    phrases: Mapping[str, tuple[tuple[tuple[str, ...], int], ...]]

    def find(self, text: str) -> list[int]:
        """The index of each attribute, once for each occurrence in `text`, in reading order."""
        words = lemmas(text)
        found = []
        for place, word in enumerate(words):
            for rest, number in self.phrases.get(word, ()):
                if not rest or words[place + 1 : place + 1 + len(rest)] == rest:
                    found.append(number)
        return found


def term_finder(attributes: Sequence[str]) -> TermFinder:
    """Prepare to search for `attributes`: whole words after lower-casing and lemmatising, phrases as phrases.

    Two attributes with the same lemmas ('hat', 'hats') are both found wherever one occurs, and so is an
    attribute within another one: 'dark skin' is an occurrence of 'skin'. A text without words is never found.
    Raises ValueError if an attribute is given twice, because its occurrences would be counted twice.

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

    Hyphens separate words, so 'dark-skinned' equals 'dark skinned'; a possessive 's is dropped.

    Examples
    --------
    >>> lemmas("Women's dark-coloured saris")
    ('woman', 'dark', 'colour', 'sari')
    """
    return tuple(_lemma(word) for word in _WORD.findall(text.lower()))


@lru_cache(maxsize=_LEMMAS_KEPT)
def _lemma(word: str) -> str:
    # imported here: its dictionary takes a fifth of a second to load
    import simplemma

    plain = _POSSESSIVE.sub("", word)
    lemma = simplemma.lemmatize(plain, lang=LANGUAGE)
    if lemma == plain:
        # the dictionary has 'Americans', not 'americans'
        lemma = simplemma.lemmatize(plain.capitalize(), lang=LANGUAGE)
    return lemma.lower()
