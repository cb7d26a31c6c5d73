"""Verify the files of an image set, and generate lost ones again (DESIGN §6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.images import files as image_files
from annotation.models import AuditEvent, Image, ImageSet
from generation.models import Job, Run, RunState

Progress = Callable[[int, int], None]
"""(files checked, files in total)."""


@dataclass(frozen=True)
class Verification:
    """The result of `verify`. `references` are stored elsewhere and were not checked."""

    intact: int
    references: int
    missing: tuple[Image, ...]
    damaged: tuple[Image, ...]

    @property
    def lost(self) -> tuple[Image, ...]:
        return self.missing + self.damaged


@dataclass(frozen=True)
class Regeneration:
    """`runs` are running, with a job for each lost image that was generated here. `uploaded` images cannot be
    generated: someone has to upload them again."""

    runs: tuple[Run, ...]
    jobs: int
    uploaded: tuple[Image, ...]


def verify(*, image_set: ImageSet, progress: Progress = lambda done, total: None) -> Verification:
    """Hash every file of a set again, in constant memory. Changes nothing."""
    images = image_set.images.select_related("group").order_by("group__name", "index")
    total, intact, references = images.count(), 0, 0
    missing, damaged = [], []
    for done, image in enumerate(images.iterator(), start=1):
        name = image.file.name
        if not name:
            references += 1
        elif image_files.is_stored(name, sha256=image.sha256):
            intact += 1
        elif default_storage.exists(name):
            damaged.append(image)
        else:
            missing.append(image)
        progress(done, total)
    return Verification(intact, references, tuple(missing), tuple(damaged))


def regenerate(*, lost: Sequence[Image], by: User | None) -> Regeneration:
    """Generate lost images again: their jobs become pending and their runs running.

    A worker stores a file only if it is identical, byte for byte; otherwise the job fails with an error. Call
    `generation.jobs.tasks.enqueue` afterwards.
    """
    lost_ids = {image.pk for image in lost}
    with transaction.atomic():
        jobs = Job.objects.filter(image__in=lost_ids, group__isnull=False, key="")
        made_here = set(jobs.values_list("image", flat=True))
        runs = Run.objects.select_for_update(no_key=True).filter(jobs__in=jobs).order_by("pk")
        run_ids = sorted(set(runs.values_list("pk", flat=True)))
        # Jobs that a worker released after the cancellation are no longer needed.
        cancelled = Job.objects.filter(run__in=run_ids, run__state=RunState.CANCELLED, image=None)
        cancelled.exclude(state=JobState.CLAIMED).delete()
        again = jobs.filter(state__in=(JobState.DONE, JobState.FAILED)).update(
            state=JobState.PENDING, attempts=0, not_before=None, finished_at=None, error=""
        )
        Run.objects.filter(pk__in=run_ids, started_at=None).update(started_at=timezone.now())
        Run.objects.filter(pk__in=run_ids).update(state=RunState.RUNNING, finished_at=None, error="")
        for run_id in run_ids:
            AuditEvent.objects.create(
                what="pictures made again", by=by, details={"run": run_id, "images": len(made_here)}
            )
    uploaded = tuple(image for image in lost if image.pk not in made_here)
    return Regeneration(tuple(Run.objects.filter(pk__in=run_ids).order_by("pk")), again, uploaded)
