"""Reading untrusted TOML. Pure: no Django.

Python's reader takes quadratic time for a key with many parts: `a.a.a. ...`, 100 kB long, takes a minute.
Keys of this program's files have only a few parts.
"""

import re
import tomllib
from typing import Any

MOST_PARTS = 20
_TEXTS = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*''', re.DOTALL
)
_BETWEEN = re.compile(r"[^\w.-]+")


def loads(text: str) -> dict[str, Any]:
    """Parse `text`. Raises ValueError for invalid TOML or a key of more than MOST_PARTS parts, and
    RecursionError for TOML that is nested too deeply."""
    # Without strings and comments, dots occur only in numbers, times and keys.
    bare = _TEXTS.sub("x", text).replace(" ", "").replace("\t", "")
    if any(word.count(".") >= MOST_PARTS for word in _BETWEEN.split(bare)):
        raise ValueError(f"a key has more than {MOST_PARTS} parts")
    return tomllib.loads(text)
