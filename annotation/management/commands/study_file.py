"""manage.py study_file NAME: the file of a study, and whether its quotas can be filled (docs/studies.md)."""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from annotation.management.commands._feasibility import feasibility_lines
from annotation.models import Study
from annotation.studies.errors import StudyRefused
from annotation.studies.services import feasibility, study_files


class Command(BaseCommand):
    help = (
        "Write the TOML file that a study can be made from again. What was drawn is listed, so that the file "
        "says what people are shown. The format stands in docs/studies.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--out", type=Path, metavar="FILE", help="a file to write instead of the output")
        parser.add_argument(
            "--check",
            action="store_true",
            help="write no file, but say whether those enrolled can fill the study; fails if they cannot",
        )

    def handle(self, *, name: str, out: Path | None, check: bool, **options: object) -> None:
        study = Study.objects.filter(name=name).first()
        if study is None:
            known = ", ".join(Study.objects.order_by("name").values_list("name", flat=True))
            raise CommandError(f"There is no study '{name}'. There are: {known or 'none yet'}.")
        if check:
            report = feasibility.report(study=study)
            self.stdout.write("\n".join(feasibility_lines(report)))
            if not report.feasible:
                raise CommandError(f"Those enrolled cannot fill the study '{name}' as it is.")
            return
        try:
            text = study_files.to_toml(study=study)
        except StudyRefused as error:
            raise CommandError(f"The study '{name}' cannot be written as a file: {error}") from error
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
