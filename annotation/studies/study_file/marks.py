"""Places in the texts of a study file that must be adapted: `[[name of your institution]]`. No Django."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.studies.errors import KeyPath

OPENING = "[["
"""Begins a mark."""
_MARK = re.compile(r"\[\[(?!(?:attr|id)\]\])[^\[\]]*\w[^\[\]]*\]\]")
# A lone '[[' is somebody's own text; so are '[[attr]]' and '[[id]]', a wording's places in brackets.


@dataclass(frozen=True)
class Mark:
    """A mark, e.g. '[[name of your institution]]', and the key of the text that holds it."""

    key: KeyPath
    text: str


def is_marked(*texts: str) -> bool:
    return any(_MARK.search(text) for text in texts)


def marks_in(text: str) -> list[str]:
    """The marks of a text, in order.

    Examples
    --------
    >>> marks_in("Write to [[your address]]. 'Does [[attr]] fit?' [[1, 2], [")
    ['[[your address]]']
    """
    return _MARK.findall(text)


def split_at_marks(text: str) -> list[str]:
    """What stands before, between and after the marks of a text.

    Examples
    --------
    >>> split_at_marks("Write to [[your address]].")
    ['Write to ', '.']
    """
    return _MARK.split(text)


def find_marks(document: Mapping[str, Any]) -> list[Mark]:
    """Every mark in the content of a study file, in its order.

    Examples
    --------
    >>> find_marks({"tasks": [{"examples": [{"text": "[[an example]]"}]}]})
    [Mark(key='tasks[1].examples[1].text', text='[[an example]]')]
    """
    return [Mark(KeyPath(key), mark) for key, text in _texts(document, "") for mark in marks_in(text)]


def replace_marks(value: Any, replacements: Mapping[str, str]) -> Any:
    """`value`, at any depth, with marks replaced by what they stand for.

    Examples
    --------
    >>> replace_marks({"consent": {"text": "By [[us]]."}}, {"[[us]]": "the university"})
    {'consent': {'text': 'By the university.'}}
    """
    if isinstance(value, Mapping):
        return {key: replace_marks(inner, replacements) for key, inner in value.items()}
    if isinstance(value, list):
        return [replace_marks(inner, replacements) for inner in value]
    if isinstance(value, str) and OPENING in value:
        return _MARK.sub(lambda found: replacements.get(found[0], found[0]), value)
    return value


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value, 1):
            # texts of a list share a field on the pages
            yield from _texts(inner, key if isinstance(inner, str) else f"{key}[{number}]")
