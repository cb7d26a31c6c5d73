"""Whether the files of an image set are there and whole, and making lost ones again (DESIGN §6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from annotation.images import files as image_files
from annotation.models import AuditEvent, Image, ImageSet
from generation.models import Job, JobState, Run, RunState

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Told = Callable[[int, int], None]
"""(files looked at, files in all)."""


@dataclass(frozen=True)
class Verified:
    """`references` are kept elsewhere and were not looked at."""

    whole: int
    references: int
    missing: tuple[Image, ...]
    damaged: tuple[Image, ...]

    @property
    def lost(self) -> tuple[Image, ...]:
        return self.missing + self.damaged


@dataclass(frozen=True)
class Remaking:
    """`runs` are running and have a job for each lost picture that was made here; `brought` came finished:
    only whoever has the file can bring it again."""

    runs: tuple[Run, ...]
    jobs: int
    brought: tuple[Image, ...]


def verify(*, image_set: ImageSet, told: Told = lambda done, total: None) -> Verified:
    """Hash every file of a set again, in constant memory; changes nothing."""
    images = image_set.images.select_related("group").order_by("group__name", "index")
    total, whole, references = images.count(), 0, 0
    missing, damaged = [], []
    for done, image in enumerate(images.iterator(), start=1):
        name = image.file.name
        if not name:
            references += 1
        elif image_files.is_stored(name, sha256=image.sha256):
            whole += 1
        elif default_storage.exists(name):
            damaged.append(image)
        else:
            missing.append(image)
        told(done, total)
    return Verified(whole, references, tuple(missing), tuple(damaged))


def remake(*, lost: Sequence[Image], by: User | None) -> Remaking:
    """Ask for lost pictures again: the jobs that made them wait once more and their runs run.

    A worker makes them from the same recipe and keeps a file only if it is the very same, byte for byte;
    otherwise the job fails and says so. Ring generation.jobs.tasks afterwards.
    """
    wanted = {image.pk for image in lost}
    with transaction.atomic():
        jobs = Job.objects.filter(image__in=wanted, group__isnull=False)
        made_here = set(jobs.values_list("image", flat=True))
        runs = Run.objects.select_for_update(no_key=True).filter(jobs__in=jobs).order_by("pk")
        run_ids = sorted(set(runs.values_list("pk", flat=True)))
        # put back by a worker after the cancellation: nobody wants these any more
        given_up = Job.objects.filter(run__in=run_ids, run__state=RunState.CANCELLED, image=None)
        given_up.exclude(state=JobState.CLAIMED).delete()
        again = jobs.filter(state__in=(JobState.DONE, JobState.FAILED)).update(
            state=JobState.PENDING, attempts=0, not_before=None, finished_at=None, error=""
        )
        Run.objects.filter(pk__in=run_ids, started_at=None).update(started_at=timezone.now())
        Run.objects.filter(pk__in=run_ids).update(state=RunState.RUNNING, finished_at=None, error="")
        for run_id in run_ids:
            AuditEvent.objects.create(
                what="pictures made again", by=by, details={"run": run_id, "images": len(made_here)}
            )
    brought = tuple(image for image in lost if image.pk not in made_here)
    return Remaking(tuple(Run.objects.filter(pk__in=run_ids).order_by("pk")), again, brought)


__all__ = ["Remaking", "Told", "Verified", "remake", "verify"]
