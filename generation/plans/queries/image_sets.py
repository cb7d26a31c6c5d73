"""Choose and check the image set of a plan: one set has one generator (the recipe without prompt sets and
images per prompt) and one purpose (detection, shown to people; pull, descriptors or what becomes of initial
images, not shown; PROTOCOL §5, §9, §11, §12)."""

from collections.abc import Mapping
from pathlib import Path

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.text import slugify

from annotation.core.leases import JobState
from annotation.models import Image, ImageSet, Study, StudyStatus, TaskKind
from generation.models import Job, Run, RunKind, RunState
from generation.plans.errors import PlanRefused
from generation.recipes.prompts import PULL, PromptSet
from generation.recipes.recipes import FAKE, ImageRecipe, as_json, from_json, with_absent

_NOT_GENERATOR_FIELDS = ("prompt_sets", "images_per_prompt")
_SETS_OF_THEIR_OWN = (PromptSet.DETECTION, PromptSet.DESCRIPTORS, PromptSet.FROM_IMAGES)
_LONGEST_NAME = 80
_LONGEST_PURPOSE = 40


def default_name(recipe: ImageRecipe) -> str:
    """Model and purpose, e.g. 'stable-diffusion-v1-4-detection'."""
    model = FAKE if recipe.backend == FAKE else recipe.model.rstrip("/\\").replace("\\", "/").split("/")[-1]
    if recipe.initial:
        purpose = f"from-{recipe.initial}"[:_LONGEST_PURPOSE].rstrip("-_")
    elif set(recipe.prompt_sets) == set(PULL):
        purpose = "pull"
    else:
        purpose = "-".join(one.value for one in PromptSet if one in recipe.prompt_sets).replace("_", "-")
    length = _LONGEST_NAME - len(purpose) - 1
    return f"{(slugify(model) or 'model')[:length]}-{purpose}"


def image_set_shown_by(study: Study) -> str:
    """The name of the study's image set, if its images were generated here or it is empty; "" otherwise."""
    fillable = Q(image_set__runs__kind=RunKind.IMAGES) | Q(image_set__images=None)
    shown = study.tasks.filter(fillable, kind=TaskKind.DEPICTION, image_set__isnull=False)
    return shown.values_list("image_set__name", flat=True).first() or ""


def image_set_of(study: Study) -> ImageSet:
    """The study's image set. Raises PlanRefused if it has none."""
    image_set = ImageSet.objects.filter(task__study=study).order_by("task__kind", "-task__version").first()
    if image_set is None:
        raise PlanRefused(
            f"The study '{study.name}' shows no images. Name an image set instead, or generate images: "
            f"manage.py generate {study.name}"
        )
    return image_set


def images_with_files(image_set: ImageSet) -> tuple[int, ...]:
    """The ids of the set's images that have a file here, in order. Raises PlanRefused if there is none."""
    images = Image.objects.filter(image_set=image_set).order_by("pk")
    found = tuple(images.exclude(file="").values_list("pk", flat=True))
    if not found:
        absent = images.count()
        raise PlanRefused(
            f"The image set '{image_set.name}' "
            + (
                f"has no file here, only {absent} references to images stored elsewhere. Import the files "
                "first."
                if absent
                else "holds no image yet. Generate or import images first."
            )
        )
    return found


def image_names(reference: str, file: str, sha256: str, group: str, index: int) -> set[str]:
    """What a file may call an image with these columns."""
    called = {reference, Path(reference).name, file, Path(file).name, sha256, f"{group} {index}"}
    return called - {""}


def names_of_images(image_set: ImageSet) -> dict[str, int]:
    """What a file may call an image -> its id; names of two images are left out."""
    found: dict[str, int] = {}
    twice: set[str] = set()
    columns = ("pk", "reference", "file", "sha256", "group__name", "index")
    rows = Image.objects.filter(image_set=image_set).values_list(*columns)
    for pk, *columns_of_image in rows.iterator():
        for name in image_names(*columns_of_image):
            if found.setdefault(name, pk) != pk:
                twice.add(name)
    return {name: pk for name, pk in found.items() if name not in twice}


