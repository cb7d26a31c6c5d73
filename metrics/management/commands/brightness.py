"""manage.py brightness RUN: the numbers of a run that measured brightness (PROTOCOL §12)."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from metrics.brightness.data import MeasurementsRefused, brightness_runs, crop_of, image_set_of
from metrics.brightness.queries import Row, results
from metrics.core.numbers import finite
from metrics.management import output
from metrics.management.output import Cell
from metrics.score_runs.evaluation import check_resampling

COLUMNS = (
    *("group", "strength", "n", "rgb", "rgb_low", "rgb_high", "lightness", "ita", "faces"),
    *("change", "change_low", "change_high"),
)


class Command(BaseCommand):
    help = (
        "Print the brightness of a run's images by group: mean RGB brightness of the crop (0 to 255), L* and "
        "ITA, and the change in per cent against the images they were made from. RGB brightness is no "
        "measure of skin tone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("run", help="a run that measured brightness, by number or name")
        parser.add_argument("--format", choices=output.FORMATS, default="table", help="default: table")
        output.add_intervals(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        run = output.get_run(
            brightness_runs(),
            options["run"],
            of="of brightness",
            if_none="plan one on the page Brightness, or with the API",
        )
        try:
            resamples = output.resamples_of(options)
            check_resampling(resamples or 0, seed=options["seed"])
            found = results(run, resamples=resamples, seed=options["seed"])
        except (MeasurementsRefused, ValueError) as error:
            raise CommandError(f"Run {run.pk}, '{run.name}': {error}") from error
        rows = [_cells(row) for row in found.rows]
        about: dict[str, Any] = {
            "run": run.pk,
            "name": run.name,
            "image_set": image_set_of(run).name,
            "drawn": image_set_of(run).drawn,
            "crop": crop_of(run).name,
            "not_compared": found.not_compared,
            "missing": [each.name for each in found.missing],
            "intervals": output.method_name(resamples),
            "resamples": resamples,
            "seed": options["seed"],
        }
        if options["format"] == "json":
            self.stdout.write(output.as_json(about, rows), ending="")
            return
        # CSV is data only, so what belongs beside it goes to standard error.
        beside = self.stderr if options["format"] == "csv" else self.stdout
        if about["drawn"]:
            beside.write("SIMULATED: these images were drawn by a program, not made by a model.")
        for name in about["missing"]:
            beside.write(
                f"No change against '{name}': measure that image set with crop {about['crop']} first."
            )
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(COLUMNS, rows), ending="")
            output.write_method(self, resamples, over="images", format="csv")
        elif rows:
            self.stdout.write(output.as_table(COLUMNS, rows), ending="")
            output.write_method(self, resamples, over="images", format="table")
            self.stdout.write("RGB brightness is no measure of skin tone.")
        else:
            self.stdout.write(f"Run {run.pk}, '{run.name}', has measured nothing yet.")


def _cells(row: Row) -> dict[str, Cell]:
    return {
        "group": row.group,
        "strength": row.strength,
        "n": row.n,
        "rgb": row.rgb.value,
        "rgb_low": finite(row.rgb.low),
        "rgb_high": finite(row.rgb.high),
        "lightness": row.lightness,
        "ita": row.ita,
        "faces": row.faces,
        "change": finite(row.change.value),
        "change_low": finite(row.change.low),
        "change_high": finite(row.change.high),
    }
