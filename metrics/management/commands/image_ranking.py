"""manage.py image_ranking FILE.toml: whose images are nearest to a prompt for each region (PROTOCOL §12)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from metrics.core.numbers import finite
from metrics.embedding_tests.queries import RankingResult, TestsRefused, ranking
from metrics.embedding_tests.stored import is_simulated
from metrics.management import output
from metrics.management.embedding_test_files import SIMULATED, add_file_options, load
from metrics.management.output import Cell

COLUMNS = ("region", "group", "share", "reference")
SUMMARY = ("group", "rho", "rho_low", "rho_high", "p_value", "r2")


class Command(BaseCommand):
    help = (
        "Print the share of each group among the images most similar to a prompt for each region, beside the "
        "file's reference table; with --summary, how the two correlate over the regions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_file_options(parser, required=True)
        parser.add_argument("--summary", action="store_true", help="correlations with the reference")

    def handle(self, *args: Any, **options: Any) -> None:
        loaded = load(options["file"], image_set=options["set"], reference=options["reference"])
        reference = loaded.reference()
        if reference is None:
            raise CommandError(
                f"{options['file']} has no [ranking]. Its tests: manage.py embedding_tests {options['file']}"
            )
        run = loaded.run(options["encoder"])
        try:
            with output.spinner("Ranking"):
                found = ranking(loaded.file, run, reference)
        except TestsRefused as error:
            raise CommandError(str(error)) from error
        columns = SUMMARY if options["summary"] else COLUMNS
        rows = _summary(found) if options["summary"] else _shares(found)
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(columns, rows), ending="")
            return
        if is_simulated(run):
            self.stdout.write(SIMULATED)
        self.stdout.write(output.as_table(columns, rows), ending="")


def _shares(found: RankingResult) -> list[dict[str, Cell]]:
    return [{name: getattr(row, name) for name in COLUMNS} for row in found.rows]


def _summary(found: RankingResult) -> list[dict[str, Cell]]:
    """R2 is one number for all groups, and stands in each row."""
    rows = []
    for group, each in zip(found.groups, found.comparison.groups, strict=True):
        numbers = {
            "rho": each.rho,
            "rho_low": each.rho_low,
            "rho_high": each.rho_high,
            "p_value": each.p_value,
            "r2": found.comparison.r2,
        }
        known = {name: finite(value) for name, value in numbers.items()}
        rows.append({"group": group, **known})
    return rows
