"""`manage.py serve`: the web server and the embedded worker in one command (DESIGN §9)."""

import argparse
import ipaddress
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from annotation.demo import accounts
from visage_app.database.migrations import unapplied_migrations
from visage_app.management.commands.demo import print_logins
from visage_app.serving.supervisor import CannotServe, Supervisor, check_free, parse_bind


class Command(BaseCommand):
    help = "Run the web server with the embedded workers until Ctrl+C or SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", metavar="HOST:PORT")
        parser.add_argument("--workers", type=_from_one, default=2, help="web server processes (default 2)")
        parser.add_argument("--threads", type=_from_one, default=4, help="threads of each (default 4)")

    def handle(self, *args: Any, bind: str, workers: int, threads: int, **options: Any) -> None:
        try:
            host, port = parse_bind(bind)
            check_migrated()
            check_static_files()
            check_demo_is_not_exposed()
            check_free(host, port)
            supervisor = Supervisor(bind=bind, workers=workers, threads=threads)
            supervisor.run(ready=lambda: self._announce(bind=bind, host=host))
        except CannotServe as error:
            raise CommandError(str(error)) from error
        self.stdout.write("Stopped.")

    def _announce(self, *, bind: str, host: str) -> None:
        print_logins(self)
        if not _is_loopback(host) and accounts.working_logins():
            self.stderr.write(
                "Everyone who can reach this address can log in with the demonstration's public passwords."
            )
        # From here on only the child processes use the database.
        connection.close()
        self.stdout.write(f"Serving at http://{bind}/ - stop with Ctrl+C")
        self.stdout.flush()


def check_migrated() -> None:
    """Raises CannotServe if migrations are not applied."""
    if missing := unapplied_migrations():
        raise CannotServe(
            f"{len(missing)} migrations are not applied (the first: {missing[0]}). Run: manage.py migrate"
        )


def check_static_files() -> None:
    """Raises CannotServe if the style sheets and scripts have not been collected."""
    if settings.STATIC_MANIFEST and not staticfiles_storage.exists("staticfiles.json"):
        raise CannotServe("The static files are not collected. Run: manage.py collectstatic --noinput")


def check_demo_is_not_exposed() -> None:
    """Raises CannotServe if an HTTPS server still has logins with public passwords."""
    if settings.HTTPS and (logins := accounts.working_logins()):
        names = ", ".join(login.username for login in logins)
        raise CannotServe(
            f"HTTPS=yes means that this is a real server, but logins of the demonstration work: {names}. "
            f"Give each another password: manage.py changepassword {logins[0].username}"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _from_one(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of at least 1")
    return int(text)
