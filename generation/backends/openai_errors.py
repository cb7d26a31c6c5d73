"""What an error of a server that speaks OpenAI's HTTP interface means for an asking, and for all of them.

Importing this module does not import openai.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from generation.backends.base import BackendError, Refused
from generation.backends.model_servers import DEFAULT, ModelServer

if TYPE_CHECKING:
    import openai

_SHOWN = 600  # letters of a server's own message
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|key|pk|api)[-_][\w*.-]{6,}|\bBearer\s+\S+", re.IGNORECASE)
_FILTER_CODES = {
    *("content_filter", "content_policy_violation", "moderation_blocked", "invalid_prompt"),
    *("responsibleaipolicyviolation", "data_inspection_failed"),
}
_FILTER_WORDS = ("flagged by moderation", "your input was flagged", "rejected by the safety system")
_UNPAID = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_TOO_LONG = ("context length", "context_length", "context window", "context size", "input tokens", "too long")
_SETTINGS = {
    *("model", "temperature", "top_p", "stop", "max_tokens", "max_completion_tokens", "size", "n", "quality"),
}
_SHORTEN = (
    "Plan a shorter prompt, or another run with a model that takes longer ones, or with a lower max_tokens."
)
_CHANGE = "Plan another prompt, or mend what the server names and retry the job."
RETRY = "Retry the job; if it comes again, look into the server's log."
_BUSY = {429, 503, 529}
_PASSING = {408, 409, 425}


class Filtered(Exception):
    """A filter of the server withheld the answer."""


class Malformed(Exception):
    """The server answered, but not in the interface's form."""


class ErrorInAnswer(Exception):
    """An error in an answer whose status is 200, as gateways send it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__("The answer is an error.")
        self.body = body

    @property
    def status(self) -> int:
        error = self.body["error"]
        code = error.get("code") if isinstance(error, Mapping) else None
        return code if isinstance(code, int) and 400 <= code < 600 else 500


@dataclass(frozen=True)
class Trouble:
    """A failure that may pass. `busy`: the server asks to wait, which concerns all askings. `after`: seconds
    that it asks for, None if it does not say."""

    message: str
    busy: bool = False
    after: float | None = None


def trouble(error: Exception, server: ModelServer, *, now: float) -> Trouble:
    """What to wait for after `error`; `now` is the time of day, in seconds since 1970.

    Raises BackendError, Refused or Filtered where waiting does not help.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        headers = error.response.headers
        return status_trouble(error.status_code, error.body, headers, server, now=now)
    if isinstance(error, ErrorInAnswer):
        return status_trouble(error.status, error.body, {}, server, now=now)
    if isinstance(error, openai.APITimeoutError):
        return Trouble(f"The server {server.where} did not answer in time.")
    if isinstance(error, openai.APIConnectionError):
        cause = clean(f"{type(error.__cause__).__name__}: {error.__cause__}", server)
        return Trouble(f"The server {server.where} cannot be reached ({cause}).")
    return Trouble(f"The server {server.where} {clean(str(error), server)}.")


def status_trouble(
    status: int, body: Any, headers: Mapping[str, str], server: ModelServer, *, now: float
) -> Trouble:
    """The same for a status, and a body as JSON or text."""
    code, param, message = details(body, server)
    said = f"The server {server.where} answered with status {status}: {message}"
    if status < 500 and _is_filter(code, body, message):
        raise Filtered(message)
    if status in (401, 403):
        raise BackendError(followed(said, _key_cure(server)))
    if status == 402 or code in _UNPAID:
        raise BackendError(
            followed(
                said, "The account of this key has no credit left, or a limit was reached: see to it there."
            )
        )
    if status == 429 and "request too large" in message.lower():
        raise Refused(followed(said, _SHORTEN))
    if status in _BUSY:
        return Trouble(said, busy=True, after=retry_after(headers, now))
    if status in _PASSING or status >= 500:
        return Trouble(said)
    if status in (404, 405) or status < 400:
        raise BackendError(
            followed(said, f"Correct the model's name, or the server's URL in MODEL_SERVERS ({server.url}).")
        )
    too_long = any(words in message.lower() for words in _TOO_LONG)
    if param in _SETTINGS and not too_long:
        raise BackendError(followed(said, f"Change this in the recipe: {param}."))
    raise Refused(followed(said, _SHORTEN if too_long else _CHANGE))


def followed(said: str, more: str) -> str:
    """What was said, as a sentence, and one more."""
    return f"{said.rstrip('.')}. {more}"


def details(body: Any, server: ModelServer) -> tuple[str, str, str]:
    """(code, parameter, message) of an error's body, the message on one line and without keys.

    OpenAI and vLLM: {"error": {"message", "code", "param"}}; older vLLM and SGLang: {"message", ...};
    FastAPI: {"detail": ...}; proxies: any text.
    """
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return "", "", clean(str(error or "no message"), server)
    code, param = error.get("code"), error.get("param")
    found = error.get("message") or error.get("detail")
    message = found if isinstance(found, str) else json.dumps(found or error, default=str)
    text = [one if isinstance(one, str) else "" for one in (code, param)]
    return text[0], text[1], clean(message, server)


def is_about(error: openai.APIStatusError, name: str, server: ModelServer) -> bool:
    """Whether a status 400 or 422 says that the server does not know or support the parameter `name`."""
    code, param, message = details(error.body, server)
    if error.status_code not in (400, 422):
        return False
    unknown = r"not supported|unsupported|unrecognized|unknown|unexpected|not permitted|not allowed|extra"
    if param == name:
        return code.startswith(("unsupported", "unknown")) or bool(re.search(unknown, message, re.I))
    near = rf"\b{name}\b.{{0,60}}\b(?:{unknown})|\b(?:{unknown})\b.{{0,60}}\b{name}\b"
    return bool(re.search(near, message, re.I))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, by the headers `retry-after-ms` and `retry-after` (seconds or a date)."""
    try:
        return _not_negative(float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    text = headers.get("retry-after", "").strip()
    try:
        return _not_negative(float(text))
    except ValueError:
        pass
    try:
        return _not_negative(parsedate_to_datetime(text).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None


def clean(text: str, server: ModelServer) -> str:
    """One line of a server's message, cut, without what is or looks like a key."""
    if len(server.key) >= 4:
        text = text.replace(server.key, "[key]")
    text = _LOOKS_LIKE_A_KEY.sub("[key]", text[: 20 * _SHOWN])
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " …"


def _not_negative(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds == seconds else None  # NaN is not equal to itself


def _is_filter(code: str, body: Any, message: str) -> bool:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    inner = error.get("innererror") if isinstance(error, Mapping) else None
    inner_code = str(inner.get("code")) if isinstance(inner, Mapping) else ""
    words = message.lower()
    return bool({code.lower(), inner_code.lower()} & _FILTER_CODES) or any(
        one in words for one in _FILTER_WORDS
    )


def _key_cure(server: ModelServer) -> str:
    variable = server.key_variable + (" or OPENAI_API_KEY" if server.name == DEFAULT else "")
    if server.key:
        return f"Its key is wrong or may not do this: correct {variable}, and restart the workers."
    return f"It needs a key: set {variable} where workers run, and restart them."
