"""An image's history: how it was made, its captions and embeddings, and the judgements of it.

Judgements are counted by attribute and study, for the studies that the user leads. Nothing here identifies
annotators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

from django.contrib.auth.models import User
from django.db.models import Count, F, Q

from annotation.models import Image, Judgement, OptionRole, Purpose, Study
from generation.image_sets.queries.sets import studies_showing
from generation.models import Caption, Embedding, Job, Provenance, Run


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
    """`provenance` is None if nothing is known; `job` is the job that made the image, if any. `captions`: by
    run, best first."""

    provenance: Provenance | None
    job: Job | None
    captions: list[tuple[Run, list[Caption]]]
    embeddings: list[Embedding]
    judgements: list[StudyJudgements]
    previous: Image | None
    next: Image | None


def image_history(image: Image, *, user: User) -> ImageHistory:
    """The history of `image`, with the judgements of the studies that `user` leads."""
    made_with = Provenance.objects.select_related("run__image_set", "run__created_by", "attribute")
    provenance = made_with.filter(image=image).first()
    job = None
    if provenance is not None and provenance.run_id is not None:
        job = Job.objects.filter(run=provenance.run_id, image=image).first()
    captions = Caption.objects.filter(image=image).select_related("run").order_by("run_id", "rank")
    embeddings = Embedding.objects.filter(image=image).defer("vector").select_related("run")
    beside = Image.objects.filter(image_set=image.image_set_id, group=image.group_id)
    return ImageHistory(
        provenance=provenance,
        job=job,
        captions=[(run, list(of_run)) for run, of_run in groupby(captions, key=lambda each: each.run)],
        embeddings=list(embeddings.order_by("run_id")),
        judgements=_judgements(image, user),
        previous=beside.filter(index__lt=image.index).order_by("-index").first(),
        next=beside.filter(index__gt=image.index).order_by("index").first(),
    )


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
            n=Count("pk", distinct=True),
            k=Count("pk", filter=Q(value=1), distinct=True),
            whole=Count("pk", filter=Q(whole_image=True), distinct=True),
            # The boxes are joined, so a judgement is there once for each of its boxes.
            drawn=Count("boxes"),
        )
    )
    for study, _, text, role, n, k, whole, boxes in rows:
        counts = AttributeCounts(text or "none of the above", role, k, n, boxes, whole)
        if role == OptionRole.NONE_OF_ABOVE:
            by_study[study].none_of_above = counts
        else:
            by_study[study].attributes.append(counts)
    for each in by_study.values():
        each.attributes.sort(key=lambda counts: (-counts.k / counts.n, -counts.n, counts.text))
    return [each for each in by_study.values() if each.responses]
