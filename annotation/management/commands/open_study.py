"""manage.py open_study FILE.toml: create and open a study from a file (docs/studies.md)."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse
from rich.console import Console

from annotation.management.commands import _importing
from annotation.management.commands._lookups import add_texts_checked, command_errors, feasibility_lines
from annotation.models import StudyStatus
from annotation.participation import profile_fields
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.services import feasibility, studies
from annotation.studies.study_file.reading import read_study_file


class Command(BaseCommand):
    help = (
        "Create the study that a TOML file describes, and open it. The same file again changes nothing; a "
        "study that has been open is never changed. docs/studies.md describes the format."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.toml")
        parser.add_argument("--draft", action="store_true", help="create the study, but do not open it yet")
        parser.add_argument(
            "--strict",
            action="store_true",
            help="open it only if the people enrolled can fill every quota",
        )
        add_texts_checked(parser)

    def handle(
        self, *, file: Path, draft: bool, strict: bool, texts_checked: bool, **options: object
    ) -> None:
        with command_errors(StudyFileError):
            study_file = read_study_file(file)
        # The bar goes to stderr, so that the output can be piped.
        with (
            _importing.short_bar(Console(stderr=True)) as bar,
            command_errors(StudyRefused, prefix=f"{file}: "),
            transaction.atomic(),
        ):
            row = bar.add_task("creating units", total=None)
            made = studies.apply_file(
                file=study_file, by=None, progress=lambda units: bar.advance(row, units)
            )
            opened = made.study.status == StudyStatus.DRAFT and not draft
            report = feasibility.report(study=made.study)
            if opened and strict and not report.feasible:
                lines = [*feasibility_lines(report), "Nothing was changed: --strict needs enough people."]
                raise CommandError("\n".join(lines))
            if opened:
                studies.change_status(
                    study=made.study, to=StudyStatus.OPEN, by=None, texts_checked=texts_checked
                )
        study = made.study
        outcomes = {
            "made": f"Created the study '{study.name}'",
            "remade": f"Recreated the draft '{study.name}' from the changed file",
            "unchanged": f"The study '{study.name}' is as the file says; nothing to change",
        }
        self.stdout.write(f"{outcomes[made.outcome]}: {made.units:,} units, {made.slots:,} answers needed.")
        self.stdout.write(
            f"It is {study.status}{' now' if opened else ''}: {reverse('study', args=[study.name])}"
        )
        for note in made.notes:
            self.stderr.write(f"Note: {note}")
        if made.study.status != StudyStatus.CLOSED:
            self.stdout.write("\n".join(feasibility_lines(report)))
        choices_by_field = {
            field: [value for value, _ in choices] for field, choices in profile_fields.CHOICES.items()
        }
        for text in studies.unknown_strata_values(study_file, offered=choices_by_field):
            self.stderr.write(
                f"Warning: the profile page has no choice for the stratum '{text}'. Only people who describe "
                "themselves in exactly these words can fill it."
            )
