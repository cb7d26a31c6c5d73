"""manage.py save_votes STUDY: the votes of a closed study as a source of the catalogue (PROTOCOL §3, §14)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from metrics.management.output import get_study
from metrics.votes.services import VotesRefused, save_votes


class Command(BaseCommand):
    help = "Save the in-region and out-region votes of a closed study as a source of associations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("--name", default="", help="of the source (default: STUDY-votes)")

    def handle(self, *args: Any, **options: Any) -> None:
        study = get_study(options["study"])
        try:
            source = save_votes(study=study, name=options["name"], by=None)
        except VotesRefused as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Saved as '{source.name}': {source.associations.count():,} associations.")
