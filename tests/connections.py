"""Connections to the test's PostgreSQL beside Django's, for what two do at once."""

from __future__ import annotations

import psycopg
from django.db import connection


def another() -> psycopg.Connection:
    """To be closed by a `with`."""
    settings = connection.settings_dict
    where = {"dbname": settings["NAME"], "host": settings["HOST"], "port": settings["PORT"]}
    account = {"user": settings["USER"], "password": settings["PASSWORD"]}
    return psycopg.connect(**{name: value for name, value in (where | account).items() if value})
