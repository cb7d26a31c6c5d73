"""Read the embeddings of the three image sets of pull, one identity group at a time (PROTOCOL §9)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import AuditEvent, IdentityGroup, Image, ImageSet, Study, Task
from generation.core import vectors
from generation.models import Embedding, Provenance, Run, RunKind, RunState
from generation.recipes.prompts import PromptSet
from generation.recipes.recipes import FAKE
from metrics.core.comparison_choice import parse_comparison
from metrics.core.fingerprints import fingerprint
from metrics.pull.stats.paired import ImageVectors
from metrics.score_runs.metric import NothingToCompute

NEWEST = "newest"
SPLITS = ("run", "image_set")
"""How pull can be compared within a study."""
PROMPT_SETS = (PromptSet.DEFAULT, PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL)
_CHUNK_SIZE = 2000


class NothingEmbedded(NothingToCompute):
    """There are no embeddings. The message says how to create them."""


@dataclass(frozen=True)
class EmbeddingFrame:
    """The images of one identity group: default, stereotypical and non-stereotypical.

    Images are in the order of their index, so that a seeded draw is the same in every database; their labels
    are primary keys. Prompts are labelled by the attribute that people are described as, in any of the three
    wordings, or by their text if there is no attribute. A set without images has no vectors (float32).
    """

    group_id: int
    group: str
    region: str
    sets: tuple[ImageVectors, ImageVectors, ImageVectors]

    @property
    def complete(self) -> bool:
        """Whether all three sets have images."""
        return all(len(each.vectors) for each in self.sets)


def pull_sets(*studies: Study) -> QuerySet[ImageSet]:
    """The image sets of `studies` with images of default prompts.

    These are the sets that tasks use and the sets of runs that were planned for a study (`manage.py generate
    STUDY --prompts pull`): no task refers to images for pull, because annotators never see them.
    """
    used = Task.objects.filter(study__in=studies, image_set__isnull=False).values("image_set")
    # The run ids are in JSON, which databases compare differently; there are few rows, so read them.
    planned = AuditEvent.objects.filter(study__in=studies, what__in=("run planned", "run extended"))
    run_ids = {value for value in planned.values_list("details__run", flat=True) if isinstance(value, int)}
    generated = Run.objects.filter(pk__in=run_ids).values("image_set")
    return ImageSet.objects.filter(Q(pk__in=used) | Q(pk__in=generated), Exists(_default_images("pk")))


def embedding_runs(*studies: Study) -> QuerySet[Run]:
    """The finished runs that embedded sets of `studies` for pull, newest first."""
    return finished_runs().filter(image_set__in=pull_sets(*studies).values("pk"))


def finished_runs() -> QuerySet[Run]:
    """The finished runs that embedded any set with images of default prompts, newest first."""
    finished = Run.objects.filter(
        Exists(_default_images("image_set")), kind=RunKind.EMBEDDINGS, state=RunState.DONE
    )
    return finished.select_related("image_set").order_by("-finished_at", "-pk")


def _default_images(image_set: str) -> QuerySet[Provenance]:
    of_set = Provenance.objects.filter(image__image_set=OuterRef(image_set), prompt_set=PromptSet.DEFAULT)
    return of_set.order_by()


def embedding_run(study: Study, run: str = NEWEST) -> Run | None:
    """The embedding run with the id `run`, of any image set, or the study's newest; None if the study has
    none. Raises NothingEmbedded for an unknown `run`; the message lists those of the study.
    """
    if run == NEWEST:
        return embedding_runs(study).first()
    chosen = finished_runs().filter(pk=run).first() if run.isdecimal() and len(run) < 19 else None
    if chosen is None:
        known = ", ".join(str(pk) for pk in embedding_runs(study).values_list("pk", flat=True))
        raise NothingEmbedded(
            f"'{run}' is not a finished run that embedded images of default prompts. The study "
            f"'{study.name}' has {known or 'none'}; all runs are listed by: manage.py runs"
        )
    return chosen


def runs_compared(study: Study, parameters: Mapping[str, str]) -> tuple[Run, Run]:
    """The two embedding runs to compare: the newest of `study` and of another study, or those of two image
    sets, or two given run ids.

    Raises ValueError for an invalid choice (`parse_comparison`), for a side without a run, and for different
    encoders, whose similarities are not on the same scale.
    """
    choice = parse_comparison(parameters, by=SPLITS)
    if choice.other is not None:
        sides = [require_embedding_run(one) for one in (study, choice.other)]
    elif choice.by == "run":
        sides = [require_embedding_run(study, number) for number in (choice.first, choice.second)]
    else:
        sides = [_newest_of_set(name) for name in (choice.first, choice.second)]
    first, second = sides
    if first == second:
        raise ValueError(f"Both sides are run {first.pk}. Name two runs or sets that differ.")
    if encoder_of(first) != encoder_of(second):
        raise ValueError(
            f"Run {first.pk} is by {' '.join(encoder_of(first))} and run {second.pk} by "
            f"{' '.join(encoder_of(second))}: similarities of two encoders cannot be compared. Embed both "
            "sets with the same one."
        )
    return first, second


def encoder_of(run: Run) -> tuple[str, ...]:
    """The encoder of a run: only vectors of the same encoder can be compared."""
    return (run.backend, *(str(run.recipe.get(key) or "") for key in ("model", "pretrained")))


def require_embedding_run(study: Study, run: str = NEWEST) -> Run:
    """As `embedding_run`, but raises NothingEmbedded if the study has none."""
    chosen = embedding_run(study, run)
    if chosen is None:
        raise NothingEmbedded(
            f"There are no embeddings of images for pull of '{study.name}' yet. Generate images: "
            f"manage.py generate {study.name} --prompts pull; then embed that set: manage.py embed SET"
        )
    return chosen


def _newest_of_set(name: str) -> Run:
    run = finished_runs().filter(image_set__name=name).first()
    if run is None:
        raise NothingEmbedded(
            f"There are no embeddings of images for pull of an image set '{name}'. Create them: "
            f"manage.py embed set:{name}"
        )
    return run


def embedded_groups(run: Run) -> QuerySet[IdentityGroup]:
    """The identity groups with images in the run's image set."""
    of_group = Image.objects.filter(image_set=run.image_set_id, group=OuterRef("pk")).order_by()
    return IdentityGroup.objects.filter(Exists(of_group))


