"""manage.py study STATUS NAME...: open, pause or close studies."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotation.models import Study
from annotation.studies.errors import StudyRefused
from annotation.studies.services import studies


class Command(BaseCommand):
    help = "Open, pause or close studies: draft -> open <-> paused -> closed. All of them, or none."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("status", choices=[str(status) for status in studies.TRANSITIONS])
        parser.add_argument("names", nargs="+", metavar="NAME")

    def handle(self, *, status: str, names: list[str], **options: object) -> None:
        said = []
        try:
            with transaction.atomic():
                for name in names:
                    study = Study.objects.filter(name=name).first()
                    if study is None:
                        known = ", ".join(Study.objects.order_by("name").values_list("name", flat=True))
                        raise CommandError(f"There is no study '{name}'. There are: {known or 'none yet'}.")
                    moved = studies.change_status(study=study, to=status, by="study command")
                    said.append(f"{name} is {status}" + ("." if moved else " already."))
        except StudyRefused as error:
            raise CommandError(f"{error} Nothing was changed.") from error
        self.stdout.write("\n".join(said))
