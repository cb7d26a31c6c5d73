"""manage.py open_study FILE.toml: a study as a file, repeatable (docs/studies.md)."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from annotation.management.commands._feasibility import feasibility_lines
from annotation.models import StudyStatus
from annotation.participation import profile_fields
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.services import feasibility, studies
from annotation.studies.study_file.reading import read_study_file


class Command(BaseCommand):
    help = (
        "Make the study that a TOML file describes, and open it. The same file again changes nothing; a "
        "study that has been open is never changed. The format stands in docs/studies.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.toml")
        parser.add_argument("--draft", action="store_true", help="make the study, but do not open it yet")
        parser.add_argument(
            "--strict",
            action="store_true",
            help="do not open it unless those enrolled can fill every quota",
        )

    def handle(self, *, file: Path, draft: bool, strict: bool, **options: object) -> None:
        try:
            described = read_study_file(file)
        except StudyFileError as error:
            raise CommandError(str(error)) from error
        columns = (TextColumn("making units"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # The bar goes to the terminal's error stream, so that what the command says can be piped.
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            row = bar.add_task("units", total=None)
            try:
                with transaction.atomic():
                    made = studies.apply_file(
                        file=described, by="open_study", progress=lambda units: bar.advance(row, units)
                    )
                    opened = made.study.status == StudyStatus.DRAFT and not draft
                    report = feasibility.report(study=made.study)
                    if opened and strict and not report.feasible:
                        raise CommandError(
                            "\n".join(
                                [*feasibility_lines(report), "Nothing was changed: --strict asks for enough."]
                            )
                        )
                    if opened:
                        studies.change_status(study=made.study, to=StudyStatus.OPEN, by="open_study")
            except StudyRefused as error:
                raise CommandError(f"{file}: {error}") from error
        study = made.study
        words = {
            "made": f"Made the study '{study.name}'",
            "remade": f"Made the draft '{study.name}' anew from the changed file",
            "unchanged": f"The study '{study.name}' is as the file says; nothing to change",
        }
        self.stdout.write(f"{words[made.outcome]}: {made.units:,} units, {made.slots:,} answers wanted.")
        self.stdout.write(
            f"It is {study.status}{' now' if opened else ''}: {reverse('study', args=[study.name])}"
        )
        for note in made.notes:
            self.stderr.write(f"Note: {note}")
        if made.study.status != StudyStatus.CLOSED:
            self.stdout.write("\n".join(feasibility_lines(report)))
        offered = {
            field: [value for value, _ in choices] for field, choices in profile_fields.CHOICES.items()
        }
        for text in studies.unknown_strata_values(described, offered=offered):
            self.stderr.write(
                f"Warning: the profile page offers no choice for the stratum '{text}'. Only people who "
                "describe themselves in exactly these words can fill it."
            )