def read_embeddings(run: Run) -> Iterator[EmbeddingFrame]:
    """Yield one frame for each identity group with embeddings, by group id.

    Two queries. Rows are streamed in index order (image set, group, index), so that neither the program nor
    the database holds more than one group's vectors in memory.
    """
    known = {group.pk: group for group in embedded_groups(run)}
    embeddings = Embedding.objects.filter(
        run=run, image__image_set=run.image_set_id, image__provenance__prompt_set__in=PROMPT_SETS
    )
    rows = embeddings.order_by("image__group_id", "image__index").values_list(
        "image__group_id",
        "image__provenance__prompt_set",
        "image__provenance__attribute_id",
        "image__prompt",
        "dim",
        "vector",
        "image_id",
    )
    streamed = rows.iterator(chunk_size=_CHUNK_SIZE)
    for group_id, of_group in groupby(streamed, key=lambda row: row[0]):
        group, images = known[group_id], list(of_group)
        default, stereotypical, non_stereotypical = (
            _image_vectors([row for row in images if row[1] == prompt_set]) for prompt_set in PROMPT_SETS
        )
        sets = (default, stereotypical, non_stereotypical)
        yield EmbeddingFrame(group_id, group.name, group.region, sets)


def _image_vectors(rows: list[tuple[Any, ...]]) -> ImageVectors:
    prompts = [f"attribute {attribute}" if attribute else prompt for _, _, attribute, prompt, *_ in rows]
    return ImageVectors(
        vectors.unpack([row[5] for row in rows], dim=rows[0][4] if rows else 0),
        np.array(prompts, dtype=np.str_),
        np.array([row[6] for row in rows], dtype=np.int64),
    )


def describe_embeddings(study: Study, parameters: Mapping[str, str]) -> str:
    """The embeddings that a score of pull is computed from, as shown with the score."""
    if "run" not in parameters:
        return " against ".join(_describe_run(run) for run in runs_compared(study, parameters))
    chosen = embedding_run(study, parameters["run"])
    return "no embeddings of pictures for pull" if chosen is None else _describe_run(chosen)


def _describe_run(chosen: Run) -> str:
    # the fake encoder only reads colours and has no model, whatever its recipe says
    keys = ("model", "pretrained") if chosen.backend != FAKE else ("backend",)
    model = ", ".join(str(chosen.recipe[key]) for key in keys if chosen.recipe.get(key))
    assert chosen.image_set is not None, "a database constraint"
    of = f"of the image set {chosen.image_set.name}"
    drawn = ", DRAWN PICTURES, no model's output" if chosen.image_set.drawn else ""
    return f"embeddings by {model or chosen.backend} (run {chosen.pk}) {of}{drawn}"


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The embeddings of a run, or of the two that are compared, and the groups and regions of their
    images."""
    if "run" not in parameters:
        return [[part for run in runs_compared(study, parameters) for part in _run_fingerprint(run)]]
    chosen = embedding_run(study, parameters["run"])
    return [[] if chosen is None else _run_fingerprint(chosen)]


def _run_fingerprint(run: Run) -> list[object]:
    groups = embedded_groups(run).order_by("pk")
    return [
        run.pk,
        run.recipe_hash,
        fingerprint(Embedding.objects.filter(run=run)),
        [list(row) for row in groups.values_list("pk", "name", "region")],
    ]


def check_inputs(study: Study, parameters: Mapping[str, str]) -> None:
    """Raise NothingEmbedded if the embedding run does not exist. For metrics that compare two runs, computing
    the digest already checks this."""
    if "run" in parameters:
        require_embedding_run(study, parameters["run"])
