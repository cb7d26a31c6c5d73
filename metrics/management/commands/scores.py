"""manage.py scores STUDY: the scores of a study, with their intervals and provenance."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.management import output
from metrics.management.output import Cell
from metrics.models import Variant
from metrics.score_runs import queries, registry
from metrics.score_runs.evaluation import Evaluation, IntervalMethod, evaluate
from metrics.score_runs.metric import Metric
from metrics.score_runs.rows import ScoreRow

COLUMNS = {
    "tendency": [
        "identity",
        "n_stereotypical",
        "n_random",
        *(f"{score}{end}" for score in ("l_stereo", "l_random", "theta") for end in ("", "_low", "_high")),
    ],
    "likelihood": ["identity", "attribute", "stereotypical", "k", "n", "likelihood", "low", "high"],
    "offensiveness": ["identity", "n", "o", "o_low", "o_high", "o_scaled", "unrated"],
    "visual_nature": ["attribute", "n", "k", "visual", "mean_score", "mean_low", "mean_high"],
    "consensus": ["label", "n", "k", "percent", "low", "high"],
}
LONG = ["identity", "attribute", "part", "score", "n", "k", "value", "low", "high"]
"""The columns of a metric without columns of its own."""
FIELDS = {"identity": "group", "score": "name", "label": "name", "likelihood": "value", "percent": "value"}
"""{column: field of a ScoreRow}, where the names differ."""


def tendency_rows(rows: tuple[ScoreRow, ...]) -> list[dict[str, Cell]]:
    """One row per group with its three scores."""
    wide: dict[int | None, dict[str, Cell]] = {}
    for row in rows:
        of_group = wide.setdefault(row.group_id, {"identity": row.group})
        of_group |= {row.name: row.value, f"{row.name}_low": row.low, f"{row.name}_high": row.high}
        if row.name != "theta":
            of_group["n_stereotypical" if row.name == "l_stereo" else "n_random"] = row.n
    return list(wide.values())


def offensiveness_rows(rows: tuple[ScoreRow, ...]) -> list[dict[str, Cell]]:
    wide: dict[int | None, dict[str, Cell]] = {}
    for row in rows:
        of_group = wide.setdefault(
            row.group_id, {"identity": row.group, **dict.fromkeys(COLUMNS["offensiveness"][2:]), "n": 0}
        )
        if row.name == "unrated":
            of_group["unrated"] = int(row.value or 0)
            continue
        of_group |= {row.name: row.value, "n": row.n}
        if row.name == "o":
            of_group |= {"o_low": row.low, "o_high": row.high}
    return list(wide.values())


def visual_rows(rows: tuple[ScoreRow, ...]) -> list[dict[str, Cell]]:
    wide: dict[int | None, dict[str, Cell]] = {}
    for row in rows:
        of_attribute = wide.setdefault(row.attribute_id, {"attribute": row.attribute, "n": row.n})
        of_attribute |= (
            {"visual": row.value == 1, "k": row.k}
            if row.name == "visual"
            else {"mean_score": row.value, "mean_low": row.low, "mean_high": row.high}
        )
    return list(wide.values())


def plain_rows(metric: str, rows: tuple[ScoreRow, ...]) -> list[dict[str, Cell]]:
    """One row per score."""
    found = []
    for row in rows:
        cells = {name: getattr(row, FIELDS.get(name, name)) for name in COLUMNS.get(metric, LONG)}
        if metric == "likelihood":
            cells["attribute"] = row.attribute or "none of the above"
        found.append(cells)
    return found


SHAPES = {
    "tendency": tendency_rows,
    "offensiveness": offensiveness_rows,
    "visual_nature": visual_rows,
}


class Command(BaseCommand):
    help = "Print the scores of a study: computed from the answers as they stand, with 95 % intervals."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="?", help="name of the study, e.g. visage")
        parser.add_argument(
            "--metric",
            help=f"one of: {', '.join(metric.name for metric in registry.metrics())}; by default tendency",
        )
        parser.add_argument(
            "--variant",
            default=Variant.CORRECTED.value,
            help="corrected (default), or published: as in the tables of ViSAGe",
        )
        parser.add_argument("--format", default="table", choices=output.FORMATS)
        output.add_intervals(parser, default="as the study has chosen")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the metric"
        )
        parser.add_argument("--describe", action="store_true", help="print every metric's definition instead")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["describe"]:
            self.stdout.write(registry.as_markdown(), ending="")
            return
        if not options["study"]:
            raise CommandError("Name a study, for example: manage.py scores visage")
        study = output.get_study(options["study"])
        metric = options["metric"] or registry.metrics()[0].name
        try:
            _check_task(study, registry.get(metric))
            with output.spinner(f"{metric} of {study.name} ..."):
                result = evaluate(
                    study=study,
                    metric=metric,
                    variant=options["variant"],
                    resamples=options["resamples"],
                    seed=options["seed"],
                    parameters=output.parse_settings(options["set"]),
                    intervals=options["intervals"],
                )
        except ValueError as error:
            raise CommandError(str(error)) from error
        others = queries.other_studies(registry.get(metric), output.parse_settings(options["set"]))
        simulated = has_simulated_answers(study, *others)
        columns = COLUMNS.get(metric, LONG)
        rows = SHAPES[metric](result.rows) if metric in SHAPES else plain_rows(metric, result.rows)
        if options["format"] == "json":
            self.stdout.write(output.as_json(_about(study.name, simulated, result), rows), ending="")
            return
        if simulated:
            (self.stderr if options["format"] == "csv" else self.stdout).write(output.SIMULATED)
        if options["format"] == "csv":
            self.stdout.write(output.as_csv(columns, rows), ending="")
            self.stderr.write(_provenance(study.name, len(rows), result))  # not among the data
        else:
            self.stdout.write(output.as_table(columns, rows), ending="")
            if not rows:
                self.stdout.write(
                    f"There is nothing to score yet. {registry.get(metric).definition} "
                    f"Check the study: manage.py study_file {study.name} --check"
                )
            self.stdout.write(_provenance(study.name, len(rows), result))


def _check_task(study: Study, metric: Metric) -> None:
    """Raise ValueError if the study has no task for the metric. The message lists what can be computed."""
    kinds = list(study.tasks.order_by("kind").values_list("kind", flat=True).distinct())
    if metric.source != "answers" or metric.task in kinds:
        return
    # one with parameters compares something with something else
    of_study = [each.name for each in registry.of_tasks(kinds) if not each.parameters]
    there = [f"manage.py scores {study.name} --metric {name}" for name in of_study]
    there += [
        f"manage.py agreement {study.name}",
        f"manage.py export {study.name} --format csv --out FILE.csv",
    ]
    raise ValueError(
        f"{metric.name} is computed from a task of kind {metric.task}, and the study '{study.name}' has "
        f"{'tasks of kind ' + ', '.join(kinds) if kinds else 'no tasks'}. There is:\n  " + "\n  ".join(there)
    )


def _method(result: Evaluation) -> IntervalMethod:
    return IntervalMethod(result.intervals, result.resamples, result.seed)


def _count_resamples(result: Evaluation, name: str) -> int:
    return sum(getattr(row, name) or 0 for row in result.rows)


def _about(study: str, simulated: bool, result: Evaluation) -> dict[str, Any]:
    interval = output.describe_intervals(registry.get(result.metric), _method(result))
    if interval is not None and result.resamples:
        interval |= {
            "infinite": _count_resamples(result, "infinite"),
            "undefined": _count_resamples(result, "undefined"),
            "of_each_score": [
                {
                    "identity": row.group,
                    "attribute": row.attribute,
                    "score": row.name,
                    "n": row.n,
                    "infinite": row.infinite,
                    "undefined": row.undefined,
                }
                for row in result.rows
                if row.infinite or row.undefined
            ],
        }
    return {
        "study": study,
        "simulated": simulated,
        "metric": result.metric,
        "version": result.version,
        "variant": result.variant,
        "parameters": dict(result.parameters),
        "rule": result.rule,
        "digest": result.digest,
        "interval": interval,
    }


def _provenance(study: str, rows: int, result: Evaluation) -> str:
    interval = output.interval_line(registry.get(result.metric), _method(result))
    if result.resamples:
        interval += (
            f", {_count_resamples(result, 'infinite')} infinite and "
            f"{_count_resamples(result, 'undefined')} undefined values drawn"
        )
    return (
        f"{rows} rows · {study} · {result.metric} version {result.version}, {result.variant} · "
        f"{result.rule} · {interval} · inputs {result.digest[:12]}"
    )
