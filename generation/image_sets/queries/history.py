"""An image's history: how it was made, its captions and embeddings, and the judgements of it.

Judgements are counted by attribute and study, for the studies that the user leads. Nothing here identifies
annotators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db.models import Count, F, Q, QuerySet

from annotation.models import Box, Image, Judgement, OptionRole, Purpose, Study
from generation.image_sets.queries.sets import neighbours, studies_showing
from generation.models import Caption, Embedding, Job, Provenance, Run

if TYPE_CHECKING:
    from django.contrib.auth.models import User

CAPTIONS_SHOWN = 5
"""Captions per run that are shown at once; the others are collapsed."""


@dataclass
class RunCaptions:
    """The captions from one run, best first."""

    run: Run
    first: list[Caption] = field(default_factory=list)
    rest: list[Caption] = field(default_factory=list)


@dataclass(frozen=True)
class AttributeCounts:
    """Judgements of an attribute in the image: shown `n` times, selected `k` times, with `boxes` boxes and
    `whole` times as visible in the image as a whole."""

    text: str
    role: str
    k: int
    n: int
    boxes: int
    whole: int


@dataclass
class StudyJudgements:
    """The judgements from one study; `responses` counts answered pages."""

    study: Study
    responses: int = 0
    attributes: list[AttributeCounts] = field(default_factory=list)
    none_of_above: AttributeCounts | None = None


@dataclass(frozen=True)
class ImageHistory:
    """`provenance` is None if nothing is known; `job` is the job that made the image, if any."""

    image: Image
    provenance: Provenance | None
    job: Job | None
    captions: list[RunCaptions]
    embeddings: list[Embedding]
    judgements: list[StudyJudgements]
    previous: Image | None
    next: Image | None


def image_history(image: Image, *, user: User) -> ImageHistory:
    """The history of `image`, with the judgements of the studies that `user` leads."""
    provenance = (
        Provenance.objects.filter(image=image)
        .select_related("run__image_set", "run__created_by", "attribute")
        .first()
    )
    job = None
    if provenance is not None and provenance.run_id is not None:
        job = Job.objects.filter(run=provenance.run_id, image=image).first()
    previous_image, next_image = neighbours(image)
    return ImageHistory(
        image=image,
        provenance=provenance,
        job=job,
        captions=_captions(image),
        embeddings=list(
            Embedding.objects.filter(image=image).defer("vector").select_related("run").order_by("run_id")
        ),
        judgements=_judgements(image, user),
        previous=previous_image,
        next=next_image,
    )


def _captions(image: Image) -> list[RunCaptions]:
    by_run: dict[int, RunCaptions] = {}
    for caption in Caption.objects.filter(image=image).select_related("run").order_by("run_id", "rank"):
        captions = by_run.setdefault(caption.run_id, RunCaptions(caption.run))
        (captions.first if len(captions.first) < CAPTIONS_SHOWN else captions.rest).append(caption)
    return list(by_run.values())


def _judgements(image: Image, user: User) -> list[StudyJudgements]:
    """Counted in the database, without rows of individual people."""
    by_study = {study.pk: StudyJudgements(study) for study in studies_showing(image.image_set, user=user)}
    # The same judgements as in scores: current, not withdrawn, not surplus, and only data units.
    counted = Judgement.objects.filter(
        response__unit__image=image,
        response__unit__purpose=Purpose.DATA,
        response__unit__task__study__in=by_study,
        response__current=True,
        response__withdrawn_at__isnull=True,
        response__slot__isnull=False,
    ).order_by()
    responses = counted.values_list("response__unit__task__study").annotate(
        number=Count("response", distinct=True)
    )
    for study, number in responses:
        by_study[study].responses = number
    of_option = ("study", "attribute", "option__attribute__text", "option__role")
    rows = (
        counted.annotate(study=F("response__unit__task__study"), attribute=F("option__attribute"))
        .values_list(*of_option)
        .annotate(
            n=Count("pk"), k=Count("pk", filter=Q(value=1)), whole=Count("pk", filter=Q(whole_image=True))
        )
    )
    boxes = _boxes(counted)
    for study, attribute, text, role, n, k, whole in rows:
        number_of_boxes = boxes.get((study, attribute, role), 0)
        counts = AttributeCounts(text or "none of the above", role, k, n, number_of_boxes, whole)
        if role == OptionRole.NONE_OF_ABOVE:
            by_study[study].none_of_above = counts
        else:
            by_study[study].attributes.append(counts)
    for each in by_study.values():
        each.attributes.sort(key=lambda counts: (-counts.k / counts.n, -counts.n, counts.text))
    return [each for each in by_study.values() if each.responses]


def _boxes(counted: QuerySet[Judgement]) -> dict[tuple[int, int | None, str], int]:
    """(study, attribute, role) -> number of boxes of the counted judgements."""
    rows = (
        Box.objects.filter(judgement__in=counted)
        .order_by()
        .values_list(
            "judgement__response__unit__task__study",
            "judgement__option__attribute",
            "judgement__option__role",
        )
        .annotate(number=Count("pk"))
    )
    return {(study, attribute, role): number for study, attribute, role, number in rows}
