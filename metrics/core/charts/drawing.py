"""altair, imported where a chart is drawn and not at the top of a module: it takes most of a second.

altair looks into pandas if it finds it among the loaded modules. Another thread may be half through loading
it (pyogrio does, for maps), so it is loaded first.

Each step copies the whole chart, row by row, but not what is in a tuple: data are given as tuples. No part is
checked against the schema of Vega-Lite, which takes seconds for a chart of many parts: tests do that.
"""

from collections.abc import Iterable
from typing import Any

import altair as alt
import pandas  # noqa: F401
from altair.utils import schemapi

__all__ = ["alt"]

_NEVER_CHANGED = frozenset({schemapi.UndefinedType, str, int, float, bool, type(None), tuple})
_altairs_copy = schemapi._deep_copy


def _deep_copy(part: Any, by_ref: set[str]) -> Any:
    """In the place of altair's own, which calls itself for each of the hundred properties that a mark could
    have, and composes each copy of a composed chart anew, with two more copies of its parts."""
    if isinstance(part, schemapi.SchemaBase):
        if hasattr(type(part), "__deepcopy__"):
            return _altairs_copy(part, by_ref)
        copied = object.__new__(type(part))
        object.__setattr__(copied, "_args", tuple(_deep_copy(one, by_ref) for one in part._args))
        object.__setattr__(copied, "_kwds", _values_copied(part._kwds, by_ref))
        return copied
    if isinstance(part, list):
        return [_deep_copy(one, by_ref) for one in part]
    return _values_copied(part, by_ref) if isinstance(part, dict) else part


def _values_copied(parts: dict[str, Any], by_ref: set[str]) -> dict[str, Any]:
    return {
        name: one if type(one) in _NEVER_CHANGED or name in by_ref else _deep_copy(one, by_ref)
        for name, one in parts.items()
    }


class _Classes(schemapi._FromDict):
    """altair goes through all its classes, and writes the schema of each, for every field of a chart."""

    class_dict = schemapi._FromDict(schemapi._subclasses(alt.VegaLiteSchema)).class_dict

    def __init__(self, _wrapper_classes: Iterable[type], /) -> None:
        """They are known."""


schemapi.disable_debug_mode()
schemapi._FromDict = _Classes  # type: ignore[misc]
schemapi._deep_copy = _deep_copy  # type: ignore[assignment]
