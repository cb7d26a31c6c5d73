"""Import ViSAGe's released annotations as a closed study (PROTOCOL §2, §5, §13)."""

import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from django.db import transaction
from django.utils import timezone

from annotation.core.table_statistics import analyze_tables
from annotation.imports.readers.visage_annotations import IMAGE_SIZE, PAGE_ROWS, RESPONSES, AnnotationFile
from annotation.imports.readers.visage_annotations import Box as Corners
from annotation.imports.readers.visage_attributes import ORIGINS, AttributeFile
from annotation.imports.services.catalogue import (
    SEEGULL,
    Imported,
    Progress,
    ensure_attributes,
    ensure_groups,
    lock_source,
)
from annotation.imports.services.visage_check import check_same
from annotation.models import (
    Attribute,
    Axis,
    Box,
    IdentityGroup,
    Image,
    ImageSet,
    Judgement,
    Option,
    OptionRole,
    Pool,
    Response,
    Slot,
    SlotState,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
)

CHUNK = 500
"""Units per batch."""

STUDY_NAME = "visage"
IMAGE_SET = "visage-release"
# Namespace for repeatable keys of imported responses; the value has no meaning.
_KEYS = uuid.UUID("7b1c1f56-5f0e-5f0a-9d43-2f6a1d1f7c10")


@transaction.atomic
def import_visage(
    *, attributes: AttributeFile, annotations: AnnotationFile, study_name: str, progress: Progress
) -> Imported:
    """Write both files as the closed study `study_name`, with its images in the set 'visage-release'.

    The release does not say who answered, so responses have no annotator and no times. Which attributes are
    stereotypical is not stored, because scoring applies the study's rule. Importing the same files again
    changes nothing. Raises ImportRefused if a study of that name has other content.
    """
    source = lock_source(SEEGULL)
    study = Study.objects.filter(name=study_name).first()
    if study is not None:
        check_same(study=study, attributes=attributes, annotations=annotations)
        return Imported()
    summary = annotations.summary
    first_rows: dict[str, int] = {}
    for page in annotations.rows:
        first_rows.setdefault(page.identity, page.row)
    groups = ensure_groups(
        first_rows=first_rows, axis=Axis.NATIONALITY, file=summary.name, sheet=summary.sheet
    )
    texts = [row.attribute for row in attributes.rows]
    for page in annotations.rows:
        texts.extend(text for text in page.attributes if text is not None)
    attribute_keys, attributes_created = ensure_attributes(texts=texts)
    images, images_created = _images(annotations, groups.keys)

    now = timezone.now()
    study = Study.objects.create(
        name=study_name,
        title="ViSAGe (released annotations)" if study_name == STUDY_NAME else f"ViSAGe ({study_name})",
        description=(
            "Jha et al. (2024): ViSAGe: A Global-Scale Analysis of Visual Stereotypes in Text-to-Image "
            "Generation. ACL. Apache 2.0. Imported from the files "
            f"'{attributes.summary.name}' (SHA-256 {attributes.summary.sha256}) and "
            f"'{summary.name}' (SHA-256 {summary.sha256}). The dates are those of the import."
        ),
        status=StudyStatus.CLOSED,
        stereotype_source=source,
        stereotype_pool=Pool.OUT_REGION,
        stereotype_threshold=2,
        visual_rule=None,
        opened_at=now,
        closed_at=now,
    )
    strata = [f"origin: {origin}" for origin in ORIGINS.values()]
    visual = Task.objects.create(
        study=study,
        kind=TaskKind.VISUAL_NATURE,
        wording="The attribute '[attr]' can be visually depicted in an image.",
        overlap=len(strata),
        strata=strata,
        frozen_at=now,
    )
    depiction = Task.objects.create(
        study=study,
        kind=TaskKind.DEPICTION,
        wording="Select all attributes that the image depicts, and draw a box around what shows each.",
        overlap=RESPONSES,
        strata=["any"] * RESPONSES,
        page_size=PAGE_ROWS,
        image_set=ImageSet.objects.get(name=IMAGE_SET),
        frozen_at=now,
    )
    writer = _Writer(study, progress, total=len(attributes.rows) + len(annotations.rows))
    writer.write(visual, _planned_attributes(visual, attributes, attribute_keys))
    writer.write(depiction, _planned_pages(depiction, annotations, attribute_keys, images))
    analyze_tables(
        *(IdentityGroup, Attribute, Image, Unit, Option, Slot, Response, Judgement, Box),
        rows=sum(writer.created.values()),
    )
    return Imported(
        created={
            "studies": 1,
            "groups": groups.created,
            "attributes": attributes_created,
            "images": images_created,
            **writer.created,
        },
        filled=groups.filled,
        oddities=groups.oddities,
    )


