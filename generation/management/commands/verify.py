"""manage.py verify SET: whether the files of an image set are whole; --remake makes lost ones again."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from annotation.models import Image, ImageSet
from generation.image_sets import services as verify
from generation.image_sets.services import Told, Verified
from generation.management.commands._execution import add_worker_options, finish_run
from generation.management.commands._targets import find_study_or_image_set
from generation.models import JobState

_SHOWN = 20


class Command(BaseCommand):
    help = (
        "Hash every file of an image set again. Ends non-zero if one is missing or damaged. --remake makes "
        "those again that were made here: the very same files, byte for byte, or none."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("set", metavar="SET")
        parser.add_argument(
            "--remake", action="store_true", help="make lost pictures again from their recipe"
        )
        add_worker_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        image_set = find_study_or_image_set(options["set"])
        if not isinstance(image_set, ImageSet):
            raise CommandError(f"'{options['set']}' is a study. Name the image set that it shows.")
        found = self._verified(image_set)
        if found.lost and options["remake"]:
            remaking = verify.remake(lost=found.lost, by=None)
            if remaking.brought:
                self.stderr.write(
                    f"{len(remaking.brought):,} of them were brought here finished and cannot be made: bring "
                    "the same files again with import_images."
                )
            for run in remaking.runs:
                waiting = run.jobs.filter(state=JobState.PENDING, image=None).count()
                also = f", and {waiting:,} that were waiting" if waiting else ""
                self.stdout.write(f"Run {run.pk} makes what was lost of it{also}.")
                finish_run(self, run, now=options["now"], later=options["later"])
            if options["later"]:
                return
            found = self._verified(image_set)
        if found.lost:
            cure = (
                "" if options["remake"] else f" Make them again: manage.py verify {image_set.name} --remake"
            )
            raise CommandError(
                f"{len(found.missing):,} files are missing, {len(found.damaged):,} are damaged.{cure}"
            )

    def _verified(self, image_set: ImageSet) -> Verified:
        try:
            with _bar() as told:
                found = verify.verify(image_set=image_set, told=told)
        except OSError as error:
            raise CommandError(f"The files cannot be read: {error}") from error
        self._list("missing", found.missing)
        self._list("damaged", found.damaged)
        elsewhere = f", {found.references:,} kept elsewhere" if found.references else ""
        self.stdout.write(f"{image_set.name}: {found.whole:,} files are as they were made{elsewhere}.")
        return found

    def _list(self, what: str, images: Sequence[Image]) -> None:
        for image in images[:_SHOWN]:
            self.stderr.write(f"{what}: {image.file.name} ({image.group} {image.index})")
        if len(images) > _SHOWN:
            self.stderr.write(f"{what}: and {len(images) - _SHOWN:,} more")


@contextmanager
def _bar() -> Iterator[Told]:
    console = Console(stderr=True)
    columns = (TextColumn("hashing files"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        row = bar.add_task("files", total=None)
        yield lambda done, total: bar.update(row, completed=done, total=total)
