"""manage.py remove_second_factor USER: for an admin who lost both device and recovery codes."""

from argparse import ArgumentParser

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from annotation.accounts.services import second_factor


class Command(BaseCommand):
    help = "Ask an account for its password alone, because its second factor was lost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="The account.")

    def handle(self, *, user: str, **options: object) -> None:
        account = get_user_model().objects.filter(username=user).first()
        if account is None:
            raise CommandError(f"There is no account '{user}'.")
        if not second_factor.remove(user=account, by=None):
            raise CommandError(f"The account '{user}' has no second factor.")
        self.stderr.write(f"{user} logs in with the password alone now.")
