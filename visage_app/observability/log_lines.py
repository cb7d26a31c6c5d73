"""Log formatters, for people or as JSON, which leave out names and texts of people.

A record about a request has its route instead of its path, which may contain a token; an error has its class,
its place in the code and the safe part of its message (`describe_error`).
"""

import copy
import http.client
import logging
import re
import sqlite3
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError
from pythonjsonlogger.json import JsonFormatter

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the current request; empty outside a request."""
META = "visage.request_id"
"""The key of the request id in request.META."""
_FIELDS = ("route", "method", "status", "duration_ms")
# The program chooses what it logs of an error; libraries log the whole error message.
_OWN = ("annotation", "generation", "metrics", "visage_app")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return super().format(redacted(record))

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - logging's own name
        return stack(ei[1])


class LineFormatter(_SafeFormatter):
    """2026-11-22 01:02:03,004 WARNING visage_app.health.readiness [request id] message"""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s")


class JsonLineFormatter(_SafeFormatter, JsonFormatter):
    """One JSON object per line, with a fixed list of fields."""

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        log_data["time"] = self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{record.msecs:03.0f}Z"
        log_data |= {"level": record.levelname, "logger": record.name, "message": record.getMessage()}
        log_data["process"] = record.process
        if current_id := getattr(record, "request_id", ""):
            log_data["request_id"] = current_id
        log_data |= {name: getattr(record, name) for name in _FIELDS if hasattr(record, name)}
        if message_dict.get("exc_info"):
            log_data["exception"] = message_dict["exc_info"]


def redacted(record: logging.LogRecord) -> logging.LogRecord:
    """A copy of the record without personal data, and with the id of the request."""
    safe = copy.copy(record)
    safe.exc_text = None
    safe.__dict__["request_id"] = request_id.get()
    request: Any = getattr(record, "request", None)
    if hasattr(request, "path"):
        status = getattr(record, "status_code", 0)
        # Django logs this after all middleware: the id is still on the request.
        safe.__dict__["request_id"] = request.META.get(META, "")
        route = route_of(request)
        safe.__dict__["route"] = route
        safe.msg, safe.args = "%s: %s", (_phrase(status, record), route)
    elif record.name.startswith("gunicorn"):
        text = re.sub(r"\bip=[0-9a-fA-F.:]*[0-9a-fA-F]", "ip=-", record.getMessage())
        safe.msg, safe.args = re.sub(r"(Error handling request) .*", r"\1", text), ()
    elif isinstance(record.args, dict) and "exc" in record.args:  # Celery, of a task that failed
        error = record.exc_info[1] if record.exc_info else None
        safe.args = record.args | {"exc": describe_error(error), "traceback": "", "args": "", "kwargs": ""}
    elif isinstance(record.args, tuple) and record.name.partition(".")[0] not in _OWN:
        safe.args = tuple(
            describe_error(each) if isinstance(each, BaseException) else each for each in record.args
        )
    return safe


def route_of(request: Any) -> str:
    """The name of the requested URL pattern; *static* or *none* without a match."""
    match = request.resolver_match
    if match is not None:
        return str(match.view_name or "unnamed")
    return "static" if request.path.startswith("/static/") else "none"


def stack(error: BaseException | None) -> str:
    """The traceback of an error and its causes, without the values in messages."""
    lines: list[str] = []
    for each in reversed(list(chain(error))):
        lines += ["Caused another:"] if lines else []
        places = traceback.extract_tb(each.__traceback__)
        lines += [f'  File "{place.filename}", line {place.lineno}, in {place.name}' for place in places]
        lines.append(describe_error(each))
    return "\n".join(lines)


def describe_error(error: BaseException | None) -> str:
    """The class of an error, with the part of its message that cannot contain a value of a row or a form.

    For a database error: its code and the constraint, or the first line if the connection failed; for
    OSError: the system's message; otherwise only the class.
    """
    if error is None:
        return "unknown"
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(error, OSError):
        text = error.strerror or ""
    elif isinstance(error, OperationalError | InterfaceError):
        text = str(error).partition("\n")[0]
    elif isinstance(error, DatabaseError):
        text = _code(error.__cause__)
    else:
        text = ""
    return f"{name}: {text}" if text else name


def _code(error: BaseException | None) -> str:
    if isinstance(error, sqlite3.Error):
        return str(getattr(error, "sqlite_errorname", ""))
    diagnosis = getattr(error, "diag", None)
    parts = [getattr(error, "sqlstate", None), getattr(diagnosis, "constraint_name", None)]
    return " ".join(part for part in parts if part)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes, the latest first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _phrase(status: int, record: logging.LogRecord) -> str:
    """*Forbidden (Origin checking failed)*: Django's reason, without the data of the request."""
    phrase = http.client.responses.get(status, "Request")
    if record.name == "django.security.csrf" and isinstance(record.args, tuple) and record.args:
        return f"{phrase} ({str(record.args[0]).partition(' - ')[0].rstrip('.')})"
    return phrase
