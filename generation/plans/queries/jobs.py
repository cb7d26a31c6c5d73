"""The jobs of a plan that no run has yet."""

from collections.abc import Collection, Iterator

from django.db.models import Max

from annotation.core.leases import JobState
from annotation.models import Attribute, Image
from generation.models import Job, Run, RunState
from generation.plans.askings import Asking
from generation.plans.plan import MissingJobs, Plan
from generation.recipes.recipes import ImageRecipe, sample_seed
from generation.recipes.series import seed_number


def missing_jobs(plan: Plan) -> MissingJobs:
    """The part of a plan without jobs. Jobs of other runs with the same set and generator count: planning ten
    images per prompt when there are five adds five."""
    if not isinstance(plan.recipe, ImageRecipe):
        return MissingJobs(images=_missing_images(plan), askings=tuple(_missing_askings(plan)))
    groups = {each.group_id for each in plan.prompts}
    jobs = Job.objects.filter(run__image_set__name=plan.image_set, group__in=groups).exclude(
        # left over by a worker that was busy when the run was cancelled
        run__state=RunState.CANCELLED,
        state__in=(JobState.PENDING, JobState.FAILED),
        image=None,
    )
    planned = set(jobs.order_by().values_list("group", "prompt_set", "prompt", "number").iterator())
    return MissingJobs(
        prompts=tuple(
            (each, number)
            for each in plan.prompts
            for number in plan.numbers(each)
            if (each.group_id, each.prompt.prompt_set.value, each.prompt.text, number) not in planned
        )
    )


def _missing_images(plan: Plan) -> tuple[int, ...]:
    if not plan.images:
        return ()
    jobs = Job.objects.filter(run__recipe_hash=plan.recipe_hash, key="")
    jobs = jobs.filter(image__gte=min(plan.images), image__lte=max(plan.images))
    existing = set(jobs.order_by().values_list("image", flat=True))
    return tuple(pk for pk in plan.images if pk not in existing)


def _missing_askings(plan: Plan) -> Iterator[tuple[Asking, int]]:
    """Of a part of a plan: its keys are in one query."""
    askings = list(plan.askings)
    if not askings:
        return
    jobs = Job.objects.filter(run__recipe_hash=plan.recipe_hash, key__in=[each.key for each in askings])
    existing = set(jobs.order_by().values_list("key", "number"))
    for asking in askings:
        for number in range(1, plan.times + 1):
            if (asking.key, number) not in existing:
                yield asking, number


def new_jobs(run: Run, plan: Plan, missing: MissingJobs) -> Iterator[Job]:
    """The missing jobs, not saved."""
    for image in missing.images:
        yield Job(run=run, image_id=image)
    seed = getattr(plan.recipe, "seed", 0)
    for asking, number in missing.askings:
        yield Job(
            run=run,
            key=asking.key,
            prompt=asking.prompt,
            text_pair=asking.text_pair,
            group_id=asking.group_id,
            attribute_id=asking.attribute_id,
            image_id=asking.image_id,
            number=number,
            seed=sample_seed(seed=seed, prompt=asking.key, number=number),
        )
    if not missing.prompts or not isinstance(plan.recipe, ImageRecipe):
        return
    texts = {each.prompt.attribute for each, _ in missing.prompts if each.prompt.attribute}
    attributes = dict(Attribute.objects.filter(text__in=texts).values_list("text", "pk"))
    last = _last_indexes(plan.image_set, groups={each.group_id for each, _ in missing.prompts})
    jobs = []
    for each, number in missing.prompts:
        prompt = each.prompt
        last[each.group_id] = last.get(each.group_id, 0) + 1
        job = Job(
            run=run,
            group_id=each.group_id,
            attribute_id=attributes[prompt.attribute] if prompt.attribute else None,
            prompt_set=prompt.prompt_set.value,
            prompt=prompt.text,
            number=number,
            index=last[each.group_id],
            seed=sample_seed(
                seed=plan.recipe.seed, prompt=prompt.text, number=seed_number(plan.recipe, number)
            ),
        )
        jobs.append(job)
    # A series stands together in its set, but a batch on the device has one strength.
    places = len(plan.recipe.strengths) or 1
    yield from sorted(jobs, key=lambda job: (job.number - 1) % places)


def _last_indexes(image_set: str, *, groups: Collection[int]) -> dict[int, int]:
    """Group id -> the highest number of its existing and planned images in the set."""
    images = Image.objects.filter(image_set__name=image_set, group__in=groups).order_by().values_list("group")
    jobs = Job.objects.filter(run__image_set__name=image_set, key="", group__in=groups)
    planned = jobs.order_by().values_list("group")
    last: dict[int, int] = {}
    for group, index in [*images.annotate(Max("index")), *planned.annotate(Max("index"))]:
        last[group] = max(last.get(group, 0), index)
    return last
