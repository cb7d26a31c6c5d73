"""The embeddings of the three image sets of pull, one identity group after another (PROTOCOL §9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import AuditEvent, IdentityGroup, Image, ImageSet, Study, Task
from generation import vectors
from generation.models import Embedding, Provenance, Run, RunKind, RunState
from generation.prompts import PromptSet
from generation.services.image_sets import FAKE

NEWEST = "newest"
PULL_SETS = (PromptSet.DEFAULT, PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL)
_AT_ONCE = 2000


@dataclass(frozen=True)
class Embedded:
    """The images of one prompt set: `vectors` (n, dim) of float32, in the order of the images' numbers, so
    that a seeded draw gives the same in every database. `prompts` (n,) are their clusters: what people are
    described as, whichever of the three wordings says it, or the prompt where nothing is described."""

    vectors: npt.NDArray[np.float32]
    prompts: npt.NDArray[np.str_]


@dataclass(frozen=True)
class EmbeddingFrame:
    """The images of one identity group. A set that the group has no image of holds no vector."""

    group_id: int
    group: str
    region: str
    default: Embedded
    stereotypical: Embedded
    non_stereotypical: Embedded


def pull_sets(study: Study) -> QuerySet[ImageSet]:
    """The study's image sets with pictures of default prompts.

    Its sets are those that its tasks show and those that runs were planned for in its name
    (`manage.py generate STUDY --prompts pull`): pictures for pull are shown to nobody, so that no task
    points at them.
    """
    shown = Task.objects.filter(study=study, image_set__isnull=False).values("image_set")
    # Few rows, whose numbers stand in JSON: read, since databases differ in what they compare there.
    planned = AuditEvent.objects.filter(study=study, what__in=("run planned", "run extended"))
    runs = {each for each in planned.values_list("details__run", flat=True) if isinstance(each, int)}
    made = Run.objects.filter(pk__in=runs).values("image_set")
    return ImageSet.objects.filter(Q(pk__in=shown) | Q(pk__in=made), Exists(_default_pictures("pk")))


def embedding_runs(study: Study) -> QuerySet[Run]:
    """The finished runs that embedded the study's sets for pull, the newest first."""
    return finished_runs().filter(image_set__in=pull_sets(study).values("pk"))


def finished_runs() -> QuerySet[Run]:
    """The finished runs that embedded any set with pictures of default prompts, the newest first."""
    finished = Run.objects.filter(
        Exists(_default_pictures("image_set")), kind=RunKind.EMBEDDINGS, state=RunState.DONE
    )
    return finished.select_related("image_set").order_by("-finished_at", "-pk")


def _default_pictures(image_set: str) -> QuerySet[Provenance]:
    of_set = Provenance.objects.filter(image__image_set=OuterRef(image_set), prompt_set=PromptSet.DEFAULT)
    return of_set.order_by()


def embedding_run(study: Study, run: str = NEWEST) -> Run | None:
    """The embedding run to read: the one numbered `run`, of whichever set, or the study's newest; None where
    it has none.

    Raises ValueError for a `run` that is no such run, naming those of the study.
    """
    if run == NEWEST:
        return embedding_runs(study).first()
    chosen = finished_runs().filter(pk=run).first() if run.isdecimal() and len(run) < 19 else None
    if chosen is None:
        known = ", ".join(str(pk) for pk in embedding_runs(study).values_list("pk", flat=True))
        raise ValueError(
            f"'{run}' is no finished run that embedded pictures of default prompts. The study "
            f"'{study.name}' has {known or 'none'}; all runs are listed by: manage.py runs"
        )
    return chosen


def embeddings_read(run: Run) -> QuerySet[Embedding]:
    """The embeddings of a run that pull is computed from: those of the three prompt sets."""
    return Embedding.objects.filter(
        run=run, image__image_set=run.image_set_id, image__provenance__prompt_set__in=PULL_SETS
    )


def groups_embedded(run: Run) -> QuerySet[IdentityGroup]:
    """The identity groups that the run's image set has images of."""
    of_group = Image.objects.filter(image_set=run.image_set_id, group=OuterRef("pk")).order_by()
    return IdentityGroup.objects.filter(Exists(of_group))


def embeddings(run: Run) -> Iterator[EmbeddingFrame]:
    """One frame for each identity group that has an embedding, by group id.

    Two queries. Rows are streamed in the order of an index (image set, group, number), so that neither the
    program nor the database ever holds more than one group's vectors.
    """
    known = {group.pk: group for group in groups_embedded(run)}
    rows = (
        embeddings_read(run)
        .order_by("image__group_id", "image__index")
        .values_list(
            "image__group_id",
            "image__provenance__prompt_set",
            "image__provenance__attribute_id",
            "image__prompt",
            "dim",
            "vector",
        )
        .iterator(chunk_size=_AT_ONCE)
    )
    for group_id, of_group in groupby(rows, key=lambda row: row[0]):
        group, images = known[group_id], list(of_group)
        default, stereotypical, non_stereotypical = (
            _embedded([row for row in images if row[1] == prompt_set]) for prompt_set in PULL_SETS
        )
        yield EmbeddingFrame(group_id, group.name, group.region, default, stereotypical, non_stereotypical)


def _embedded(rows: list[tuple[Any, ...]]) -> Embedded:
    if not rows:
        return Embedded(np.zeros((0, 0), dtype=np.float32), np.zeros(0, dtype=np.str_))
    prompts = [f"attribute {attribute}" if attribute else prompt for _, _, attribute, prompt, _, _ in rows]
    return Embedded(vectors.unpack([row[5] for row in rows], dim=rows[0][4]), np.array(prompts))


def embeddings_in_words(study: Study, run: str) -> str:
    """Which embeddings a score is computed from, as it stands beside it."""
    chosen = embedding_run(study, run)
    if chosen is None:
        return "no embeddings of pictures for pull"
    # what sees colours only has no weights, whatever its recipe says
    keys = ("model", "pretrained") if chosen.backend != FAKE else ("backend",)
    model = ", ".join(str(chosen.recipe[key]) for key in keys if chosen.recipe.get(key))
    of = f"of the image set {chosen.image_set.name}"
    drawn = ", DRAWN PICTURES, no model's output" if chosen.image_set.drawn else ""
    return f"embeddings by {model or chosen.backend} (run {chosen.pk}) {of}{drawn}"
