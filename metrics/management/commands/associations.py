"""manage.py associations: what a model associates with groups of people (PROTOCOL §11)."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from generation.models import Run
from metrics.associations import evaluation
from metrics.associations.evaluation import AssociationsRefused, Evaluated
from metrics.associations.queries import find_run
from metrics.management.output import FORMATS, Cell, as_csv, as_json, as_table, spinner
from metrics.models import Variant

COLUMNS = (
    *("modality", "setting", "model", "dimension", "descriptor", "word", "tf", "df", "idf", "score"),
    *("p_value", "significant", "z", "q", "significant_corrected"),
)
_WEIGHTS = ("tf", "df", "idf", "score")


class Command(BaseCommand):
    help = (
        "Print the associations in the answers of a run, planned here (plan_associations) or imported "
        "(import_answers --layout biasdora). tf, df, idf and score are those of --variant; p_value and "
        "significant are always published, z, q and significant_corrected always corrected, empty where that "
        "variant does not count the word."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", metavar="NAME", help="the name or number of a run")
        parser.add_argument("--variant", choices=Variant.values, default=Variant.CORRECTED.value)
        parser.add_argument("--significant", action="store_true", help="only those that are significant")
        parser.add_argument("--format", choices=FORMATS, default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            run = find_run(options["run"])
            with spinner(f"Reading the answers of run {run.pk}"):
                found = evaluation.evaluate(run)
        except AssociationsRefused as error:
            raise CommandError(str(error)) from error
        corrected = options["variant"] == Variant.CORRECTED
        rows = list(_rows(run, found, corrected=corrected, significant=options["significant"]))
        if options["format"] == "csv":
            self.stdout.write(as_csv(COLUMNS, rows), ending="")
        elif options["format"] == "json":
            about = {"run": run.pk, "name": run.name, "model": run.model, "variant": options["variant"]}
            self.stdout.write(as_json(about, rows), ending="")
        else:
            self.stdout.write(as_table(COLUMNS, rows), ending="")


def _rows(run: Run, found: Evaluated, *, corrected: bool, significant: bool) -> Iterator[dict[str, Cell]]:
    prefix = "corrected_" if corrected else ""
    for one in found.settings():
        of_setting = []
        for row in one.associations:
            counted = (row.corrected_tf if corrected else row.tf) is not None
            if counted and (not significant or (row.significant_corrected if corrected else row.significant)):
                of_setting += [(found.groups[group], row) for group in row.groups]
        of_setting.sort(key=lambda pair: (pair[0].axis, pair[0].name, -_strength(pair[1], corrected)))
        for group, row in of_setting:
            yield {
                "modality": one.setting.modality.value,
                "setting": one.setting.short,
                "model": run.model,
                "dimension": group.axis,
                "descriptor": group.name,
                "word": row.word,
                **{name: getattr(row, f"{prefix}{name}") for name in _WEIGHTS},
                "p_value": row.p_value,
                "significant": row.significant if row.tf is not None else None,
                "z": row.z,
                "q": row.q,
                "significant_corrected": row.significant_corrected if row.corrected_tf is not None else None,
            }


def _strength(row: evaluation.Found, corrected: bool) -> float:
    return ((row.z if row.z is not None else row.corrected_score) if corrected else row.score) or 0.0
