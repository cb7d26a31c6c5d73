"""Exporting a study as a study file (docs/studies.md). The file lists what was drawn, because a source may
have changed since."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet

from annotation.core import scales
from annotation.core.translation import LANGUAGE
from annotation.models import Association, Image, Option, OptionRole, Purpose, Study, Task, TaskKind, Unit
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.services.study_plan import (
    MADE_FROM_FILE,
    STUDY_KEYS,
    current_consent,
    differences,
    plan_tasks,
    recipe_stimuli,
)
from annotation.studies.study_file.checks import CheckItem
from annotation.studies.study_file.reading import StudyFile, read_study_text
from annotation.studies.study_file.stimuli import Associations, GroupDraw
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.study_file.writing import study_toml
from annotation.studies.units.compare import stored_units


def to_study_file(*, study: Study, with_units: bool = True) -> StudyFile:
    """The study as a `StudyFile`. Raises StudyRefused if the format cannot express its units."""
    consent = current_consent(study)
    own = consent.get(LANGUAGE)
    return StudyFile(
        name=study.name,
        leads=tuple(sorted(study.leads.values_list("username", flat=True))),
        consent=own.text if own else "",
        content_warning=own.content_warning if own else "",
        consent_translations={
            language: {"text": text.text, "content_warning": text.content_warning}
            for language, text in consent.items()
            if language != LANGUAGE
        },
        stereotype_source=study.stereotype_source.name if study.stereotype_source else None,
        tasks=tuple(
            replace(_task(task), **_units(task)) if with_units else _task(task)
            for task in study.tasks.select_related("image_set").order_by("pk")
        ),
        **{name: getattr(study, name) for name in STUDY_KEYS},
    )


def texts_of(*, study: Study) -> dict[str, Any]:
    """What annotators read, as the content of a study file, with check items and without data."""
    file = to_study_file(study=study, with_units=False)
    tasks = zip(file.tasks, study.tasks.order_by("pk"), strict=True)
    with_checks = tuple(replace(task, checks=tuple(_checks(stored))) for task, stored in tasks)
    return tomllib.loads(study_toml(replace(file, tasks=with_checks)))


def to_copy(*, study: Study) -> StudyFile:
    """The study as a file that draws anew where the study was drawn, instead of listing what was drawn.

    Raises StudyRefused if its units were not drawn from a file and the format cannot express them."""
    made = study.audit_events.filter(what=MADE_FROM_FILE).order_by("-pk").first()
    drawn: dict[str, Any] = made.details["draws"] if made is not None else {}
    tasks = []
    for task in study.tasks.select_related("image_set").order_by("pk"):
        stimuli = recipe_stimuli(task.kind, drawn[task.kind]) if task.kind in drawn else None
        units = {**stimuli, "checks": tuple(_checks(task))} if stimuli else _units(task)
        tasks.append(replace(_task(task), **units))
    return replace(to_study_file(study=study, with_units=False), tasks=tuple(tasks))


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
        planned = plan_tasks(file, source=study.stereotype_source)
    except (StudyFileError, StudyRefused) as error:
        return [f"the file cannot be used as it is: {error}"]
    return [
        f"a study created from the file differs in {key}"
        for key in differences(study, file=file, planned=planned)
    ]


def _task(task: Task) -> TaskFile:
    return TaskFile(
        kind=task.kind,
        wording=task.wording,
        instructions=task.instructions,
        strata=tuple(task.strata),
        seed=task.seed,
        people_share=task.people_share,
        image_set=task.image_set.name if task.image_set else "",
        page_size=task.page_size,
        translations=task.translations,
        examples=task.examples,
    )


def _units(task: Task) -> dict[str, Any]:
    """The fields of a `TaskFile` that say what its units are."""
    checks = tuple(_checks(task))
    data = Unit.objects.filter(task=task, purpose=Purpose.DATA)
    if task.kind == TaskKind.DEPICTION:
        return {"pages": _shown(task), "checks": checks}
    if data.filter(association__isnull=False).exists():
        return {"associations": _associations(data), "checks": checks}
    texts = data.order_by().values_list("attribute__text", flat=True)
    return {"attributes": tuple(sorted(text for text in texts if text)), "checks": checks}


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


def _shown(task: Task) -> dict[str, GroupDraw]:
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
    return {
        group: GroupDraw(
            stereotypical=tuple(roles.get(OptionRole.STEREOTYPICAL, ())),
            random=tuple(roles.get(OptionRole.RANDOM, ())),
        )
        for group, roles in groups.items()
    }


def _checks(task: Task) -> Iterator[CheckItem]:
    units = list(stored_units(task=task, excluding=Purpose.DATA))
    associations = Association.objects.select_related("group").in_bulk(
        [unit.association_id for unit in units if unit.association_id]
    )
    images = Image.objects.select_related("group").in_bulk([unit.image_id for unit in units if unit.image_id])
    for unit in units:
        item = CheckItem(purpose=unit.purpose, attribute="", expected=(), feedback=unit.feedback)
        if unit.image_id is not None:
            image = images[unit.image_id]
            shown = {text: option for option in unit.options if (text := option.attribute)}
            yield replace(
                item,
                expected=tuple(text for text, option in shown.items() if 1 in (option.expected or ())),
                group=image.group.name,
                image=image.index,
                shown=tuple(shown),
            )
            continue
        if unit.association_id is not None:
            item = replace(item, group=associations[unit.association_id].group.name)
        option = unit.options[0]
        expected = tuple(scales.label_of(task.kind, value).name for value in option.expected or ())
        yield replace(item, attribute=option.attribute or "", expected=expected)
