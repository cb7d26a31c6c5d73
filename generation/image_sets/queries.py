"""Image sets, their galleries, and an image's history. Nothing here identifies annotators."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Min, Q, QuerySet

from annotation import policies
from annotation.models import (
    IdentityGroup,
    Image,
    ImageSet,
    Judgement,
    OptionRole,
    Purpose,
    Study,
    Task,
    TaskKind,
)
from generation.models import Caption, Embedding, Job, Provenance, Run

IMAGES_PER_PAGE = 60


@dataclass
class SetRow:
    """An image set with its number of images and groups, a sample image, and the user's studies that show
    it."""

    image_set: ImageSet
    images: int = 0
    groups: int = 0
    sample: int | None = None
    studies: list[Study] = field(default_factory=list)


@dataclass(frozen=True)
class Gallery:
    """One page of a set's images. `groups`: (group, number of its images in the set)."""

    page: Page[Image]
    groups: list[tuple[IdentityGroup, int]]
    prompt_sets: list[tuple[str, int]]
    runs: list[Run]


def image_set_rows(sets: Sequence[ImageSet], *, user: User) -> list[SetRow]:
    """Image sets with their images counted, in the same order. Two queries."""
    led = policies.studies_led_by(user)
    rows = {image_set.pk: SetRow(image_set) for image_set in sets}
    images = Image.objects.filter(image_set__in=rows).order_by().values_list("image_set")
    counted = images.annotate(
        number=Count("pk"), of=Count("group", distinct=True), sample=Min("pk", filter=~Q(file=""))
    )
    for pk, number, groups, sample in counted:
        rows[pk].images, rows[pk].groups, rows[pk].sample = number, groups, sample
    shown = Task.objects.filter(image_set__in=rows, study__in=led).select_related("study").order_by("study")
    for task in shown:
        studies = rows[task.image_set_id or 0].studies
        if task.study not in studies:
            studies.append(task.study)
    return list(rows.values())


def gallery(
    image_set: ImageSet, *, group: str = "", prompt_set: str = "", page: str | int | None = None
) -> Gallery:
    """A page of a set's images, by group and number. `group`: a group's id, "" for all."""
    images = image_set.images.select_related("group").order_by("group__name", "group", "index")
    counted = images.order_by().values_list("group").annotate(Count("pk"))
    numbers = dict(counted)
    groups = [(each, numbers[each.pk]) for each in IdentityGroup.objects.filter(pk__in=numbers)]
    selected = {str(each.pk): each for each, _ in groups}.get(group)
    if selected is not None:
        images = images.filter(group=selected)
    prompt_sets = list(
        Provenance.objects.filter(image__image_set=image_set)
        .exclude(prompt_set="")
        .order_by("prompt_set")
        .values_list("prompt_set")
        .annotate(Count("pk"))
    )
    if prompt_set in dict(prompt_sets):
        images = images.filter(provenance__prompt_set=prompt_set)
    return Gallery(
        page=Paginator(images, IMAGES_PER_PAGE).get_page(page),
        groups=groups,
        prompt_sets=prompt_sets,
        runs=list(image_set.runs.order_by("kind", "-pk")),
    )


def initial_images(image_set: ImageSet) -> dict[int, tuple[int, float, int]]:
    """For each image of the set that a model made from another image: the id of that image, the strength of
    the change, and the number of the sample. Empty: no image of the set was made from another."""
    return {}


def studies_showing(image_set: ImageSet, *, user: User) -> QuerySet[Study]:
    """The studies led by `user` in which people judge images of the set."""
    tasks = Task.objects.filter(image_set=image_set, kind=TaskKind.DEPICTION).values("study")
    return policies.studies_led_by(user).filter(pk__in=tasks).order_by("title")


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
