"""manage.py token USER --scope read --days 90: make a token of the API, and print its secret once."""

from argparse import ArgumentParser

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from annotation.api import tokens
from annotation.models import Scope


class Command(BaseCommand):
    help = "Make a token of the API. Its secret is printed to standard output, and kept nowhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="The account that it stands for.")
        parser.add_argument(
            "--scope",
            action="append",
            required=True,
            choices=Scope.values,
            help="What it may do; may be given several times.",
        )
        parser.add_argument("--days", type=int, default=tokens.DAYS, help="How long it lives (default: 90).")
        parser.add_argument("--name", default="made by the command", help="What its owner's list calls it.")

    def handle(self, *, user: str, scope: list[str], days: int, name: str, **options: object) -> None:
        account = get_user_model().objects.filter(username=user).first()
        if account is None:
            raise CommandError(f"There is no account '{user}'.")
        if not account.is_active:
            raise CommandError(f"The account '{user}' is switched off: its tokens would be refused.")
        try:
            made = tokens.create(user=account, name=name, scopes=scope, days=days, by=None)
        except tokens.TokenRefused as refused:
            raise CommandError(str(refused)) from refused
        ends = made.token.expires_at.strftime("%Y-%m-%d %H:%M UTC")
        self.stderr.write(f"{user}: {', '.join(made.token.scopes)}, until {ends}. The secret, this once:")
        self.stdout.write(made.secret)
