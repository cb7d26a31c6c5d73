"""Read the answers of machine judges, strictly (PROTOCOL §16). Pure: no Django.

An answer that is not in the form that was asked for is a problem, which is counted. Nothing is guessed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from metrics.machine_judges.design import Boxes

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST = 20_000
"""Characters of an answer; a longer one is in no form that was asked for."""
MOST_BOXES = 100
"""Of one option."""
_FENCES = ("```", "```json")
_LETTER = re.compile(r"\A\(?([A-Za-z])[.)]?\Z")

Corners = tuple[float, float, float, float]


class Problem(StrEnum):
    """Why an answer cannot be used."""

    EMPTY = "empty"
    WITHHELD = "withheld"  # by a filter
    UNREADABLE = "unreadable"  # in another form
    OUTSIDE = "outside"  # none of the choices
    NOTHING = "nothing"  # nothing chosen, not even none of the above
    CONTRADICTORY = "contradictory"  # none of the above with something else, or one thing twice
    BOX = "box"  # a chosen attribute without a place, or a box that is none


@dataclass(frozen=True)
class Selection:
    """The chosen options, by place from 0 in the order shown. `boxes`: place -> corners in pixels, in any
    order and perhaps outside the image. `whole`: those that are visible in the image as a whole."""

    chosen: frozenset[int]
    boxes: Mapping[int, tuple[Corners, ...]] = field(default_factory=dict)
    whole: frozenset[int] = frozenset()


class _Unusable(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


def read_choice(text: str, options: int) -> int | Problem:
    """The place, from 0, of the one chosen of so many options.

    The answer is `{"answer": "B"}`, perhaps with other fields and between code fences, or the letter alone.

    Examples
    --------
    >>> read_choice('{"answer": "B", "reason": "a hat"}', 5), read_choice("c)", 5), read_choice("F", 5)
    (1, 2, <Problem.OUTSIDE: 'outside'>)
    """
    try:
        alone = _LETTER.match(text.strip())
        return _place(alone[1] if alone else _object(text).get("answer"), options)
    except _Unusable as unusable:
        return unusable.problem


def read_selection(
    text: str, options: int, *, none: int, boxes: str = Boxes.NONE, width: int = 0, height: int = 0
) -> Selection | Problem:
    """The options chosen of so many, with their boxes where these were asked for. `none`: the place of none
    of the above. `width`, `height`: of the image, in pixels.

    The answer is `{"chosen": ["A", "C"]}`; with boxes, each element is `{"option": "A", "boxes": [[x0, y0,
    x1, y1]]}` or `{"option": "A", "whole_image": true}`, but for none of the above, which has no place.

    Examples
    --------
    >>> sorted(read_selection('{"chosen": ["A", "C"]}', 5, none=4).chosen)
    [0, 2]
    >>> read_selection('{"chosen": ["A", "E"]}', 5, none=4)
    <Problem.CONTRADICTORY: 'contradictory'>
    """
    try:
        found = _object(text).get("chosen")
        if not isinstance(found, list):
            raise _Unusable(Problem.UNREADABLE)
        return _selection(found, options, none, _Scale.of(boxes, width, height))
    except _Unusable as unusable:
        return unusable.problem


@dataclass(frozen=True)
class _Scale:
    """Factors from a model's coordinates to pixels."""

    x: float
    y: float

    @classmethod
    def of(cls, boxes: str, width: int, height: int) -> "_Scale | None":
        if boxes == Boxes.NONE:
            return None
        return cls(1.0, 1.0) if boxes == Boxes.PIXELS else cls(width / 1000, height / 1000)


def _selection(found: list[Any], options: int, none: int, scale: _Scale | None) -> Selection:
    if not found:
        raise _Unusable(Problem.NOTHING)
    boxes: dict[int, tuple[Corners, ...]] = {}
    whole: set[int] = set()
    chosen: list[int] = []
    for each in found:
        place = _place(each.get("option") if isinstance(each, dict) else each, options)
        chosen.append(place)
        if scale is None or place == none:
            continue
        own = _boxes(each.get("boxes", []) if isinstance(each, dict) else [], scale)
        is_whole = isinstance(each, dict) and each.get("whole_image", False)
        if not isinstance(is_whole, bool) or not (own or is_whole):
            raise _Unusable(Problem.BOX)
        if own:
            boxes[place] = own
        if is_whole:
            whole.add(place)
    if len(set(chosen)) < len(chosen) or (none in chosen and len(chosen) > 1):
        raise _Unusable(Problem.CONTRADICTORY)
    return Selection(frozenset(chosen), boxes, frozenset(whole))


def _boxes(found: Any, scale: _Scale) -> tuple[Corners, ...]:
    if not isinstance(found, list) or len(found) > MOST_BOXES:
        raise _Unusable(Problem.BOX)
    return tuple(_corners(each, scale) for each in found)


def _corners(found: Any, scale: _Scale) -> Corners:
    if not isinstance(found, list) or len(found) != 4:
        raise _Unusable(Problem.BOX)
    for each in found:
        # a bool is an int in Python, an int can be too large for a float, and nan is not below anything
        if type(each) not in (int, float) or not abs(each) < 1e9:
            raise _Unusable(Problem.BOX)
    x0, y0, x1, y1 = found
    return x0 * scale.x, y0 * scale.y, x1 * scale.x, y1 * scale.y


def _place(letter: Any, options: int) -> int:
    if not isinstance(letter, str):
        raise _Unusable(Problem.UNREADABLE)
    found = _LETTER.match(letter.strip())
    if found is None:
        raise _Unusable(Problem.OUTSIDE)
    place = LETTERS.index(found[1].upper())
    if place >= options:
        raise _Unusable(Problem.OUTSIDE)
    return place


def _object(text: str) -> dict[str, Any]:
    """The answer as an object; a field that occurs twice makes it unreadable."""
    if len(text) > LONGEST:
        raise _Unusable(Problem.UNREADABLE)
    stripped = text.strip()
    if not stripped:
        raise _Unusable(Problem.EMPTY)
    try:
        found = json.loads(_unfenced(stripped), object_pairs_hook=_fields, parse_constant=_no_json)
    except (ValueError, RecursionError) as error:
        raise _Unusable(Problem.UNREADABLE) from error
    if not isinstance(found, dict):
        raise _Unusable(Problem.UNREADABLE)
    return found


def _unfenced(text: str) -> str:
    """The lines between code fences, or the text without any. A regular expression would try the white space
    of a hostile answer in every way, for hours."""
    first, _, others = text.partition("\n")
    inside, _, last = others.rpartition("\n")
    return inside if first.strip().lower() in _FENCES and last.strip() == "```" else text


def _no_json(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a field occurs twice")
    return dict(pairs)
