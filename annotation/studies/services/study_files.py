"""Exporting a study as a study file (docs/studies.md).

The file lists what was drawn instead of the recipe of the draw, because a source may have changed since. A
study created from the file shows the same, in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.db.models import QuerySet

from annotation.core import scales
from annotation.core.translation import LANGUAGE
from annotation.models import (
    Association,
    Image,
    Option,
    OptionRole,
    Purpose,
    Study,
    Task,
    TaskKind,
    Unit,
)
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.services.study_plan import MADE_FROM_FILE, current_consent, differences, plan_task
from annotation.studies.study_file.checks import CheckItem
from annotation.studies.study_file.reading import StudyFile, read_study_text
from annotation.studies.study_file.stimuli import Associations, ShownAttributes
from annotation.studies.study_file.tasks import Example, TaskFile
from annotation.studies.study_file.texts import Question
from annotation.studies.study_file.writing import study_toml
from annotation.studies.units.compare import stored_units
from annotation.studies.units.depiction import StereotypeRule
from annotation.studies.units.planned import PlannedUnit


def to_study_file(*, study: Study) -> StudyFile:
    """The study as a `StudyFile`. Raises StudyRefused if the format cannot express it."""
    consent = current_consent(study)
    own = consent.get(LANGUAGE)
    return StudyFile(
        name=study.name,
        title=study.title,
        description=study.description,
        contact=study.contact,
        leads=tuple(sorted(study.leads.values_list("username", flat=True))),
        consent=own.text if own else "",
        content_warning=own.content_warning if own else "",
        consent_translations={
            language: {"text": text.text, "content_warning": text.content_warning}
            for language, text in consent.items()
            if language != LANGUAGE
        },
        stereotype_source=study.stereotype_source.name if study.stereotype_source else None,
        stereotype_pool=study.stereotype_pool,
        stereotype_threshold=study.stereotype_threshold,
        visual_rule=study.visual_rule,
        visual_mean=study.visual_mean,
        tasks=tuple(_task(task) for task in study.tasks.select_related("image_set").order_by("pk")),
        self_enrol=study.self_enrol,
        questions=tuple(
            Question(
                field=each["field"],
                label=each["label"],
                choices=tuple(each.get("choices") or ()),
                translations=each.get("translations") or {},
            )
            for each in study.questions
        ),
        crowd_parameters=dict(study.crowd_parameters),
        completion_code=study.completion_code,
        completion_url=study.completion_url,
        training_pass=study.training_pass,
        gold_rate=study.gold_rate,
        blur_images=study.blur_images,
        break_after=study.break_after,
        session_cap=study.session_cap,
        support_text=study.support_text,
        translations=study.translations,
    )


def to_toml(*, study: Study) -> str:
    """The text of the study's file, with the recipe of each draw as a comment on top. Raises StudyRefused if
    the format cannot express the study."""
    made = study.audit_events.filter(what=MADE_FROM_FILE).order_by("-pk").first()
    drawn = made.details["draws"] if made is not None else {}
    comments = [
        f"# {kind}: listed below as it was drawn by {json.dumps(recipe, ensure_ascii=True, sort_keys=True)}\n"
        for kind, recipe in sorted(drawn.items())
    ]
    return "".join(comments) + study_toml(to_study_file(study=study))


def round_trip_problems(*, study: Study) -> list[str]:
    """Messages about how a study created from its own file would differ; empty if it would be the same.

    Only studies that were not created from a file differ: an incomplete draft lacks required keys, and an
    imported study or a demonstration has an order of its own.
    """
    try:
        file = read_study_text(to_toml(study=study))
    except StudyFileError as error:
        return [f"the file cannot be used as it is: {error}"]
    rule = StereotypeRule(
        source=study.stereotype_source,
        pool=study.stereotype_pool,
        threshold=study.stereotype_threshold,
    )
    try:
        planned = [
            plan_task(task, number=number, file=file, rule=rule) for number, task in enumerate(file.tasks, 1)
        ]
    except StudyRefused as error:
        return [f"the file cannot be used as it is: {error}"]
    return [
        f"a study created from the file differs in {key}"
        for key in differences(study, file=file, planned=planned)
    ]


def _task(task: Task) -> TaskFile:
    attributes = associations = pages = None
    data = Unit.objects.filter(task=task, purpose=Purpose.DATA)
    if task.kind == TaskKind.DEPICTION:
        pages = _shown(task)
    elif data.filter(association__isnull=False).exists():
        associations = _associations(data)
    else:
        attributes = tuple(
            sorted(text for text in data.order_by().values_list("attribute__text", flat=True) if text)
        )
    return TaskFile(
        kind=task.kind,
        wording=task.wording,
        instructions=task.instructions,
        strata=tuple(task.strata),
        seed=task.seed,
        attributes=attributes,
        associations=associations,
        pages=pages,
        image_set=task.image_set.name if task.image_set else "",
        page_size=task.page_size,
        translations=task.translations,
        examples=tuple(Example(**each) for each in task.examples),
        checks=tuple(_checks(task)),
    )


def _associations(data: QuerySet[Unit]) -> Associations:
    if data.filter(association__isnull=True).exists():
        raise StudyRefused(
            "a task in a file has either attributes or associations, and a task of this study has both."
        )
    fields = ("association__source__name", "association__group__name", "association__attribute__text")
    rows = sorted(data.order_by().values_list(*fields))
    sources = sorted({source for source, _, _ in rows})
    if len(sources) > 1:
        raise StudyRefused(
            f"a file names one source of associations, and this study uses several: {', '.join(sources)}."
        )
    return Associations(source=sources[0], pairs=tuple((group, text) for _, group, text in rows))


def _shown(task: Task) -> tuple[ShownAttributes, ...]:
    rows = (
        Option.objects.filter(unit__task=task, unit__purpose=Purpose.DATA, attribute__isnull=False)
        .order_by()
        .values_list("unit__image__group__name", "role", "attribute__text")
        .distinct()
    )
    groups: dict[str, dict[str, list[str]]] = {}
    for group, role, text in sorted(rows):
        groups.setdefault(group, {}).setdefault(role, []).append(text)
    for group, roles in groups.items():
        if unknown := set(roles) - {OptionRole.STEREOTYPICAL, OptionRole.RANDOM}:
            raise StudyRefused(
                f"a file says which attributes of '{group}' are stereotypical and which are random; this "
                f"study has some that are {', '.join(sorted(unknown))}."
            )
    return tuple(
        ShownAttributes(
            group=group,
            stereotypical=tuple(roles.get(OptionRole.STEREOTYPICAL, ())),
            random=tuple(roles.get(OptionRole.RANDOM, ())),
        )
        for group, roles in groups.items()
    )


def _checks(task: Task) -> Iterator[CheckItem]:
    units = list(stored_units(task=task, excluding=Purpose.DATA))
    associations = {
        row.pk: row
        for row in Association.objects.filter(
            pk__in={unit.association_id for unit in units if unit.association_id}
        ).select_related("group")
    }
    images = {
        row.pk: row
        for row in Image.objects.filter(
            pk__in={unit.image_id for unit in units if unit.image_id}
        ).select_related("group")
    }
    for unit in units:
        group, index = "", None
        if unit.association_id is not None:
            group = associations[unit.association_id].group.name
        if unit.image_id is not None:
            image = images[unit.image_id]
            group, index = image.group.name, image.index
        yield CheckItem(
            purpose=unit.purpose,
            attribute="" if index is not None else unit.options[0].attribute or "",
            expected=_expected(unit, kind=task.kind),
            feedback=unit.feedback,
            group=group,
            image=index,
            shown=tuple(option.attribute for option in unit.options if option.attribute)
            if index is not None
            else (),
        )


def _expected(unit: PlannedUnit, *, kind: str) -> tuple[str | int, ...]:
    if unit.image_id is not None:
        return tuple(
            option.attribute for option in unit.options if option.attribute and 1 in (option.expected or ())
        )
    return tuple(scales.label_of(kind, value).name for value in unit.options[0].expected or ())
