"""manage.py study_file NAME: write the study file, or check its quotas (docs/studies.md)."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from annotation.management.commands._lookups import command_errors, feasibility_lines, get_study
from annotation.studies.errors import StudyRefused
from annotation.studies.services import feasibility, study_files


class Command(BaseCommand):
    help = (
        "Write the TOML file that recreates a study. It lists drawn units, so it says what people see. "
        "docs/studies.md describes the format."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="the file to write (default: standard output)"
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="only check whether the people enrolled can fill the study; fails if they cannot",
        )

    def handle(self, *, name: str, out: Path | None, check: bool, **options: object) -> None:
        study = get_study(name)
        if check:
            report = feasibility.report(study=study)
            self.stdout.write("\n".join(feasibility_lines(report)))
            if not report.feasible:
                raise CommandError(f"The people enrolled cannot fill the study '{name}'.")
            return
        with command_errors(StudyRefused, prefix=f"The study '{name}' cannot be written as a file: "):
            text = study_files.to_toml(study=study)
        if out is None:
            self.stdout.write(text, ending="")
        else:
            try:
                out.write_text(text, encoding="utf-8")
            except OSError as error:
                raise CommandError(
                    f"{out} cannot be written ({error.strerror}). Name another file."
                ) from error
            self.stdout.write(f"Wrote {out}.")
        for line in study_files.round_trip_problems(study=study):
            self.stderr.write(f"Warning: {line}.")
