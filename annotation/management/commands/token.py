"""manage.py token USER --scope read --days 90: create an API token and print its secret once."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from annotation.api import tokens
from annotation.management.commands._lookups import command_errors, get_account
from annotation.models import Scope


class Command(BaseCommand):
    help = "Create an API token. Its secret is printed to standard output and not stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="The account that it belongs to.")
        parser.add_argument(
            "--scope",
            action="append",
            required=True,
            choices=Scope.values,
            help="What it may do; may be given several times.",
        )
        parser.add_argument(
            "--days", type=int, default=tokens.DAYS, help="How many days it is valid (default: 90)."
        )
        parser.add_argument("--name", default="made by the command", help="Its name in the owner's list.")

    def handle(self, *, user: str, scope: list[str], days: int, name: str, **options: object) -> None:
        account = get_account(user)
        if not account.is_active:
            raise CommandError(f"The account '{user}' is switched off: its tokens would be refused.")
        with command_errors(tokens.TokenRefused):
            created = tokens.create(user=account, name=name, scopes=scope, days=days, by=None)
        ends = created.token.expires_at.strftime("%Y-%m-%d %H:%M UTC")
        self.stderr.write(
            f"{user}: {', '.join(created.token.scopes)}, until {ends}. The secret is shown only once:"
        )
        self.stdout.write(created.secret)
