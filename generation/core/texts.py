"""Texts of models and servers, as a database takes them. Pure: no Django."""

_NO_TEXT = str.maketrans({"\0": "\N{REPLACEMENT CHARACTER}"})


def storable(text: str) -> str:
    """The text without what no database takes: NUL and half characters are replaced."""
    return text.translate(_NO_TEXT).encode("utf-8", "replace").decode("utf-8")
