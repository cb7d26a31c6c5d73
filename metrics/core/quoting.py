"""Names, numbers and dates in a sentence that may run from right to left."""

from django.utils.translation import get_language_bidi


def quoted(name: str) -> str:
    """A name in quotes, for a sentence."""
    return isolated(f"“{name}”")


def isolated(text: str) -> str:
    """A text that runs from left to right in a sentence of the reader's language: where that runs from right
    to left, its quotes, and the parts of a date, would change places."""
    return f"\N{LEFT-TO-RIGHT ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}" if get_language_bidi() else text
