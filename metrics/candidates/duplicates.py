"""Attributes of one group that are a plural or a form in -ing of another (PROTOCOL §14). Pure: no Django."""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field

_IRREGULAR = {
    "children": "child",
    "feet": "foot",
    "geese": "goose",
    "lice": "louse",
    "mice": "mouse",
    "people": "person",
    "teeth": "tooth",
}
_MAY_BE_DUPLICATE = re.compile(rf"(?:s|ing|men|{'|'.join(_IRREGULAR)})\b")
_VOWELS = "aeiou"


@dataclass(slots=True)
class Merged:
    """The attributes of one group without duplicates, each with its count; the counts of duplicates are added
    to those of the attribute that they duplicate. `plurals`, `ing`: duplicate -> attribute it counts for."""

    counts: dict[str, int]
    plurals: dict[str, str] = field(default_factory=dict)
    ing: dict[str, str] = field(default_factory=dict)


def merge(counts: Mapping[str, int]) -> Merged:
    """Merge the duplicates among the attributes of one group (attribute -> how often it was given).

    'terrorists' counts for 'terrorist', and 'dancing' for 'dance', if the latter is there too: a plural alone
    stays as it is. One word of a phrase may differ: 'drug dealers' and 'drug dealer'.

    Examples
    --------
    >>> merge({"dance": 1, "dancing": 2, "tacos": 3}).counts
    {'dance': 3, 'tacos': 3}
    """
    merged = Merged({})
    onto: dict[str, str] = {}
    for attribute in counts:
        if not _MAY_BE_DUPLICATE.search(attribute):
            continue
        for found, of in ((merged.plurals, _singulars), (merged.ing, _without_ing)):
            if base := _base(attribute, of, counts):
                onto[attribute] = found[attribute] = base
                break
    for attribute, count in counts.items():
        root = attribute
        while root in onto:  # 'paintings' -> 'painting' -> 'paint'
            root = onto[root]
        for found in (merged.plurals, merged.ing):
            if attribute in found:
                found[attribute] = root
        merged.counts[root] = merged.counts.get(root, 0) + count
    return merged


def _base(attribute: str, of: Callable[[str], Iterator[str]], there: Container[str]) -> str | None:
    words = attribute.split(" ")
    for place, word in enumerate(words):
        for form in of(word):
            base = " ".join([*words[:place], form, *words[place + 1 :]])
            if base in there:
                return base
    return None


def _singulars(word: str) -> Iterator[str]:
    """What `word` may be the plural of. Words that are no words do no harm: they are not there."""
    if word in _IRREGULAR:
        yield _IRREGULAR[word]
    elif word.endswith("men"):
        yield f"{word[:-2]}an"
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1]
        if word.endswith("es"):
            yield word[:-2]
        if word.endswith("ies"):
            yield f"{word[:-3]}y"
        if word.endswith("ves"):
            yield f"{word[:-3]}f"
            yield f"{word[:-3]}fe"


def _without_ing(word: str) -> Iterator[str]:
    """What `word` may be the form in -ing of: drinking, dancing, running, lying."""
    if not word.endswith("ing"):
        return
    stem = word[:-3]
    yield stem
    yield f"{stem}e"
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in _VOWELS:
        yield stem[:-1]
    if stem.endswith("y"):
        yield f"{stem[:-1]}ie"
