"""Image sets, their galleries, and an image's history. Nothing here identifies annotators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

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
from generation.models import Caption, Embedding, Job, Provenance, Run, RunKind
from generation.plans.queries.runs import visible_runs
from generation.recipes.prompts import PromptSet
from generation.recipes.series import series_number, series_place

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
    image_set: ImageSet, *, user: User, group: str = "", prompt_set: str = "", page: str | int | None = None
) -> Gallery:
    """A page of a set's images, by group and number, and the runs that `user` may see. `group`: an id."""
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
        runs=list(visible_runs(user).filter(image_set=image_set).order_by("kind", "-pk")),
    )


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
class MadeFrom:
    """`initial`: the image that another was made from; None if it is no longer there. `initial_set`: the name
    of its set; `initial_index`: its number in that set and its group."""

    initial_set: str
    initial_index: int
    initial: Image | None
    strength: float
    sample: int


@dataclass(frozen=True)
class ImageHistory:
    """`provenance` is None if nothing is known; `job` is the job that made the image, if any. `made_from`:
    its initial image, if it has one; `series`: (strength, image id) of what else was made from that.
    `captions`: by run, best first."""

    provenance: Provenance | None
    job: Job | None
    made_from: MadeFrom | None
    series: list[tuple[float, int]]
    captions: list[tuple[Run, list[Caption]]]
    embeddings: list[Embedding]
    judgements: list[StudyJudgements]
    previous: Image | None
    next: Image | None


def image_history(image: Image, *, user: User) -> ImageHistory:
    """The history of `image`, with the judgements of the studies that `user` leads."""
    made_with = Provenance.objects.select_related("run__image_set", "run__created_by", "attribute")
    provenance = made_with.filter(image=image).first()
    job, origin, series = None, None, []
    if provenance is not None and provenance.run is not None:
        job = Job.objects.filter(run=provenance.run_id, image=image).first()
        if job is not None and job.prompt_set == PromptSet.FROM_IMAGES:
            origin = made_from([image]).get(image.pk)
            series = series_of(job, provenance.run.recipe)
    captions = Caption.objects.filter(image=image).select_related("run").order_by("run_id", "rank")
    embeddings = Embedding.objects.filter(image=image).defer("vector").select_related("run")
    beside = Image.objects.filter(image_set=image.image_set_id, group=image.group_id)
    return ImageHistory(
        provenance=provenance,
        job=job,
        made_from=origin,
        series=series,
        captions=[(run, list(of_run)) for run, of_run in groupby(captions, key=lambda each: each.run)],
        embeddings=list(embeddings.order_by("run_id")),
        judgements=_judgements(image, user),
        previous=beside.filter(index__lt=image.index).order_by("-index").first(),
        next=beside.filter(index__gt=image.index).order_by("index").first(),
    )


def initial_images(image_set: ImageSet) -> dict[int, tuple[int, float, int]]:
    """Image id -> (id of its initial image, strength, sample from 1), for the images of a set that were made
    from others. Those whose initial image is no longer there are left out. One query for a set without such
    images, else three."""
    recipe = _recipe(image_set)
    if recipe is None:
        return {}
    jobs = Job.objects.filter(
        run__image_set=image_set, prompt_set=PromptSet.FROM_IMAGES, image__isnull=False
    ).order_by("image")
    initials = Image.objects.filter(image_set__name=recipe["initial"]).order_by()
    ids = {(group, index): pk for group, index, pk in initials.values_list("group", "index", "pk")}
    found = {}
    for image, group, number in jobs.values_list("image", "group", "number"):
        place = series_place(recipe, number)
        if (initial := ids.get((group, place.initial_index))) is not None:
            found[image] = (initial, place.strength, place.sample)
    return found


def made_from(images: Sequence[Image]) -> dict[int, MadeFrom]:
    """Image id -> what it was made from, for those of `images` that were made from others. One query if there
    are none, else two."""
    jobs = list(
        Job.objects.filter(image__in=images, prompt_set=PromptSet.FROM_IMAGES, group__isnull=False)
        .select_related("run")
        .order_by("pk")
    )
    if not jobs:
        return {}
    places = {job.pk: series_place(job.run.recipe, job.number) for job in jobs}
    candidates = Image.objects.filter(
        image_set__name__in={job.run.recipe["initial"] for job in jobs},
        group__in={job.group_id for job in jobs},
        index__in={place.initial_index for place in places.values()},
    ).select_related("image_set", "group")
    initials = {(each.image_set.name, each.group_id, each.index): each for each in candidates}
    found = {}
    for job in jobs:
        initial_set, place = job.run.recipe["initial"], places[job.pk]
        found[job.image_id or 0] = MadeFrom(
            initial_set=initial_set,
            initial_index=place.initial_index,
            initial=initials.get((initial_set, job.group_id or 0, place.initial_index)),
            strength=place.strength,
            sample=place.sample,
        )
    return found


def with_made_from(images: Sequence[Image]) -> Sequence[Image]:
    """The same images, each with the attribute `made_from`. Queries: as `made_from`."""
    found = made_from(images)
    for image in images:
        vars(image)["made_from"] = found.get(image.pk)
    return images


def series_of(job: Job, recipe: Mapping[str, Any]) -> list[tuple[float, int]]:
    """(strength, image id) of the images that were made from the same initial image as that of `job`, with
    the same prompt and sample, by strength. One query."""
    place = series_place(recipe, job.number)
    numbers = [series_number(recipe, replace(place, strength=each)) for each in recipe["strengths"]]
    beside = Job.objects.filter(
        run=job.run_id, group=job.group_id, prompt=job.prompt, number__in=numbers, image__isnull=False
    ).order_by("number")
    return [
        (series_place(recipe, number).strength, image or 0)
        for number, image in beside.values_list("number", "image")
    ]


def _recipe(image_set: ImageSet) -> dict[str, Any] | None:
    """The stored recipe of the set's images from images: a set has one such recipe (plans/queries)."""
    runs = Run.objects.filter(image_set=image_set, kind=RunKind.IMAGES).order_by("pk")
    recipes: list[dict[str, Any]] = list(runs.values_list("recipe", flat=True))
    return next((each for each in recipes if each.get("initial")), None)


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
