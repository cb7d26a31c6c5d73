"""Reading the JSON that the page at work sends. What is about time is a help, not a condition: nonsense
there loses no answer."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NoReturn
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.annotate.services.responses import Answer, AnswerRefused, NotAssigned
from annotation.models import Unit

_DAY_MS = 24 * 60 * 60 * 1000
_LARGEST_ID = 2**63 - 1
_MOST_OPTIONS = 200
_MOST_BOXES = 200


class Refused(Exception):
    """What cannot be taken: the words for people, the field, the HTTP status."""

    def __init__(self, words: str, *, field: str = "", status: int = 400) -> None:
        super().__init__(words)
        self.field = field
        self.status = status


@contextmanager
def refusals() -> Iterator[None]:
    """What the services refuse, as an answer to the page: 403 for what is not theirs, 422 for the rest."""
    try:
        yield
    except NotAssigned as error:
        raise Refused(str(error), status=403) from error
    except Unit.DoesNotExist as error:
        raise Refused(_("This item belongs to another study."), status=403) from error
    except AnswerRefused as error:
        raise Refused(str(error), field="answers", status=422) from error


def read(request: HttpRequest) -> Mapping[str, Any]:
    """The body as a JSON object; Refused if it is none."""
    try:
        body = json.loads(request.body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Refused("The body must be one JSON object.")
    return body


def whole(
    body: Mapping[str, Any], name: str, *, default: int | None = None, least: int = 0, most: int = _LARGEST_ID
) -> int:
    value = body.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refused(f"'{name}' must be a whole number from {least} to {most}.", field=name)
    return value


def text(body: Mapping[str, Any], name: str, *, most: int) -> str:
    value = body.get(name, "")
    # One end of a line is one character, however it is written: so a text box counts it, too.
    value = value.replace("\r\n", "\n").strip() if isinstance(value, str) else None
    if value is None or len(value) > most or "\x00" in value:
        raise Refused(f"'{name}' must be a text of at most {most} characters.", field=name)
    return value


def key(body: Mapping[str, Any], name: str) -> UUID:
    return _key(body.get(name), name)


def keys(body: Mapping[str, Any], name: str) -> list[UUID]:
    return [_key(value, name) for value in _list(body, name, most=1000)]


def answers(body: Mapping[str, Any]) -> list[Answer]:
    """The answer to each option shown."""
    return [_answer(said) for said in _list(body, "answers", most=_MOST_OPTIONS)]


def times(body: Mapping[str, Any]) -> dict[str, Any]:
    """`started_at`, `active_ms` and `idle_ms`, None where they make no sense."""
    return {
        "started_at": _started(body.get("started_at")),
        "active_ms": _milliseconds(body.get("active_ms")),
        "idle_ms": _milliseconds(body.get("idle_ms")),
    }


def _answer(said: Any) -> Answer:
    if not isinstance(said, dict):
        raise Refused("Each of 'answers' must be an object.", field="answers")
    whole_image = said.get("whole_image", False)
    if not isinstance(whole_image, bool):
        raise Refused("'whole_image' must be true or false.", field="whole_image")
    return Answer(
        option_id=whole(said, "option", least=1),
        value=whole(said, "value", least=-1000, most=1000),
        position=whole(said, "position", least=1, most=_MOST_OPTIONS),
        justification=text(said, "justification", most=2000),
        whole_image=whole_image,
        boxes=[_box(corners) for corners in _list(said, "boxes", most=_MOST_BOXES)],
    )


def _box(corners: Any) -> tuple[float, float, float, float]:
    if not isinstance(corners, list) or len(corners) != 4 or not all(_is_number(one) for one in corners):
        raise Refused("A box must be four numbers: x0, y0, x1, y1 in pixels.", field="boxes")
    x0, y0, x1, y1 = (float(one) for one in corners)
    return x0, y0, x1, y1


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _list(body: Mapping[str, Any], name: str, *, most: int) -> list[Any]:
    value = body.get(name, [])
    if not isinstance(value, list) or len(value) > most:
        raise Refused(f"'{name}' must be a list of at most {most}.", field=name)
    return value


def _key(value: Any, name: str) -> UUID:
    try:
        return UUID(value)
    except (TypeError, ValueError, AttributeError) as error:
        raise Refused(f"'{name}' must be a key as this server gave it out.", field=name) from error


def _started(value: Any) -> datetime | None:
    try:
        started = datetime.fromisoformat(value)
        plausible = timezone.is_aware(started) and started > timezone.now() - timedelta(days=30)
    except (TypeError, ValueError, OverflowError):
        return None
    return started if plausible else None


def _milliseconds(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(int(value), _DAY_MS) if value >= 0 else None


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
