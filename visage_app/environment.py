"""Reading environment variables: an invalid value is refused, and the message says how to fix it."""

import re
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()
if (BASE_DIR / ".env").is_file():
    env.read_env(str(BASE_DIR / ".env"))


def env_bool(name: str, default: bool) -> bool:
    """A boolean; anything else is refused."""
    raw = env.str(name, default="yes" if default else "no").strip().lower()
    if raw in {"1", "yes", "true", "on"}:
        return True
    if raw in {"0", "no", "false", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name}={raw!r} is neither yes nor no. Set {name}=yes or {name}=no.")


def env_int(name: str, default: int, *, least: int = 0) -> int:
    """A whole number of at least `least`."""
    raw = env.str(name, default=str(default)).strip()
    if not raw.lstrip("-").isdigit() or int(raw) < least:
        raise ImproperlyConfigured(f"{name}={raw!r} is not a whole number of at least {least}.")
    return int(raw)


def env_rate(name: str, default: str) -> str:
    """A rate, e.g. 600/minute."""
    raw = env.str(name, default=default).strip().lower()
    if not re.fullmatch(r"[1-9][0-9]{0,8}/(second|minute|hour|day)", raw):
        raise ImproperlyConfigured(
            f"{name}={raw!r} is not a rate. Write it like 600/minute; second, hour and day work too."
        )
    return raw


def env_choice(name: str, choices: tuple[str, ...]) -> str:
    """One of `choices`; the first is the default."""
    raw = env.str(name, default=choices[0]).strip().lower() or choices[0]
    if raw not in choices:
        raise ImproperlyConfigured(f"{name}={raw!r} is not one of: {', '.join(choices)}.")
    return raw


def env_hosts(name: str) -> list[str]:
    """Host names in lower case, without scheme or port."""
    hosts = [host.strip().lower() for host in env.list(name, default=[]) if host.strip()]
    for host in hosts:
        if not re.fullmatch(r"[a-z0-9_.-]+", host):
            raise ImproperlyConfigured(
                f"{name}={host!r} is not a host name. Write names only, separated by commas: "
                f"{name}=hooks.lab.example,receiver"
            )
    return hosts
