"""manage.py agreement STUDY: the agreement of annotators for each task, within and between groups."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from metrics.agreement.data.ratings import has_region
from metrics.agreement.queries import METRIC as AGREEMENT
from metrics.agreement.scores.evaluation import evaluate_agreement
from metrics.agreement.scores.rows import MEASURES, AgreementRow
from metrics.agreement.scores.subjects import PER
from metrics.core.annotator_groups import GROUPINGS, NOT_STATED
from metrics.core.answers import has_simulated_answers
from metrics.management import output
from metrics.management.output import Cell
from metrics.models import RunIntervals
from metrics.score_runs import registry
from metrics.score_runs.evaluation import choose_intervals

COLUMNS = [
    *("task", "labels", "level", "scope", "group", "other", "units", "ratings", "pairs"),
    *("percentage", "alpha", "fleiss_kappa", "cross_kappa", "box_iou", "box_pairs"),
]
DIFFERENCES_NOTE = (
    "Scope 'difference': percentage and alpha within the first group minus those within the other. q is p "
    "after Benjamini and Hochberg over both, of all pairs of groups of a task and level. Groups of fewer "
    "than five people have none."
)
DIFFERENCES = ("percentage", "alpha")


def cells(row: AgreementRow, *, per: str | None, by: str | None, intervals: bool) -> dict[str, Cell]:
    """The columns of `row`; then, if requested, its attribute or group, the interval and number of undefined
    resamples of each measure, and p and q of differences between groups."""
    found: dict[str, Cell] = {name: getattr(row, name) for name in COLUMNS}
    if per:
        found[per] = getattr(row, per)
    for name in MEASURES if intervals else ():
        bounds = row.intervals.get(name)
        found[f"{name}_low"] = bounds.low if bounds else None
        found[f"{name}_high"] = bounds.high if bounds else None
        found[f"{name}_undefined"] = bounds.undefined if bounds else None
    for name in DIFFERENCES if by and intervals else ():
        found[f"{name}_p"], found[f"{name}_q"] = row.p.get(name), row.q.get(name)
    return found


class Command(BaseCommand):
    help = "Print the agreement of a study's annotators: alpha, kappa, percentage, and IoU of boxes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="name of the study, e.g. visage")
        parser.add_argument(
            "--by",
            choices=GROUPINGS,
            help="also within and between these groups of annotators, and their differences",
        )
        parser.add_argument(
            "--per",
            choices=PER,
            help="also for each attribute or identity group, over all annotators",
        )
        output.add_intervals(parser, default="as the study has chosen")
        parser.add_argument("--format", default="table", choices=output.FORMATS)

    def handle(self, *args: Any, **options: Any) -> None:
        study = output.get_study(options["study"])
        by, per = options["by"], options["per"]
        metric = registry.get(AGREEMENT)
        try:
            method = choose_intervals(
                study,
                metric,
                intervals=options["intervals"],
                resamples=options["resamples"],
                seed=options["seed"],
            )
            with output.spinner(f"agreement in {study.name} ..."):
                found = evaluate_agreement(
                    study=study,
                    by=by,
                    per=(per,) if per else (),
                    resamples=method.resamples,
                    seed=method.seed,
                    clustered=method.is_clustered,
                )
        except ValueError as error:
            raise CommandError(str(error)) from error
        if not found:
            raise CommandError(f"Study '{study.name}' has no answers yet, so there is nothing to compare.")
        with_intervals = method.name != RunIntervals.NONE
        rows = [cells(row, per=per, by=by, intervals=with_intervals) for row in found]
        simulated = has_simulated_answers(study)
        if options["format"] == "json":
            about: dict[str, Any] = {"study": study.name, "simulated": simulated, "by": by, "per": per}
            about["interval"] = output.describe_intervals(metric, method)
            self.stdout.write(output.as_json(about, rows), ending="")
            return
        if simulated:
            (self.stderr if options["format"] == "csv" else self.stdout).write(output.SIMULATED)
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(list(rows[0]), rows), ending="")
            self.stderr.write(output.interval_line(metric, method))  # not among the data
            return
        # columns without values would only make the table wider
        columns = [
            name for name in rows[0] if name in COLUMNS or any(row[name] not in {None, 0} for row in rows)
        ]
        self.stdout.write(output.as_table(columns, rows), ending="")
        self.stdout.write(output.interval_line(metric, method))
        if by == "pool" and any(not has_region(row.task) for row in found):
            self.stdout.write(
                "A task that is not about identity groups has no pools; only its overall agreement is shown."
            )
        if any(row.scope == "difference" for row in found):
            self.stdout.write(DIFFERENCES_NOTE)
        if by and any(NOT_STATED in (row.group, row.other) for row in found):
            self.stdout.write(
                f"'{NOT_STATED}': these annotators did not answer this; they are not compared with others."
            )
