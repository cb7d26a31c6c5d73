"""Execute a run from the terminal, here or by workers, with a progress bar."""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from annotation.core.heartbeat import PeriodicThread
from annotation.models import ImageSet, Study
from annotation.studies.errors import StudyRefused
from generation.core.durations import duration
from generation.jobs import tasks
from generation.jobs.services import claims, work
from generation.jobs.services.sickness import WorkerIll
from generation.management.commands._targets import cure, find_study_or_image_set, plan_summary
from generation.models import ASKINGS, Run, RunState
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.plans.queries import image_sets
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from generation.runs.queries import Progress, progress

_POLL_SECONDS = 1.0


def add_run_options(parser: ArgumentParser) -> None:
    """The options of commands that plan and start a run."""
    parser.add_argument("--preview", action="store_true", help="show what would be made, and write nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask before starting")
    add_worker_options(parser)


def add_worker_options(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--now",
        action="store_true",
        help="do the jobs here even if workers could (always so without CELERY_BROKER_URL)",
    )
    where.add_argument("--later", action="store_true", help="leave the jobs to the workers and do not wait")


def carry_out(
    command: BaseCommand,
    plan: Plan,
    options: Mapping[str, Any],
    *,
    completed: Callable[[Plan], Plan] = lambda plan: plan,
) -> None:
    """Preview, ask, plan, start and finish a run. `completed` is given the plan before it starts, and may
    write what the plan needs. Raises CommandError if it fails."""
    preview = plans.preview(plan)
    for line in plan_summary(preview):
        command.stdout.write(line)
    if options["preview"]:
        command.stdout.write("Nothing was written.")
        return
    ask = preview.added and not options["yes"] and sys.stdin.isatty()
    if ask and input("Start? [y/N] ").strip().lower() not in ("y", "yes"):
        raise CommandError("Not started. Nothing was written.")
    try:
        ensured = runs.ensure(plan=completed(plan), by=None)
    except (PlanRefused, StudyRefused) as error:
        raise CommandError(str(error)) from error
    run = ensured.run
    try:
        started = runs.start(run=run, by=None)
    except RunRefused as error:
        raise CommandError(f"{error}{cure(run)}") from error
    if not started and run.state == RunState.DONE:
        command.stdout.write(f"Nothing to do: run {run.pk} has already made everything.")
        report_result(command, run)
        return
    command.stdout.write(f"Run {run.pk}: {ensured.added:,} jobs added, {ensured.total:,} in all.")
    finish_run(command, run, now=options["now"], later=options["later"])


def carry_out_on_images(
    command: BaseCommand,
    recipe: CaptionRecipe | EmbeddingRecipe,
    options: Mapping[str, Any],
    *,
    texts: Sequence[str] = (),
) -> None:
    """The same for a recipe that reads the images of `options["target"]`, an image set or a study, and
    `texts`."""
    target = find_study_or_image_set(options["target"])
    study = target if isinstance(target, Study) else None
    try:
        image_set = image_sets.image_set_of(study) if study is not None else cast("ImageSet", target)
        plan = plans.plan_captions_or_embeddings(recipe=recipe, image_set=image_set, study=study, texts=texts)
    except PlanRefused as error:
        raise CommandError(str(error)) from error
    carry_out(command, plan, options)


def finish_run(command: BaseCommand, run: Run, *, now: bool, later: bool) -> None:
    """Do a running run's jobs, or wait for the workers. Raises CommandError if it fails."""
    tasks.enqueue(run)
    if later:
        command.stdout.write(f"Left to the workers. Check progress with: manage.py runs show {run.pk}")
        return
    try:
        if now or not settings.CELERY_BROKER_URL:
            with _bar(run):
                _work(run)
        else:
            watch(run)
    except Run.DoesNotExist as error:
        raise CommandError(f"Run {run.pk} was discarded meanwhile.") from error
    except WorkerIll as error:
        raise CommandError(
            f"The device or the model fails here: {error} The jobs were given back. Continue run {run.pk} "
            "with the same command, on another machine if it happens again."
        ) from error
    except KeyboardInterrupt as error:
        run_progress = progress(run)
        raise CommandError(
            f"Interrupted at {run_progress.done:,} of {run_progress.total:,}. The same command or workers "
            f"continue run {run.pk}; stop it with: manage.py runs pause {run.pk}"
        ) from error
    report_result(command, run)


def watch(run: Run) -> None:
    """Show the progress bar until the run stops running."""
    with _bar(run):
        while progress(run).state == RunState.RUNNING:
            time.sleep(_POLL_SECONDS)


def report_result(command: BaseCommand, run: Run) -> None:
    """Report how the run ended. Raises CommandError if jobs failed or an error paused it."""
    run_progress = progress(run)
    if run_progress.error and run_progress.state == RunState.PAUSED:
        elsewhere = (
            "need another run, under another name" if run.kind in ASKINGS else "go into another image set"
        )
        other = (
            f"Other settings {elsewhere}."
            if run_progress.done
            else f"For other settings: manage.py runs discard {run.pk}, and plan again."
        )
        raise CommandError(
            f"Run {run.pk} was paused at {run_progress.done:,} of {run_progress.total:,}: "
            f"{run_progress.error} Then: manage.py runs resume {run.pk}. {other}"
        )
    if run_progress.failed:
        errors = "; ".join(f"{each.jobs} ({each.example}): {each.error}" for each in run_progress.errors)
        raise CommandError(
            f"Run {run.pk} made {run_progress.done:,} of {run_progress.total:,}; {run_progress.failed:,} "
            f"failed: {errors}. Try them again with: manage.py runs retry {run.pk}"
        )
    command.stdout.write(
        f"Run {run.pk} is {run_progress.state}: {run_progress.done:,} of {run_progress.total:,}."
    )


def _work(run: Run) -> None:
    """Work until the run stops running; wait while jobs are delayed or claimed by others."""
    while progress(run).state == RunState.RUNNING:
        work.work(run_id=run.pk)
        if not claims.claimable_jobs().filter(run=run).exists() and progress(run).state == RunState.RUNNING:
            time.sleep(_POLL_SECONDS)


@contextmanager
def _bar(run: Run) -> Iterator[None]:
    """A progress bar on stderr, updated by a thread; nothing if stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[details]}"),
    )
    with Bar(*columns, console=console) as bar:
        row = bar.add_task(f"run {run.pk}", details="")

        def show() -> bool:
            now = progress(run)
            bar.update(row, total=now.total, completed=now.done + now.failed, details=_details(now))
            return True

        show()
        try:
            with PeriodicThread(show, every=lambda: _POLL_SECONDS, name="progress"):
                yield
        finally:
            show()


def _details(run_progress: Progress) -> str:
    parts = []
    if run_progress.rate:
        parts.append(f"{run_progress.rate:.3g}/s")
    if run_progress.seconds_left is not None:
        parts.append(f"{duration(run_progress.seconds_left)} left")
    if run_progress.failed:
        parts.append(f"{run_progress.failed:,} failed")
    return ", ".join(parts)
