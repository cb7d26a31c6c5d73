"""manage.py verify SET: check the files of an image set; --remake generates lost ones again."""

from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.core.leases import JobState
from annotation.management.commands._importing import progress_bar
from annotation.models import Image, ImageSet
from generation.image_sets.services import Verification, regenerate, verify
from generation.management.commands._execution import add_worker_options, finish_run
from generation.management.commands._targets import find_study_or_image_set

_SHOWN = 20


class Command(BaseCommand):
    help = (
        "Hash every file of an image set again. The exit status is non-zero if one is missing or damaged. "
        "--remake generates lost images again, identical byte for byte or not at all."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("set", metavar="SET")
        parser.add_argument(
            "--remake", action="store_true", help="generate lost images again from their recipe"
        )
        add_worker_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        image_set = find_study_or_image_set(options["set"])
        if not isinstance(image_set, ImageSet):
            raise CommandError(f"'{options['set']}' is a study. Name its image set.")
        result = self._verify(image_set)
        if result.lost and options["remake"]:
            regeneration = regenerate(lost=result.lost, by=None)
            if regeneration.uploaded:
                self.stderr.write(
                    f"{len(regeneration.uploaded):,} of them were uploaded and cannot be generated: import "
                    "the same files again with import_images."
                )
            for run in regeneration.runs:
                waiting = run.jobs.filter(state=JobState.PENDING, image=None).count()
                also = f", and {waiting:,} pending ones" if waiting else ""
                self.stdout.write(f"Run {run.pk} generates its lost images again{also}.")
                finish_run(self, run, now=options["now"], later=options["later"])
            if options["later"]:
                return
            result = self._verify(image_set)
        if result.lost:
            cure = (
                ""
                if options["remake"]
                else f" Generate them again: manage.py verify {image_set.name} --remake"
            )
            raise CommandError(
                f"{len(result.missing):,} files are missing, {len(result.damaged):,} are damaged.{cure}"
            )

    def _verify(self, image_set: ImageSet) -> Verification:
        try:
            with progress_bar() as progress:
                result = verify(image_set=image_set, progress=partial(progress, "hashing files"))
        except OSError as error:
            raise CommandError(f"The files cannot be read: {error}") from error
        self._list("missing", result.missing)
        self._list("damaged", result.damaged)
        elsewhere = f", {result.references:,} stored elsewhere" if result.references else ""
        self.stdout.write(f"{image_set.name}: {result.intact:,} files are intact{elsewhere}.")
        return result

    def _list(self, what: str, images: Sequence[Image]) -> None:
        for image in images[:_SHOWN]:
            self.stderr.write(f"{what}: {image.file.name} ({image.group} {image.index})")
        if len(images) > _SHOWN:
            self.stderr.write(f"{what}: and {len(images) - _SHOWN:,} more")
