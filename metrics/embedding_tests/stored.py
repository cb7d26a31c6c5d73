"""Stored files of embedding tests, and the sets and encoders that can be tested. Reads."""

from collections.abc import Iterator

from django.db.models import QuerySet

from annotation.models import ImageSet
from generation.embeddings.queries import encoder_id, runs_of_set
from generation.models import Run, RunKind
from generation.recipes.recipes import FAKE
from metrics.models import EmbeddingTestFile


def stored_files() -> QuerySet[EmbeddingTestFile]:
    return EmbeddingTestFile.objects.select_related("image_set", "owner")


def embedded_sets() -> Iterator[tuple[ImageSet, list[str]]]:
    """Each set that was embedded, with its encoders, the newest first. One query."""
    runs = Run.objects.filter(kind=RunKind.EMBEDDINGS, image_set__isnull=False).select_related("image_set")
    encoders: dict[ImageSet, list[str]] = {}
    for run in runs.order_by("image_set__title", "-pk"):
        assert run.image_set is not None
        found = encoders.setdefault(run.image_set, [])
        if (encoder := encoder_id(run)) not in found:
            found.append(encoder)
    return iter(encoders.items())


def newest_runs(image_set: ImageSet) -> list[Run]:
    """The first of runs_of_set of each encoder of the set, by the encoder's name. One query."""
    newest: dict[str, Run] = {}
    for run in runs_of_set(image_set).select_related("image_set"):
        newest.setdefault(encoder_id(run), run)
    return [newest[name] for name in sorted(newest)]


def is_simulated(run: Run) -> bool:
    """Whether a program, and no model, made the vectors or the images."""
    return run.backend == FAKE or bool(run.image_set and run.image_set.drawn)
