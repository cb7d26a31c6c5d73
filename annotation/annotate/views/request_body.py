"""Parses the JSON that the annotation page sends. Invalid times are ignored: they must not cost an answer."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from annotation.annotate.limits import DAY_MS, MAX_BOXES, MAX_ID, MAX_OPTIONS, plausible_start
from annotation.annotate.services.answer_rules import Answer, AnswerRefused
from annotation.annotate.services.responses import NotAssigned
from annotation.models import Unit


class RequestRefused(Exception):
    """A request that the page must not send again: the message for people, the field, the HTTP status."""

    def __init__(self, message: str, *, field: str = "", status: int = 400) -> None:
        super().__init__(message)
        self.field = field
        self.status = status


@contextmanager
def refusals() -> Iterator[None]:
    """Turn the services' errors into refusals: 403 for items not assigned to them, 422 for the rest."""
    try:
        yield
    except NotAssigned as error:
        raise RequestRefused(str(error), status=403) from error
    except Unit.DoesNotExist as error:
        raise RequestRefused(_("This item belongs to another study."), status=403) from error
    except AnswerRefused as error:
        raise RequestRefused(str(error), field="answers", status=422) from error


def parse(request: HttpRequest) -> Mapping[str, Any]:
    """The body, which must be a JSON object."""
    try:
        body = json.loads(request.body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RequestRefused("The body must be one JSON object.")
    return body


def integer(
    body: Mapping[str, Any], name: str, *, default: int | None = None, minimum: int = 0, maximum: int = MAX_ID
) -> int:
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise RequestRefused(f"'{name}' must be a whole number from {minimum} to {maximum}.", field=name)
    return value


def text(body: Mapping[str, Any], name: str, *, maximum: int) -> str:
    value = body.get(name, "")
    # A line end is one character, however it is written, as in a text box.
    value = value.replace("\r\n", "\n").strip() if isinstance(value, str) else None
    if value is None or len(value) > maximum or "\x00" in value:
        raise RequestRefused(f"'{name}' must be a text of at most {maximum} characters.", field=name)
    return value


def uuid(body: Mapping[str, Any], name: str) -> UUID:
    return _uuid(body.get(name), name)


def uuids(body: Mapping[str, Any], name: str) -> list[UUID]:
    return [_uuid(value, name) for value in _list(body, name, maximum=1000)]


def answers(body: Mapping[str, Any]) -> list[Answer]:
    """The answer to each option shown."""
    return [_answer(data) for data in _list(body, "answers", maximum=MAX_OPTIONS)]


def times(body: Mapping[str, Any]) -> dict[str, Any]:
    """`started_at`, `active_ms` and `idle_ms`; invalid ones are None."""
    return {
        "started_at": plausible_start(body.get("started_at", "")),
        "active_ms": _milliseconds(body.get("active_ms")),
        "idle_ms": _milliseconds(body.get("idle_ms")),
    }


def _answer(data: Any) -> Answer:
    if not isinstance(data, dict):
        raise RequestRefused("Each of 'answers' must be an object.", field="answers")
    whole_image = data.get("whole_image", False)
    if not isinstance(whole_image, bool):
        raise RequestRefused("'whole_image' must be true or false.", field="whole_image")
    return Answer(
        option_id=integer(data, "option", minimum=1),
        value=integer(data, "value", minimum=-1000, maximum=1000),
        position=integer(data, "position", minimum=1, maximum=MAX_OPTIONS),
        justification=text(data, "justification", maximum=2000),
        whole_image=whole_image,
        boxes=[_box(corners) for corners in _list(data, "boxes", maximum=MAX_BOXES)],
    )


def _box(corners: Any) -> tuple[float, float, float, float]:
    if (
        not isinstance(corners, list)
        or len(corners) != 4
        or not all(_is_number(corner) for corner in corners)
    ):
        raise RequestRefused("A box must be four numbers: x0, y0, x1, y1 in pixels.", field="boxes")
    x0, y0, x1, y1 = (float(corner) for corner in corners)
    return x0, y0, x1, y1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _list(body: Mapping[str, Any], name: str, *, maximum: int) -> list[Any]:
    value = body.get(name, [])
    if not isinstance(value, list) or len(value) > maximum:
        raise RequestRefused(f"'{name}' must be a list of at most {maximum}.", field=name)
    return value


def _uuid(value: Any, name: str) -> UUID:
    try:
        return UUID(value)
    except (TypeError, ValueError, AttributeError) as error:
        raise RequestRefused(f"'{name}' must be a key as this server gave it out.", field=name) from error


def _milliseconds(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(int(value), DAY_MS) if value >= 0 else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
