"""Stored files of embedding tests, the published ones, and what can be tested. Reads."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from django.db.models import QuerySet

from annotation.models import IdentityGroup, ImageSet
from generation.embeddings.queries import encoder_id, runs_of_set
from generation.models import Run, RunKind
from generation.recipes.recipes import FAKE
from metrics.embedding_tests import test_file
from metrics.embedding_tests.test_file import TestFile
from metrics.models import EmbeddingTestFile

_PUBLISHED = "published"


@dataclass(frozen=True)
class PublishedFile:
    """A file of tests that comes with the program. `reference`: the table that it names, as CSV."""

    name: str
    text: str
    reference: str


def stored_files() -> QuerySet[EmbeddingTestFile]:
    return EmbeddingTestFile.objects.select_related("image_set", "owner")


def published_names() -> list[str]:
    """The names of the published files, without their ending."""
    folder = files("metrics.embedding_tests") / _PUBLISHED
    if not folder.is_dir():
        return []
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))


def published_file(name: str) -> PublishedFile | None:
    """None if there is none of that name."""
    if name not in published_names():
        return None
    folder = files("metrics.embedding_tests") / _PUBLISHED
    text = (folder / f"{name}.toml").read_text(encoding="utf-8")
    ranking = test_file.parse(text).ranking
    table = folder / ranking.reference if ranking is not None else None
    reference = table.read_text(encoding="utf-8") if table is not None and table.is_file() else ""
    return PublishedFile(name, text, reference)


def groups_of_set(image_set: ImageSet) -> list[str]:
    """The names of the groups that the set has images of, sorted."""
    groups = IdentityGroup.objects.filter(images__image_set=image_set).distinct()
    return list(groups.order_by("name").values_list("name", flat=True))


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
    """The newest run of each encoder of the set, by the encoder's name. One query."""
    newest: dict[str, Run] = {}
    for run in runs_of_set(image_set).select_related("image_set"):
        newest.setdefault(encoder_id(run), run)
    return [newest[name] for name in sorted(newest)]


def is_simulated(run: Run) -> bool:
    """Whether a program, and no model, made the vectors or the images."""
    return run.backend == FAKE or bool(run.image_set and run.image_set.drawn)


def parsed(stored: EmbeddingTestFile) -> TestFile:
    return test_file.parse(stored.text)
