"""What every reader of a ZIP needs to know."""

import lzma
import zipfile
import zlib
from pathlib import PurePosixPath

UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError)
"""What zipfile raises for damaged and encrypted files, invalid offsets, and versions or compressions that it
does not know."""


def is_hidden(name: str) -> bool:
    """Whether nobody means this file: its name, or that of a folder, begins with a dot, or macOS added it.

    Examples
    --------
    >>> is_hidden("faces/._one.png"), is_hidden("__MACOSX/one.png"), is_hidden("faces/one.png")
    (True, True, False)
    """
    parts = PurePosixPath(name).parts
    return "__MACOSX" in parts or any(part.startswith(".") and part != ".." for part in parts)
