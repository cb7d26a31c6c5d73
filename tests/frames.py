"""Room for the frames of calls.

Python 3.11 takes memory for frames from the system 16 kB at a time, and returns it when the first frame in it
ends. A loop that calls something just where such a piece ends does both at each call: this happened a
thousand times in each test of a page, and took up to a tenth of its time. Later versions keep one piece at
hand: https://github.com/python/cpython/issues/142183
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def with_room(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, called from one frame as large as a thousand: the frames of all that it calls fit into the
    same piece of memory."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    called.__code__ = called.__code__.replace(co_stacksize=70_000)
    return called