def recipe_of_image_set(image_set: str) -> ImageRecipe | None:
    """The recipe of the set's latest images; None if none were generated here."""
    run = _generating_runs(image_set).order_by("-pk").first()
    recipe = from_json(run.recipe) if run is not None else None
    return recipe if isinstance(recipe, ImageRecipe) else None


def purpose_of(recipe: ImageRecipe) -> str:
    """'detection', 'descriptors', 'from_images' or 'pull'. One run and one set cannot have two of them."""
    prompt_sets = set(recipe.prompt_sets)
    if prompt_sets == {PromptSet.DESCRIPTORS.value}:
        return PromptSet.DESCRIPTORS
    if recipe.initial:
        return PromptSet.FROM_IMAGES
    if PromptSet.DESCRIPTORS in prompt_sets:
        raise PlanRefused("Images of descriptors go into an image set of their own: plan them separately.")
    if PromptSet.DETECTION not in prompt_sets:
        return "pull"
    if prompt_sets != {PromptSet.DETECTION.value}:
        raise PlanRefused(
            "Images for detection are shown to people, and those for pull are not: plan them separately, "
            "each into its own image set."
        )
    return PromptSet.DETECTION


def check_name(name: str) -> None:
    try:
        validate_slug(name)
    except ValidationError as error:
        raise PlanRefused(f"The image set '{name}': use letters, digits, - and _ only.") from error
    if len(name) > _LONGEST_NAME:
        raise PlanRefused(f"The image set '{name[:40]}...': use at most {_LONGEST_NAME} characters.")


def check_set(name: str, recipe: ImageRecipe) -> None:
    """Raise PlanRefused if the set has images of another generator or purpose."""
    runs = _generating_runs(name)
    new = _generator(as_json(recipe))
    for run in runs:
        old = _generator(run.recipe)
        if differing := sorted(key for key in {*new, *old} if new.get(key) != old.get(key)):
            differences = ", ".join(f"{key} {old.get(key)!r}, not {new.get(key)!r}" for key in differing)
            raise PlanRefused(
                f"The image set '{name}' is made by another recipe ({differences}). "
                f"Use the same, or choose another name with --set.{_discard_hint(run)}"
            )
        held = run.recipe["prompt_sets"]
        if any((one in held) != (one in recipe.prompt_sets) for one in _SETS_OF_THEIR_OWN):
            raise PlanRefused(
                f"The image set '{name}' holds images for {', '.join(held)}. Choose another name with --set: "
                "images for detection are shown to people, those for pull, of descriptors and from images "
                "are not."
            )
    if not runs.exists() and Image.objects.filter(image_set__name=name).exists():
        raise PlanRefused(
            f"The image set '{name}' holds uploaded images, not generated ones. Choose another name with "
            "--set."
        )


def _discard_hint(run: Run) -> str:
    if run.state == RunState.RUNNING or run.jobs.filter(state=JobState.DONE).exists():
        return ""
    return f" Or discard run {run.pk}, which has made nothing (manage.py runs discard {run.pk}, or its page)."


def _generating_runs(image_set: str) -> QuerySet[Run]:
    """The runs that fill a set, except those cancelled before they made anything."""
    runs = Run.objects.filter(image_set__name=image_set, kind=RunKind.IMAGES)
    return runs.filter(~Q(state=RunState.CANCELLED) | Exists(Job.objects.filter(run=OuterRef("pk"))))


def _generator(recipe: Mapping[str, object]) -> dict[str, object]:
    fields = with_absent(recipe)
    # The numbers of images from images count the images of each initial image.
    left_out = _NOT_GENERATOR_FIELDS[:1] if fields.get("initial") else _NOT_GENERATOR_FIELDS
    return {key: value for key, value in fields.items() if key not in left_out}


def study_without_images(study: Study) -> Study | None:
    """The study, if its depiction task has no image set yet. Raises PlanRefused if it is no longer a
    draft."""
    if not study.tasks.filter(kind=TaskKind.DEPICTION, image_set=None).exists():
        return None
    if study.status != StudyStatus.DRAFT:
        raise PlanRefused(
            f"The study '{study.name}' has a depiction task without an image set and is {study.status}, so "
            "its questions cannot change. Plan the images for a draft study, or name groups and a set: "
            "manage.py generate SET --groups ..."
        )
    return study
