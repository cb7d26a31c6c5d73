"""manage.py remove_second_factor USER: for an admin who lost the device and the recovery codes."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from annotation.accounts.services import second_factor
from annotation.management.commands._lookups import get_account


class Command(BaseCommand):
    help = "Remove the two-factor authentication of an account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="The account.")

    def handle(self, *, user: str, **options: object) -> None:
        if not second_factor.remove(user=get_account(user), by=None):
            raise CommandError(f"The account '{user}' has no second factor.")
        self.stderr.write(f"{user} now logs in with the password alone.")
