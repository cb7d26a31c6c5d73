"""Read what brightness runs measured, and what images were made from (PROTOCOL §12)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Image, ImageSet
from generation.backends.brightness import PUBLISHED, Crop, parse_crop
from generation.image_sets.queries import initial_images
from generation.models import Answer, Run, RunKind
from metrics.core.group_labels import group_labels
from metrics.core.purposes import BRIGHTNESS

BACKEND = "brightness"
FACE = "face"


class MeasurementsRefused(ValueError):
    """An answer of a run is no measurement. The message names it and the cure."""


@dataclass(frozen=True)
class Measured:
    """What was measured of one image. `group`: its label, of which no two groups have the same. `ita`:
    degrees, None if b* has no angle. `on_face`: L* and ITA are of the skin in a face; else of the crop, and
    `note` says why."""

    image: int
    group_id: int
    group: str
    rgb: float
    lightness: float
    ita: float | None
    on_face: bool
    note: str


@dataclass(frozen=True)
class Origin:
    """What an image was made from. `strength`: 0 to 1, of the change."""

    initial: int
    strength: float


def brightness_runs() -> QuerySet[Run]:
    """The runs that measure brightness, newest first."""
    runs = Run.objects.filter(kind=RunKind.DESCRIPTIONS, backend=BACKEND, recipe__design__purpose=BRIGHTNESS)
    return runs.filter(image_set__isnull=False).select_related("image_set")


def image_set_of(run: Run) -> ImageSet:
    assert run.image_set is not None, "the runs of brightness_runs have one"
    return run.image_set


def crop_of(run: Run) -> Crop:
    """The crop of a run."""
    return parse_crop(run.recipe["options"].get("crop", PUBLISHED))


def looks_for_faces(run: Run) -> bool:
    return bool(run.recipe["options"].get("faces", True))


def read_measurements(run: Run) -> list[Measured]:
    """What is measured so far, by group and image. One query. Raises MeasurementsRefused."""
    answers = Answer.objects.filter(run=run, job__image__isnull=False)
    group = "job__image__group"
    ordered = answers.order_by(f"{group}__name", group, "job__image")
    rows = list(ordered.values_list("job__image", group, f"{group}__name", f"{group}__axis", "text"))
    labels = group_labels(row[1:4] for row in rows)
    return [_measured(image, pk, labels[pk], text) for image, pk, _name, _axis, text in rows]


def origins(image_set: ImageSet) -> dict[int, Origin]:
    """What the set's images were made from, by image; only of those that were made from an image."""
    return {
        image: Origin(initial, strength)
        for image, (initial, strength, _) in initial_images(image_set).items()
    }


def sets_of(images: Sequence[int]) -> list[ImageSet]:
    """The image sets that hold these images."""
    holding = Image.objects.filter(pk__in=images).order_by().values("image_set").distinct()
    return list(ImageSet.objects.filter(pk__in=holding).order_by("name"))


def newest_runs(image_sets: Sequence[ImageSet], crop: Crop) -> dict[int, Run]:
    """The newest run over each of these sets that has measured with this crop, by set. One query."""
    has_answers = Exists(Answer.objects.filter(run=OuterRef("pk")))
    runs = brightness_runs().filter(has_answers, image_set__in=image_sets)
    found: dict[int, Run] = {}
    for run in runs.order_by("-created_at", "-pk"):
        if crop_of(run).name == crop.name:
            found.setdefault(image_set_of(run).pk, run)
    return found


def _measured(image: int, group_id: int, group: str, text: str) -> Measured:
    try:
        found: Mapping[str, Any] = json.loads(text)
        ita = found["ita"]
        return Measured(
            image=image,
            group_id=group_id,
            group=group,
            rgb=float(found["rgb"]),
            lightness=float(found["lightness"]),
            ita=None if ita is None else float(ita),
            on_face=found["region"] == FACE,
            note=str(found["note"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MeasurementsRefused(
            f"The answer about image {image} is no measurement: {text[:80]!r}. Plan a new run: its backend "
            "is 'brightness'."
        ) from error
