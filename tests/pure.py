"""Plans and drawings, made once for all tests that do not look at them, and pages without their context.

A test that asks for every address empties the cache between two requests, so that no answer is left from
the one before. Plans and drawings come from nothing but what they are made of: to make them anew for each
request is most of the time that such a test takes. Django's client keeps a copy of what each template was
given, which no such test reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.test import client

from metrics.core.charts import figure
from metrics.planning import curves, queries, stats

_STUDIES = 2
"""Simulated studies of each design of a plan: what is asked here is whether there is an answer, not which."""
_CURVES = {"_FACTORS": (2.0,), "_OVERLAPS": (1,)}
"""The other designs of its curves: one on each."""
_made: dict[str, Any] = {}


def _once(make: Callable[..., Any]) -> Callable[..., Any]:
    def known(*args: Any, **kwargs: Any) -> Any:
        asked = repr((make, args, sorted(kwargs.items())))
        if asked not in _made:
            _made[asked] = make(*args, **kwargs)
        return _made[asked]

    return known


_plan = _once(lambda *args, studies, **kwargs: curves.make_plan(*args, studies=_STUDIES, **kwargs))
_expected = _once(lambda *args, studies, **kwargs: stats.expected(*args, studies=_STUDIES, **kwargs))
_draw = _once(figure._draw)


def _sketch(spec: dict[str, Any], file_format: str) -> bytes:
    """In the place of a picture: what it would be drawn from."""
    return f'<svg viewBox="0 0 640 400">{json.dumps(spec)}</svg>'.encode()


def _store_nothing(*_args: Any, **_given: Any) -> None:
    """In the place of what copies each context."""


@contextmanager
def made_once(*, drawn: bool = True) -> Iterator[None]:
    """While it lasts, equal plans and equal drawings are made once, plans are of few studies and few other
    designs, and answers have no `context`. `drawn` False: in the place of each drawing is the specification
    of its chart, which says more and takes no time. That each chart can be drawn is asked in tests/metrics
    and in tests/test_access.py."""
    with (
        mock.patch.object(queries, "make_plan", _plan),
        mock.patch.multiple(curves, expected=_expected, **_CURVES),
        mock.patch.object(figure, "_draw", _draw if drawn else _sketch),
        mock.patch.object(client, "store_rendered_templates", _store_nothing),
    ):
        yield
