"""Shared by the commands of this app: find a study, and write rows as a table, CSV or JSON."""

import csv
import io
import json
import sys
from argparse import _ActionsContainer
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet
from rich.console import Console

from annotation.core.csv_text import safe_cell
from annotation.models import Intervals, Study
from generation.models import Run
from generation.runs.named import find_run
from metrics.core.suggestions import did_you_mean
from metrics.models import RunIntervals
from metrics.score_runs.evaluation import IntervalMethod
from metrics.score_runs.metric import Metric

FORMATS = ("table", "csv", "json")
CLUSTERED, BOOTSTRAP = Intervals.CLUSTERED.value, Intervals.BOOTSTRAP.value
SIMULATED = "SIMULATED: some or all of these answers were made by a program, not by people."
SIMULATED_MODEL = "SIMULATED: a program, and no model, gave these answers."

Cell = str | int | float | bool | None


def add_intervals(parser: _ActionsContainer, *, default: str = CLUSTERED, with_seed: bool = True) -> None:
    """The options --intervals and --resamples, and --seed unless it is the command's own. `default`: the
    default method in words."""
    parser.add_argument(
        "--intervals",
        choices=Intervals.values,
        help=f"how 95 %% intervals are computed (default: {default}, or {BOOTSTRAP} with --resamples)",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        help=f"of the bootstrap, 0 for no intervals (default {settings.BOOTSTRAP_RESAMPLES})",
    )
    if with_seed:
        parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap (default 0)")


def describe_intervals(metric: Metric, method: IntervalMethod) -> dict[str, Any] | None:
    """How the intervals of scores were computed, for a JSON file: the method in words and, of the bootstrap,
    its resamples and seed; None without intervals."""
    if method.name == RunIntervals.NONE:
        return None
    if method.is_clustered:
        words = f"95 % interval from standard errors clustered by {metric.clustering}"
        return {"intervals": method.name, "method": words}
    return {
        "intervals": method.name,
        "method": f"95 % percentile interval, {metric.resampling}",
        "resamples": method.resamples,
        "seed": method.seed,
    }


def interval_line(metric: Metric, method: IntervalMethod) -> str:
    """`describe_intervals` for a table."""
    found = describe_intervals(metric, method)
    if found is None:
        return "no intervals"
    drawn = f", {method.resamples:,} resamples, seed {method.seed}" if method.resamples else ""
    return f"{found['method']}{drawn}"


def resamples_of(options: Mapping[str, Any]) -> int | None:
    """The resamples that `add_intervals` asked for; None for clustered intervals. Raises ValueError for
    resamples of clustered intervals."""
    method, resamples = options["intervals"], options["resamples"]
    if method == CLUSTERED and resamples is not None:
        raise ValueError(f"--resamples is an option of --intervals {BOOTSTRAP}; nothing else is resampled.")
    if method == BOOTSTRAP and resamples is None:
        return int(settings.BOOTSTRAP_RESAMPLES)
    return None if resamples is None else int(resamples)


def method_name(resamples: int | None) -> str:
    """The method of the intervals, as JSON has it; "" without intervals."""
    return CLUSTERED if resamples is None else BOOTSTRAP if resamples else ""


def write_method(command: BaseCommand, resamples: int | None, *, over: str, format: str) -> None:
    """Say below a table how its intervals were computed, beside CSV on standard error: `over` images, say."""
    if not (method := method_name(resamples)):
        return
    number = f", {resamples} resamples" if resamples else ""
    beside = command.stderr if format == "csv" else command.stdout
    beside.write(f"95 % intervals: {method} over {over}{number}.")


def get_study(name: str) -> Study:
    """The study of that name. Raises CommandError with a suggestion and a list of all studies."""
    study = Study.objects.select_related("stereotype_source").filter(name=name).first()
    if study is not None:
        return study
    known = list(Study.objects.order_by("name").values_list("name", flat=True))
    if not known:
        raise CommandError(
            f"There is no study '{name}', and no other study. Use import_visage or open_study."
        )
    raise CommandError(
        f"There is no study '{name}'.{did_you_mean(name, known)} There are: {', '.join(known)}."
    )


def get_run(runs: QuerySet[Run], name: str, *, of: str, if_none: str = "") -> Run:
    """The run of `runs` with this name or number. `of`: what they are, as in "of brightness"; `if_none`: the
    cure where there is none. Raises CommandError with a suggestion and the latest names."""
    run = find_run(runs, name)
    if run is not None:
        return run
    known = list(runs.values_list("name", flat=True)[:10])
    none = f"none yet; {if_none}" if if_none else "none yet"
    raise CommandError(
        f"There is no run '{name}' {of}.{did_you_mean(name, known)} The latest are: "
        f"{', '.join(known) or none}."
    )


@contextmanager
def spinner(message: str) -> Iterator[None]:
    """Show a spinner on stderr during a computation, if stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(message):
        yield


def csv_value(value: Cell) -> Cell:
    """A CSV cell: empty if undefined, `inf` if infinite, otherwise every digit. As in exports, text that a
    spreadsheet would run as a formula is made harmless."""
    if value is None:
        return ""
    if isinstance(value, str):
        return safe_cell(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) else value


def table_value(value: Cell) -> str:
    """A table cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4f}"
    return str(value)


def as_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Cell]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([csv_value(row[column]) for column in columns] for row in rows)
    return out.getvalue()


def as_json(about: Mapping[str, Any], rows: Sequence[Mapping[str, Cell]]) -> str:
    """`about`, with the rows under "rows". Infinity, which JSON does not have, is the string "inf"."""
    plain = [{key: "inf" if value == float("inf") else value for key, value in row.items()} for row in rows]
    return json.dumps({**about, "rows": plain}, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_table(columns: Sequence[str], rows: Sequence[Mapping[str, Cell]]) -> str:
    """A table with columns as wide as their widest cell; text left-aligned, numbers right-aligned."""
    cells = [[table_value(row[column]) for column in columns] for row in rows]
    text = [any(isinstance(row[column], str) for row in rows) for column in columns]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    lines = []
    for line in [list(columns), *cells]:
        aligned = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(line, widths, text, strict=True)
        ]
        lines.append("  ".join(aligned).rstrip() + "\n")
    return "".join(lines)


def parse_settings(arguments: Sequence[str]) -> dict[str, str]:
    """{'name': 'value'} from arguments NAME=VALUE. Raises ValueError for any other form."""
    found = {}
    for each in arguments:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise ValueError(f"--set {each}: write --set NAME=VALUE.")
        found[name] = value
    return found
