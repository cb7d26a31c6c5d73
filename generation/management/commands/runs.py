"""manage.py runs: list runs, show one, and start, pause, resume, cancel, retry, discard or limit it."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.management.commands._lookups import command_errors
from generation.answers.queries import endings, spent
from generation.core.durations import duration
from generation.management.commands._execution import add_worker_options, finish_run, report_result, watch
from generation.management.commands._targets import cure, get_run, planned_by
from generation.models import ASKINGS, Run, RunKind, RunState
from generation.recipes.checks import RecipeRefused
from generation.recipes.limits import Limits
from generation.runs import limits, queries
from generation.runs import services as runs
from generation.runs.errors import RunRefused

_RUN = "its number or name; of images, captions or embeddings perhaps the name of the image set"
_HELP = {
    "start": "start a planned run",
    "pause": "stop after the current batch; the remaining jobs wait",
    "resume": "continue a paused run",
    "cancel": "delete the jobs that are not done; results are kept",
    "retry": "give failed jobs three new attempts",
    "discard": "delete a run that has made nothing, so that another recipe can fill its image set",
}
_LIMITS: dict[str, tuple[type, str]] = {
    "tokens": (int, "of prompts and answers together"),
    "cost": (float, "in the currency of the prices"),
    "price-in": (float, "price of a million tokens in prompts"),
    "price-out": (float, "price of a million tokens in answers"),
    "in-flight": (int, "askings at once, by each worker"),
}
_WORK_FOLLOWS = ("start", "resume", "retry")


class Command(BaseCommand):
    help = "List runs, show one, and start, pause, resume, cancel, retry, discard or limit it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", metavar="VERB")
        verbs.add_parser("list", help="list all runs, newest first (the default)")
        show = verbs.add_parser("show", help="show a run's progress, recipe and errors")
        show.add_argument("run", metavar="RUN", help=_RUN)
        show.add_argument("--watch", action="store_true", help="show a progress bar until it stops running")
        for name, text in _HELP.items():
            verb = verbs.add_parser(name, help=text)
            verb.add_argument("run", metavar="RUN", help=_RUN)
            if name in _WORK_FOLLOWS:
                add_worker_options(verb)
        limit = verbs.add_parser("limit", help="change the limits of a run that asks a model")
        limit.add_argument("run", metavar="RUN", help=_RUN)
        for name, (kind, text) in _LIMITS.items():
            limit.add_argument(f"--{name}", type=kind, metavar="N", help=f"{text}; 0: no limit")

    def handle(self, *args: Any, verb: str | None, **options: Any) -> None:
        if verb in (None, "list"):
            self._list()
            return
        run = get_run(options["run"])
        number = run.pk  # a run that is discarded has none
        if verb == "limit":
            self._limit(run, options)
            return
        if verb == "show":
            if options["watch"]:
                watch(run)
            self._show(run)
            if options["watch"]:
                report_result(self, run)
            return
        try:
            changed = runs.ACTIONS[verb or ""](run=run, by=None)
        except RunRefused as error:
            run.refresh_from_db()
            raise CommandError(f"{error}{cure(run) if verb != 'discard' else ''}") from error
        if verb == "discard":
            again = f"manage.py {planned_by(run)}"
            self.stdout.write(f"Run {number} is discarded. Plan it with other settings: {again}")
            return
        run.refresh_from_db()
        self._report(run, verb or "", changed)
        if verb in _WORK_FOLLOWS and run.state == RunState.RUNNING:
            finish_run(self, run, now=options["now"], later=options["later"])

    def _limit(self, run: Run, options: Mapping[str, Any]) -> None:
        """Change the limits that are given; the others stay."""
        names = [name.replace("-", "_") for name in _LIMITS]
        given = {name: options[name] for name in names if options[name] is not None}
        with command_errors(RecipeRefused, RunRefused):
            wanted = Limits(**{name: value for name, value in (run.limits | given).items() if value})
            changed = limits.set_limits(run=run, limits=wanted, by=None)
        shown = ", ".join(f"{name} {value:,}" for name, value in run.limits.items()) or "none"
        self.stdout.write(f"Run {run.pk}, limits: {shown}{'' if changed else ' (as before)'}.")

    def _report(self, run: Run, verb: str, changed: int) -> None:
        if verb == "retry":
            self.stdout.write(
                f"Run {run.pk}: {changed} failed jobs are tried again. It is {run.state}."
                if changed
                else f"Run {run.pk} has no failed job. It is {run.state}."
            )
        elif verb == "resume" and (warning := queries.resumed_message(run)):
            self.stdout.write(warning)
        else:
            self.stdout.write(f"Run {run.pk} is {run.state}{' now' if changed else ' already'}.")

    def _list(self) -> None:
        rows = [
            (
                str(each.run.pk),
                each.run.state,
                RunKind(each.run.kind).label.lower(),
                f"{each.done:,}/{each.total:,}",
                f"{each.failed:,}",
                each.run.backend,
                each.run.about,
                each.run.recipe_hash[:8],
            )
            for each in queries.run_rows(list(queries.all_runs()))
        ]
        if not rows:
            self.stdout.write("No runs yet. Plan one: manage.py generate STUDY")
            return
        head = ("run", "state", "what", "done", "failed", "backend", "name or image set", "recipe")
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write(line.rstrip())

    def _show(self, run: Run) -> None:
        progress = queries.progress(run)
        self.stdout.write(f"Run {run.pk}, {RunKind(run.kind).label.lower()}: {progress.state}")
        if run.name:
            self.stdout.write(f"  name       {run.name}")
        if run.image_set:
            self.stdout.write(f"  image set  {run.image_set.name}")
        self.stdout.write(f"  recipe     {run.recipe_hash}")
        self.stdout.write(f"             {json.dumps(run.recipe, sort_keys=True, ensure_ascii=False)}")
        cancelled = progress.state == RunState.CANCELLED
        left = f"{progress.cancelled:,} cancelled" if cancelled else f"{progress.pending:,} waiting"
        self.stdout.write(
            f"  jobs       {progress.done:,} done, {left}, {progress.claimed:,} in progress, "
            f"{progress.failed:,} failed; {progress.total:,} in all"
        )
        if progress.behind:
            self.stdout.write(f"  waits      a worker is on run {progress.behind.pk}")
        if progress.rate and progress.seconds_left is not None:
            self.stdout.write(f"  rate       {progress.rate:.3g}/s, {duration(progress.seconds_left)} left")
        if run.kind in ASKINGS:
            self._show_answers(run)
        for version in run.made_with:
            self.stdout.write(f"  made with  {_model_version(version)}")
        for fitting in run.batch_sizes.all():
            self.stdout.write(
                f"  batch      {fitting.size} on {fitting.device}: larger ones did not fit in its memory"
            )
        if progress.error:
            label = "paused" if progress.state == RunState.PAUSED else "had paused"
            self.stdout.write(f"  {label:<10} {progress.error}")
        for each in progress.errors:
            parked = f", {each.parked} not retried" if each.parked else ", retried automatically"
            self.stdout.write(f"  error      {each.jobs} jobs{parked}, e.g. '{each.example}': {each.error}")

    def _show_answers(self, run: Run) -> None:
        used = spent(run)
        cost = "" if used.cost is None else f", cost {used.cost:.4g}"
        self.stdout.write(f"  tokens     {used.tokens_in:,} in, {used.tokens_out:,} out{cost}")
        if run.limits:
            shown = ", ".join(f"{name} {value:,}" for name, value in run.limits.items())
            self.stdout.write(f"  limits     {shown}")
        ended = ", ".join(f"{reason or 'not known'} {number:,}" for reason, number in endings(run))
        self.stdout.write(f"  ended      {ended or 'no answer yet'}")


def _model_version(made_with: Mapping[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in made_with["libraries"].items())
    model = f"{made_with['model']} {made_with['revision']}".strip()
    file = f"imported from {made_with['file']}" if "file" in made_with else ""
    return "; ".join(filter(None, [model, file, made_with["device"], libraries, made_with["code"]]))
