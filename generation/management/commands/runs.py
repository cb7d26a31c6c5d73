"""manage.py runs: what runs there are, how one stands, and its moves."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from generation.core.durations import duration
from generation.management.commands._execution import add_worker_options, finish_run, watch
from generation.management.commands._targets import cure, get_run
from generation.models import Run, RunKind, RunState
from generation.runs import queries
from generation.runs import services as runs

_MOVES: dict[str, tuple[Callable[..., object], str]] = {
    "start": (runs.start, "start a run that was only planned"),
    "pause": (runs.pause, "stop after the batch in hand; what is made stays, the rest waits"),
    "resume": (runs.resume, "go on with a run that was paused or paused by itself"),
    "cancel": (runs.cancel, "give up what is not made yet; what is made stays"),
    "retry": (runs.retry, "give the jobs that failed three new tries"),
}
_GO_ON = ("start", "resume", "retry")


class Command(BaseCommand):
    help = "List runs, show one, and start, pause, resume, cancel or retry it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", metavar="VERB")
        verbs.add_parser("list", help="every run, newest first (what no verb does as well)")
        show = verbs.add_parser("show", help="how a run stands, its recipe and its errors")
        show.add_argument("run", type=int, metavar="NUMBER")
        show.add_argument("--watch", action="store_true", help="with a bar, until it stops running")
        for name, (_, told) in _MOVES.items():
            verb = verbs.add_parser(name, help=told)
            verb.add_argument("run", type=int, metavar="NUMBER")
            if name in _GO_ON:
                add_worker_options(verb)

    def handle(self, *args: Any, verb: str | None, **options: Any) -> None:
        if verb in (None, "list"):
            self._list()
            return
        run = get_run(options["run"])
        if verb == "show":
            if options["watch"]:
                watch(run)
            self._show(run)
            return
        try:
            moved = _MOVES[verb or ""][0](run=run, by=None)
        except runs.RunRefused as error:
            run.refresh_from_db()
            raise CommandError(f"{error}{cure(run)}") from error
        run.refresh_from_db()
        self._tell(run, verb or "", moved)
        if verb in _GO_ON and run.state == RunState.RUNNING:
            finish_run(self, run, now=options["now"], later=options["later"])

    def _tell(self, run: Run, verb: str, moved: object) -> None:
        if verb == "retry":
            self.stdout.write(
                f"Run {run.pk}: {moved} failed jobs are tried again. It is {run.state}."
                if moved
                else f"Run {run.pk} has no failed job. It is {run.state}."
            )
        else:
            self.stdout.write(f"Run {run.pk} is {run.state}{' now' if moved else ' already'}.")

    def _list(self) -> None:
        rows = [
            (
                str(each.run.pk),
                each.run.state,
                RunKind(each.run.kind).label.lower(),
                f"{each.done:,}/{each.total:,}",
                f"{each.failed:,}",
                each.run.backend,
                each.run.image_set.name,
                each.run.recipe_hash[:8],
            )
            for each in queries.runs()
        ]
        if not rows:
            self.stdout.write("There is no run yet. Plan one: manage.py generate STUDY")
            return
        head = ("run", "state", "what", "done", "failed", "backend", "image set", "recipe")
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.stdout.write(line.rstrip())

    def _show(self, run: Run) -> None:
        stands = queries.progress(run)
        self.stdout.write(f"Run {run.pk}, {RunKind(run.kind).label.lower()}: {stands.state}")
        self.stdout.write(f"  image set  {run.image_set.name}")
        self.stdout.write(f"  recipe     {run.recipe_hash}")
        self.stdout.write(f"             {json.dumps(run.recipe, sort_keys=True, ensure_ascii=False)}")
        self.stdout.write(
            f"  jobs       {stands.done:,} done, {stands.pending:,} waiting, {stands.claimed:,} in work, "
            f"{stands.failed:,} failed; {stands.total:,} in all"
        )
        if stands.rate and stands.seconds_left is not None:
            self.stdout.write(f"  rate       {stands.rate:.3g}/s, {duration(stands.seconds_left)} left")
        for way in run.made_with:
            self.stdout.write(f"  made with  {_way(way)}")
        if run.batch_size is not None:
            self.stdout.write(f"  batch      {run.batch_size}: more did not fit in a worker's memory")
        if stands.error:
            self.stdout.write(f"  paused     {stands.error}")
        for each in stands.errors:
            parked = f", {each.parked} not tried again" if each.parked else ", tried again by itself"
            self.stdout.write(f"  error      {each.jobs} jobs{parked}, e.g. '{each.example}': {each.error}")


def _way(way: Mapping[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in way["libraries"].items())
    return "; ".join(
        filter(None, [f"{way['model']} {way['revision']}".strip(), way["device"], libraries, way["code"]])
    )
