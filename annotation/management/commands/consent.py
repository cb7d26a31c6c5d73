"""manage.py consent FILE.toml: publish a new consent text for an open study (docs/operations.md)."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand

from annotation.management.commands._lookups import command_errors
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.services import consents
from annotation.studies.study_file.reading import read_study_file


class Command(BaseCommand):
    help = (
        "Publish the consent text of a study file as the study's next version. Everybody is asked again "
        "before their next item. `study_file NAME --out FILE.toml` writes the file; only its consent is used "
        "here."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.toml")

    def handle(self, *, file: Path, **options: object) -> None:
        with command_errors(StudyFileError), command_errors(StudyRefused, prefix=f"{file}: "):
            published = consents.publish(file=read_study_file(file))
        if published is None:
            self.stdout.write("This is the current text already; nothing to change.")
        else:
            self.stdout.write(
                f"Version {published.version} is published. Everybody is asked again before their next item."
            )
