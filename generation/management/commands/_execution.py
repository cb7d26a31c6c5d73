"""Carrying a run out from the terminal: here or by workers, with a bar of its rate and time left."""

from __future__ import annotations

import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from annotation.models import ImageSet, Study
from annotation.studies.units.planned import StudyRefused
from generation.core.durations import duration
from generation.jobs import tasks
from generation.jobs.services import claims, work
from generation.management.commands._targets import cure, plan_summary, find_study_or_image_set
from generation.models import Run, RunState
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.queries import image_sets
from generation.plans.services import Plan
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from generation.runs import services as runs
from generation.runs.queries import Progress, progress

_LOOK_EVERY = 1.0


def add_run_options(parser: ArgumentParser) -> None:
    """The options of whether and where the jobs are done."""
    parser.add_argument("--preview", action="store_true", help="say what would be made, and write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask before starting")
    add_worker_options(parser)


def add_worker_options(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--now",
        action="store_true",
        help="do the jobs here, also where workers could (without CELERY_BROKER_URL: always so)",
    )
    where.add_argument("--later", action="store_true", help="leave the jobs to the workers and come back")


def carry_out(command: BaseCommand, plan: Plan, options: Mapping[str, Any]) -> None:
    """Preview, ask, plan, start, and see the run through. Raises CommandError if it did not end well."""
    preview = plans.preview(plan)
    for line in plan_summary(plan, preview):
        command.stdout.write(line)
    if options["preview"]:
        command.stdout.write("Nothing was written.")
        return
    if preview.added and not options["yes"] and not _agreed():
        raise CommandError("Not started. Nothing was written.")
    try:
        ensured = runs.ensure(plan=plan, by=None)
    except (PlanRefused, StudyRefused) as error:
        raise CommandError(str(error)) from error
    run = ensured.run
    try:
        started = runs.start(run=run, by=None)
    except runs.RunRefused as error:
        raise CommandError(f"{error}{cure(run)}") from error
    if not started and run.state == RunState.DONE:
        command.stdout.write(f"Nothing to do: run {run.pk} has made all of it.")
        report_result(command, run)
        return
    command.stdout.write(f"Run {run.pk}: {ensured.added:,} jobs added, {ensured.total:,} in all.")
    finish_run(command, run, now=options["now"], later=options["later"])


def carry_out_on_images(
    command: BaseCommand, recipe: CaptionRecipe | EmbeddingRecipe, options: Mapping[str, Any]
) -> None:
    """The same for a recipe that reads the images of `options["target"]`, a set or a study that shows one."""
    target = find_study_or_image_set(options["target"])
    try:
        if isinstance(target, Study):
            plan = plans.plan_captions_or_embeddings(recipe=recipe, image_set=image_sets.image_set_of(target), study=target)
        else:
            plan = plans.plan_captions_or_embeddings(recipe=recipe, image_set=cast("ImageSet", target))
    except PlanRefused as error:
        raise CommandError(str(error)) from error
    carry_out(command, plan, options)


def finish_run(command: BaseCommand, run: Run, *, now: bool, later: bool) -> None:
    """Do a running run's jobs, or wait for those who do. Raises CommandError if it did not end well."""
    tasks.enqueue(run)
    if later:
        command.stdout.write(f"Left to the workers. See how it stands with: manage.py runs show {run.pk}")
        return
    try:
        if now or not settings.CELERY_BROKER_URL:
            with _bar(run):
                _work(run)
        else:
            watch(run)
    except KeyboardInterrupt as error:
        stands = progress(run)
        raise CommandError(
            f"Interrupted at {stands.done:,} of {stands.total:,}. Run {run.pk} goes on with the same "
            f"command, or with workers; stop it with: manage.py runs pause {run.pk}"
        ) from error
    report_result(command, run)


def watch(run: Run) -> None:
    """Show the bar until the run stops running, by whoever does it."""
    with _bar(run):
        while progress(run).state == RunState.RUNNING:
            time.sleep(_LOOK_EVERY)


def report_result(command: BaseCommand, run: Run) -> None:
    """Say how it ended. Raises CommandError if jobs failed, or if it paused by itself."""
    stands = progress(run)
    if stands.error:
        raise CommandError(
            f"Run {run.pk} paused at {stands.done:,} of {stands.total:,}: {stands.error} "
            f"Then: manage.py runs resume {run.pk}"
        )
    if stands.failed:
        told = "; ".join(f"{each.jobs} ({each.example}): {each.error}" for each in stands.errors)
        raise CommandError(
            f"Run {run.pk} made {stands.done:,} of {stands.total:,}; {stands.failed:,} failed: {told}. "
            f"Try them again with: manage.py runs retry {run.pk}"
        )
    command.stdout.write(f"Run {run.pk} is {stands.state}: {stands.done:,} of {stands.total:,}.")


def _agreed() -> bool:
    """Where somebody sits at the terminal, they are asked; a script has said what it wants."""
    return not sys.stdin.isatty() or input("Start? [y/N] ").strip().lower() in ("y", "yes")


def _work(run: Run) -> None:
    """Until the run stops running: what rests, or is in another's hands, is waited for."""
    while progress(run).state == RunState.RUNNING:
        work.work(run_id=run.pk)
        if not claims.claimable_jobs().filter(run=run).exists() and progress(run).state == RunState.RUNNING:
            time.sleep(_LOOK_EVERY)


@contextmanager
def _bar(run: Run) -> Iterator[None]:
    """A bar on a terminal's error stream, kept up to date by a thread; nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
    )
    ended = threading.Event()
    with Bar(*columns, console=console) as bar:
        row = bar.add_task(f"run {run.pk}", told="")

        def show() -> None:
            stands = progress(run)
            bar.update(
                row, total=stands.total, completed=stands.done + stands.failed, told=_progress_text(stands)
            )

        def keep_showing() -> None:
            try:
                while not ended.wait(_LOOK_EVERY):
                    show()
            finally:
                connection.close()

        shower = threading.Thread(target=keep_showing, daemon=True)
        show()
        shower.start()
        try:
            yield
        finally:
            ended.set()
            shower.join()
            show()


def _progress_text(stands: Progress) -> str:
    told = []
    if stands.rate:
        told.append(f"{stands.rate:.3g}/s")
    if stands.seconds_left is not None:
        told.append(f"{duration(stands.seconds_left)} left")
    if stands.failed:
        told.append(f"{stands.failed:,} failed")
    return ", ".join(told)