def _images(annotations: AnnotationFile, group_keys: dict[str, int]) -> tuple[dict[str, int], int]:
    """Primary keys of the images by file name, and the number created."""
    image_set, _ = ImageSet.objects.get_or_create(
        name=IMAGE_SET,
        defaults={
            "title": "ViSAGe release",
            "model_name": "Stable Diffusion 1.4",
            "licence": "Apache 2.0",
        },
    )
    keys = dict(Image.objects.filter(image_set=image_set).values_list("reference", "pk"))
    missing = [
        Image(
            image_set=image_set,
            group_id=group_keys[identity],
            index=index,
            width=IMAGE_SIZE,
            height=IMAGE_SIZE,
            reference=name,
        )
        for name, (identity, index) in {
            page.image: (page.identity, page.index) for page in annotations.rows
        }.items()
        if name not in keys
    ]
    Image.objects.bulk_create(missing)
    keys.update((image.reference, image.pk) for image in missing)
    return keys, len(missing)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A unit with its options, (attribute or None, role) in order, and the values and boxes of each answer in
    that order."""

    unit: Unit
    shown: tuple[tuple[int | None, OptionRole], ...]
    answers: tuple[tuple[tuple[int, ...], tuple[Corners | None, ...]], ...]


def _planned_attributes(
    task: Task, file: AttributeFile, attribute_keys: dict[str, int]
) -> Iterator[_Planned]:
    for position, row in enumerate(file.rows, start=1):
        key = attribute_keys[row.attribute]
        yield _Planned(
            unit=Unit(task_id=task.pk, position=position, attribute_id=key, repeat=row.repeat),
            shown=((key, OptionRole.STIMULUS),),
            answers=tuple(((score,), (None,)) for score in row.scores),
        )


def _planned_pages(
    task: Task, file: AnnotationFile, attribute_keys: dict[str, int], images: dict[str, int]
) -> Iterator[_Planned]:
    for position, page in enumerate(file.rows, start=1):
        yield _Planned(
            unit=Unit(
                task_id=task.pk,
                position=position,
                image_id=images[page.image],
                page=page.number,
                source_name=page.worker,
            ),
            shown=tuple(
                (None, OptionRole.NONE_OF_ABOVE)
                if text is None
                else (attribute_keys[text], OptionRole.UNASSIGNED)
                for text in page.attributes
            ),
            answers=tuple((answer.values, answer.boxes) for answer in page.answers),
        )


@dataclass(slots=True)
class _Writer:
    """Writes planned units and their dependent rows, `CHUNK` units at a time, table by table.

    Rows refer to each other by primary key, not by object, which makes an import a third faster.
    """

    study: Study
    progress: Progress
    total: int
    units: int = 0
    queue: int = 0
    created: Counter[str] = field(default_factory=Counter)

    def write(self, task: Task, planned: Iterator[_Planned]) -> None:
        while chunk := list(islice(planned, CHUNK)):
            self._write_chunk(task, chunk)
            self.units += len(chunk)
            self.progress("units", self.units, self.total)

    def _write_chunk(self, task: Task, chunk: list[_Planned]) -> None:
        units = Unit.objects.bulk_create([item.unit for item in chunk])
        options = Option.objects.bulk_create(
            Option(unit_id=unit.pk, attribute_id=key, role=role, position=position)
            for unit, item in zip(units, chunk, strict=True)
            for position, (key, role) in enumerate(item.shown, start=1)
        )
        slots = Slot.objects.bulk_create(
            self._slot(unit.pk, index, task.strata[index])
            for unit, item in zip(units, chunk, strict=True)
            for index in range(len(item.answers))
        )
        responses = Response.objects.bulk_create(
            Response(
                unit_id=slot.unit_id,
                slot_id=slot.pk,
                client_key=uuid.uuid5(_KEYS, f"{self.study.name}/{slot.queue}"),
                task_version=task.version,
            )
            for slot in slots
        )
        judgements: list[Judgement] = []
        drawn: list[tuple[int, Corners]] = []
        option_rows, response_rows = iter(options), iter(responses)
        for item in chunk:
            shown = list(islice(option_rows, len(item.shown)))
            for values, boxes in item.answers:
                response_id = next(response_rows).pk
                for option, value, corners in zip(shown, values, boxes, strict=True):
                    if corners is not None:
                        drawn.append((len(judgements), corners))
                    judgements.append(
                        Judgement(
                            response_id=response_id,
                            option_id=option.pk,
                            value=value,
                            position=option.position,
                        )
                    )
        Judgement.objects.bulk_create(judgements)
        boxes_made = Box.objects.bulk_create(_box(judgements[place].pk, corners) for place, corners in drawn)
        for model, rows in (
            ("units", units),
            ("options", options),
            ("slots", slots),
            ("responses", responses),
            ("judgements", judgements),
            ("boxes", boxes_made),
        ):
            self.created[model] += len(rows)

    def _slot(self, unit_id: int, index: int, stratum: str) -> Slot:
        """A filled slot without an annotator."""
        self.queue += 1
        return Slot(
            study_id=self.study.pk,
            unit_id=unit_id,
            index=index,
            stratum=stratum,
            queue=self.queue,
            state=SlotState.FILLED,
        )


def _box(judgement_id: int, corners: Corners) -> Box:
    size = {"image_width": IMAGE_SIZE, "image_height": IMAGE_SIZE}
    return Box(judgement_id=judgement_id, **dict(zip(("x0", "y0", "x1", "y1"), corners, strict=True)), **size)
