"""The setting DATABASES, from DATABASE_URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from visage_app.environment import env, env_bool, env_int


def configured(var_dir: Path) -> dict[str, dict[str, Any]]:
    """Django's DATABASES: SQLite in `var_dir` without an address. ImproperlyConfigured for other engines."""
    found = {"default": _default(var_dir)}
    url = env.str("DATABASE_REPLICA_URL", default="").strip()
    if url:
        found["replica"] = _replica(url, found["default"])
    return found


def _replica(url: str, primary: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = env.db_url_config(url)
    if not (config["ENGINE"].endswith("postgresql") and primary["ENGINE"].endswith("postgresql")):
        raise ImproperlyConfigured(
            "DATABASE_REPLICA_URL is a standby of the PostgreSQL at DATABASE_URL: both begin with postgresql://."
        )
    _fit_postgresql(config)
    # Where it is away, a page waits for this once, and then goes to the primary.
    config["OPTIONS"]["connect_timeout"] = 2
    # Tests have one database.
    config["TEST"] = {"MIRROR": "default"}
    return config


def _default(var_dir: Path) -> dict[str, Any]:
    url = env.str("DATABASE_URL", default="")
    if not url:
        var_dir.mkdir(parents=True, exist_ok=True)
        url = f"sqlite:///{var_dir / 'visage.sqlite3'}"
    config: dict[str, Any] = env.db_url_config(url)
    if config["ENGINE"].endswith("sqlite3"):
        if pool := env_int("DATABASE_POOL", 0):
            raise ImproperlyConfigured(
                f"DATABASE_POOL={pool} is of PostgreSQL's connections, and this database is SQLite. "
                "Set DATABASE_POOL=0, or DATABASE_URL to postgresql://..."
            )
        config["ENGINE"] = "visage_app.database.sqlite"
        # Whoever closes the last connection writes the whole log into the database and syncs both: kept
        # open, or somebody who works alone would wait for that at every request.
        config["CONN_MAX_AGE"] = 60
        # Readers never wait for the writer (WAL); writers queue from their first statement
        # (IMMEDIATE), so that none fails half-way with "database is locked".
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-64000;",
        }
    elif config["ENGINE"].endswith("postgresql"):
        _fit_postgresql(config)
    else:
        raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:// or postgresql://.")
    return config


def _fit_postgresql(config: dict[str, Any]) -> None:
    config["CONN_HEALTH_CHECKS"] = True
    options = config.setdefault("OPTIONS", {})
    # What comes through annotation/core/prepared.py is planned once for each connection.
    options["prepare_threshold"] = 3 if env_bool("PREPARE_STATEMENTS", True) else None
    config["DISABLE_SERVER_SIDE_CURSORS"] = not env_bool("SERVER_SIDE_CURSORS", True)
    if pool := env_int("DATABASE_POOL", 0):
        # Opened as they are needed. Who finds all of them taken waits, for less long than browsers do.
        options["pool"] = {"min_size": 0, "max_size": pool, "timeout": 10}
    else:
        config["CONN_MAX_AGE"] = 60
