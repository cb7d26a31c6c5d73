"""The setting LOGGING (docs/monitoring.md)."""

from typing import Any

from visage_app.environment import env_choice

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
# Below these levels, the loggers write SQL with values or URLs with secrets.
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
    """Logging of Django, gunicorn and Celery: LOG_LEVEL and above to standard error."""
    level = env_choice("LOG_LEVEL", ("warning", "debug", "info", "error")).upper()
    log_format = env_choice("LOG_FORMAT", ("line", "json"))
    kind = "JsonLineFormatter" if log_format == "json" else "LineFormatter"
    console = {"handlers": ["console"], "level": level, "propagate": False}
    quiet = {name: {"level": max(level, least, key=LEVELS.index)} for name, least in _QUIET.items()}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"chosen": {"()": f"visage_app.observability.log_lines.{kind}"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "chosen"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # gunicorn's own logger, which would use another format.
            "gunicorn.error": console,
            # requests.py writes the line for each request, since it knows the route.
            "gunicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
            **quiet,
        },
    }


def somebody(*args: object) -> str:
    """The name that django-axes logs for a failed login, so that it logs no username."""
    return "somebody"
