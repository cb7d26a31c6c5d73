"""manage.py study STATUS NAME...: open, pause or close studies."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotation.management.commands._lookups import add_texts_checked, get_study
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies


class Command(BaseCommand):
    help = "Open, pause or close studies: draft -> open <-> paused -> closed. All of them, or none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("status", choices=[str(status) for status in studies.TRANSITIONS])
        parser.add_argument("names", nargs="+", metavar="NAME")
        add_texts_checked(parser)

    def handle(self, *, status: str, names: list[str], texts_checked: bool, **options: object) -> None:
        lines = []
        try:
            with transaction.atomic():
                for name in names:
                    changed = studies.change_status(
                        study=get_study(name), to=status, by=None, texts_checked=texts_checked
                    )
                    lines.append(f"{name} is {status}" + ("." if changed else " already."))
        except StudyRefused as error:
            raise CommandError(f"{error} Nothing was changed.") from error
        self.stdout.write("\n".join(lines))
