"""Reading TOML that somebody else wrote. Pure: no Django.

Python's reader takes the square of the time for a key of many parts: `a.a.a. ...`, 100 kB long, keeps a
processor busy for a minute. No file of this program has a key of more than a few.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_PARTS = 20
_TEXTS = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*''', re.DOTALL
)
_BETWEEN = re.compile(r"[^\w.-]+")


def loads(text: str) -> dict[str, Any]:
    """What `text` says. Raises ValueError for what is no TOML or has a key of more than MOST_PARTS parts, and
    RecursionError for what is nested too deep."""
    # Without texts and remarks, dots stand in numbers, times and keys alone.
    bare = _TEXTS.sub("x", text).replace(" ", "").replace("\t", "")
    if any(word.count(".") >= MOST_PARTS for word in _BETWEEN.split(bare)):
        raise ValueError(f"a key has more than {MOST_PARTS} parts")
    return tomllib.loads(text)
