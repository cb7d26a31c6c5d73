"""The setting LOGGING: what goes to the log, and how a line looks (docs/monitoring.md)."""

from __future__ import annotations

from typing import Any

from visage_app.environment import env_choice

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
# What these say below such a level holds rows (SQL with its values) or addresses with secrets in them.
_QUIET = {
    "django.db.backends": "INFO",
    "httpx": "WARNING",
    "httpcore": "WARNING",
    "botocore": "WARNING",
    "boto3": "WARNING",
    "s3transfer": "WARNING",
    "urllib3": "WARNING",
}


def configured() -> dict[str, Any]:
    """Django's, gunicorn's and Celery's logging: everything of LOG_LEVEL and above to standard error."""
    level = env_choice("LOG_LEVEL", ("warning", "debug", "info", "error")).upper()
    chosen = env_choice("LOG_FORMAT", ("line", "json"))
    kind = {
        "line": "visage_app.observability.log_lines.LineFormatter",
        "json": "visage_app.observability.log_lines.JsonLineFormatter",
    }[chosen]
    told = {"handlers": ["console"], "level": level, "propagate": False}
    loudest = {name: max(level, least, key=LEVELS.index) for name, least in _QUIET.items()}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": kind}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "chosen"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # the server's own, whose lines would look otherwise
            "gunicorn.error": told,
            # One line a request is written by the program (request_log.py), which knows the route.
            "gunicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
            **{name: {"level": least} for name, least in loudest.items()},
        },
    }


def somebody(*args: object) -> str:
    """Whom django-axes names in the log when a login fails: nobody."""
    return "somebody"
