"""One image's whole history: how it came to be, what models wrote of it, what people saw in it.

What people saw is summed up by attribute and study, for the studies that the reader leads. Who they are
appears nowhere here.
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

CAPTIONS_OPEN = 5
"""Captions of a run that are shown at once; the others unfold."""


@dataclass
class Captions:
    """What one run's captioner wrote, best first."""

    run: Run
    first: list[Caption] = field(default_factory=list)
    rest: list[Caption] = field(default_factory=list)


@dataclass(frozen=True)
class Seen:
    """An attribute as it was judged in the image: selected `k` of the `n` times it was shown, with `boxes`
    boxes, `whole` times as visible in the image as a whole."""

    text: str
    role: str
    k: int
    n: int
    boxes: int
    whole: int


@dataclass
class Judged:
    """What the people of one study saw: `responses` pages were answered."""

    study: Study
    responses: int = 0
    seen: list[Seen] = field(default_factory=list)
    none_of_above: Seen | None = None


@dataclass(frozen=True)
class History:
    """`origin` is None for an image of which nothing is known; `job` made it, where one did."""

    image: Image
    origin: Provenance | None
    job: Job | None
    captions: list[Captions]
    embeddings: list[Embedding]
    judged: list[Judged]
    before: Image | None
    after: Image | None


def history(image: Image, *, user: User) -> History:
    """Everything known of `image`. Judgements are those of the studies that `user` leads."""
    origin = (
        Provenance.objects.filter(image=image)
        .select_related("run__image_set", "run__created_by", "attribute")
        .first()
    )
    job = None
    if origin is not None and origin.run_id is not None:
        job = Job.objects.filter(run=origin.run_id, image=image).first()
    before, after = neighbours(image)
    return History(
        image=image,
        origin=origin,
        job=job,
        captions=_captions(image),
        embeddings=list(
            Embedding.objects.filter(image=image).defer("vector").select_related("run").order_by("run_id")
        ),
        judged=_judged(image, user),
        before=before,
        after=after,
    )


def _captions(image: Image) -> list[Captions]:
    found: dict[int, Captions] = {}
    for caption in Caption.objects.filter(image=image).select_related("run").order_by("run_id", "rank"):
        of = found.setdefault(caption.run_id, Captions(caption.run))
        (of.first if len(of.first) < CAPTIONS_OPEN else of.rest).append(caption)
    return list(found.values())


def _judged(image: Image, user: User) -> list[Judged]:
    """Counts in the database; no row here stands for a person."""
    found = {study.pk: Judged(study) for study in studies_showing(image.image_set, user=user)}
    # As scores count: current, neither withdrawn nor surplus; training, gold and checks are not data.
    counted = Judgement.objects.filter(
        response__unit__image=image,
        response__unit__purpose=Purpose.DATA,
        response__unit__task__study__in=found,
        response__current=True,
        response__withdrawn_at__isnull=True,
        response__slot__isnull=False,
    ).order_by()
    responses = counted.values_list("response__unit__task__study").annotate(
        number=Count("response", distinct=True)
    )
    for study, number in responses:
        found[study].responses = number
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
        seen = Seen(text or "none of the above", role, k, n, boxes.get((study, attribute, role), 0), whole)
        if role == OptionRole.NONE_OF_ABOVE:
            found[study].none_of_above = seen
        else:
            found[study].seen.append(seen)
    for each in found.values():
        each.seen.sort(key=lambda seen: (-seen.k / seen.n, -seen.n, seen.text))
    return [each for each in found.values() if each.responses]


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


__all__ = ["Captions", "History", "Judged", "Seen", "history"]
