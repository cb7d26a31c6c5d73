"""The setting DATABASES from DATABASE_URL."""

from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from visage_app.environment import env, env_bool, env_int


def configured(var_dir: Path) -> dict[str, dict[str, Any]]:
    """Django's DATABASES: SQLite in `var_dir` by default. Raises ImproperlyConfigured for other engines."""
    databases = {"default": _default(var_dir)}
    url = env.str("DATABASE_REPLICA_URL", default="").strip()
    if url:
        databases["replica"] = _replica(url, databases["default"])
    return databases


def _replica(url: str, primary: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = env.db_url_config(url)
    if not (config["ENGINE"].endswith("postgresql") and primary["ENGINE"].endswith("postgresql")):
        raise ImproperlyConfigured(
            "DATABASE_REPLICA_URL must be a standby of the PostgreSQL at DATABASE_URL: both begin with postgresql://."
        )
    _configure_postgresql(config)
    # If the replica is down, a page waits this long once and then reads the primary.
    config["OPTIONS"]["connect_timeout"] = 2
    # Tests use one database.
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
                f"DATABASE_POOL={pool} works only with PostgreSQL, and this database is SQLite. "
                "Set DATABASE_POOL=0, or DATABASE_URL to postgresql://..."
            )
        config["ENGINE"] = "visage_app.database.sqlite"
        # Closing the last connection writes the whole log into the database and syncs both. It stays open, or
        # a single user would wait for that at every request.
        config["CONN_MAX_AGE"] = 60
        # Readers never wait for the writer (WAL). Writers queue before their first statement (IMMEDIATE), so
        # that none fails later with "database is locked".
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-64000;",
        }
    elif config["ENGINE"].endswith("postgresql"):
        _configure_postgresql(config)
    else:
        raise ImproperlyConfigured("DATABASE_URL must begin with sqlite:// or postgresql://.")
    return config


def _configure_postgresql(config: dict[str, Any]) -> None:
    config["CONN_HEALTH_CHECKS"] = True
    options = config.setdefault("OPTIONS", {})
    # Statements of annotation/core/prepared.py are planned once for each connection.
    options["prepare_threshold"] = 3 if env_bool("PREPARE_STATEMENTS", True) else None
    config["DISABLE_SERVER_SIDE_CURSORS"] = not env_bool("SERVER_SIDE_CURSORS", True)
    if pool := env_int("DATABASE_POOL", 0):
        # Opened on demand. If all are in use, a request waits, for less time than browsers do.
        options["pool"] = {"min_size": 0, "max_size": pool, "timeout": 10}
    else:
        config["CONN_MAX_AGE"] = 60
