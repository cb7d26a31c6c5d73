"""The metrics token and error reports (docs/monitoring.md)."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from visage_app.environment import env
from visage_app.observability.log_lines import chain, describe_error, request_id

_MIN_TOKEN_LENGTH = 20
# The allowed fields of an error report. Fields that the SDK adds later are left out until reviewed.
_ALLOWED_FIELDS = frozenset(
    {"event_id", "timestamp", "level", "platform", "logger", "release", "environment", "transaction", "sdk"}
)


def metrics_token() -> str:
    """METRICS_TOKEN. Raises ImproperlyConfigured if it is too short."""
    token: str = env.str("METRICS_TOKEN", default="").strip()
    if token and (len(token) < _MIN_TOKEN_LENGTH or not token.isascii()):
        raise ImproperlyConfigured(
            f"METRICS_TOKEN has fewer than {_MIN_TOKEN_LENGTH} characters, or non-ASCII ones. Create one: "
            'python -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    return token


def report_errors(*, release: str, **options: Any) -> None:
    """Send errors to SENTRY_DSN, if set. `options` are passed to the SDK (tests pass a transport)."""
    dsn = env.str("SENTRY_DSN", default="").strip()
    if not dsn:
        return
    try:
        import sentry_sdk
        from sentry_sdk.integrations.django import DjangoIntegration
        from sentry_sdk.utils import BadDsn
    except ImportError as error:
        raise ImproperlyConfigured(
            "SENTRY_DSN is set and sentry-sdk is not installed. Install it: pip install '.[errors]' in the "
            "program's folder, or leave SENTRY_DSN empty."
        ) from error
    try:
        sentry_sdk.init(
            dsn=dsn,
            release=release or None,
            send_default_pii=False,
            max_request_body_size="never",
            include_local_variables=False,
            max_breadcrumbs=0,
            send_client_reports=False,
            auto_session_tracking=False,
            # Name transactions after functions: a URL may contain a token.
            integrations=[DjangoIntegration(transaction_style="function_name")],
            before_send=scrubbed,
            **options,
        )
    except BadDsn as error:
        raise ImproperlyConfigured(
            f"SENTRY_DSN is not the URL of a project ({error}). It looks like https://KEY@errors.example.org/1"
        ) from error


def scrubbed(event: Any, hint: Mapping[str, Any]) -> Any:
    """The event to send: the error, its place in the code and the version, without the request, the user or
    values of variables."""
    sent = {name: event[name] for name in _ALLOWED_FIELDS & set(event)}
    error = (hint.get("exc_info") or (None, None))[1]
    safe = {type(each).__name__: describe_error(each) for each in chain(error)}
    values = (event.get("exception") or {}).get("values") or []
    if values:
        sent["exception"] = {"values": [_exception(value, safe) for value in values]}
    if not values and "logentry" in event:
        # The format string from the code, without its arguments.
        sent["logentry"] = {"message": event["logentry"].get("message", "")}
    if current_id := request_id.get():
        sent["tags"] = {"request_id": current_id}
    return sent


def _exception(value: Mapping[str, Any], safe: Mapping[str, str]) -> dict[str, Any]:
    frames = (value.get("stacktrace") or {}).get("frames") or []
    shown = [{name: each for name, each in frame.items() if name != "vars"} for frame in frames]
    kept = {name: value[name] for name in ("type", "module", "mechanism") if name in value}
    return {**kept, "value": safe.get(str(value.get("type")), ""), "stacktrace": {"frames": shown}}
