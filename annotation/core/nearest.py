"""Suggesting a known name for one that is misspelt. Pure: no Django."""

import difflib
from collections.abc import Iterable


class Nearest:
    """The name most like another, whatever its case.

    Examples
    --------
    >>> Nearest(["Mexican", "French"]).to("mexcan")
    'Mexican'
    >>> Nearest(["Mexican", "French"]).to("teapot")
    ''
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name.casefold(): name for name in names}

    def to(self, name: str) -> str:
        found = difflib.get_close_matches(name.casefold(), self._names, n=1, cutoff=0.7)
        return self._names[found[0]] if found else ""
