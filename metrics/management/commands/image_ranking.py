"""manage.py image_ranking FILE.toml: whose images are nearest to a prompt for each region (PROTOCOL §12)."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from metrics.core.numbers import finite
from metrics.embedding_tests.queries import RankingResult, TestsRefused, correlate_variables, ranking
from metrics.embedding_tests.reference import Variables
from metrics.embedding_tests.stats.ranking import Correlation
from metrics.embedding_tests.stored import is_simulated
from metrics.management import output
from metrics.management.embedding_test_files import SIMULATED, add_file_options, load
from metrics.management.output import Cell

COLUMNS = ("region", "group", "share", "reference")
_NUMBERS = ("rho", "rho_low", "rho_high", "p_value")
SUMMARY = ("group", *_NUMBERS, "r2")
VARIABLES = ("variable", "group", *_NUMBERS, "n_regions")


class Command(BaseCommand):
    help = (
        "Print the share of each group among the images most similar to a prompt for each region, beside the "
        "file's reference table; with --summary, how the two correlate over the regions; with --variables, "
        "how shares correlate with other variables."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_file_options(parser, required=True)
        parser.add_argument("--summary", action="store_true", help="correlations with the reference")
        parser.add_argument("--variables", action="store_true", help="correlations with the file's variables")
        parser.add_argument(
            "--variables-file",
            type=Path,
            metavar="FILE.csv",
            help="correlations with this table instead of the file's variables",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with_variables = options["variables"] or options["variables_file"] is not None
        if options["summary"] and with_variables:
            raise CommandError("--summary and --variables print two tables. Choose one.")
        loaded = load(options["file"], image_set=options["set"], reference=options["reference"])
        reference = loaded.reference()
        if reference is None:
            raise CommandError(
                f"{options['file']} has no [ranking]. Its tests: manage.py embedding_tests {options['file']}"
            )
        variables = loaded.variables(reference, options["variables_file"]) if with_variables else None
        run = loaded.run(options["encoder"])
        try:
            with output.spinner("Ranking"):
                found = ranking(loaded.file, run, reference)
        except TestsRefused as error:
            raise CommandError(str(error)) from error
        columns: Sequence[str] = COLUMNS
        rows = _shares(found)
        if options["summary"]:
            columns, rows = SUMMARY, _summary(found)
        if variables is not None:
            columns, rows = VARIABLES, _variables(found, variables)
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
    r2 = finite(found.comparison.r2)
    return [
        {"group": group, **_numbers(each), "r2": r2}
        for group, each in zip(found.groups, found.comparison.groups, strict=True)
    ]


def _variables(found: RankingResult, variables: Variables) -> list[dict[str, Cell]]:
    return [
        {"variable": one.variable, "group": group, **_numbers(each), "n_regions": each.n_regions}
        for one in correlate_variables(found, variables)
        for group, each in zip(found.groups, one.groups, strict=True)
    ]


def _numbers(found: Correlation) -> dict[str, Cell]:
    return {name: finite(getattr(found, name)) for name in _NUMBERS}
