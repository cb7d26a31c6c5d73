"""Characters that change the order in which a text is shown. Pure: no Django."""

import re

_PAIR = re.compile("[\u2066-\u2068][^\u202a-\u202e\u2066-\u2069]*\u2069")
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def reordering_character(text: str) -> str:
    r"""The first character that can turn around what stands after `text` on a page, or the text itself, as
    'U+202E'; "" if there is none. Isolates that are closed in the text stay within it, and the marks and
    joiners of Arabic and Persian (U+200C to U+200F, U+061C) turn nothing around.

    Examples
    --------
    >>> reordering_character("What can \u202ebe seen?")
    'U+202E'
    >>> reordering_character("\u2068SeeGULL\u2069 in Persian: \u0645\u06cc\u200c\u0634\u0648\u062f")
    ''
    """
    found = _REORDERING.search(_PAIR.sub("", text))
    return f"U+{ord(found[0]):04X}" if found else ""
