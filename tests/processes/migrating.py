"""`migrate` that kills itself: `python -m tests.processes.migrating NUMBER` dies with that statement of this
run: before the database has it if the number is odd, else after. A name instead of NUMBER: as soon as the
migration of this name is noted. Without either it goes through."""

from __future__ import annotations

import os
import signal
import sys

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402


def die_with(told: str) -> None:
    seen, number = 0, int(told) if told.isdigit() else 0

    def watch(execute, sql, params, many, context):
        nonlocal seen
        seen += not sql.lstrip().upper().startswith(("SELECT", "PRAGMA"))
        if seen == number and number % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        result = execute(sql, params, many, context)
        noted = not number and sql.startswith("INSERT") and told in params
        if noted or (number and seen == number):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    connection.ensure_connection()
    connection.execute_wrappers.append(watch)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        die_with(sys.argv[1])
    call_command("migrate", verbosity=0)
