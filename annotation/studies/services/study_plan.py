"""From a study file to database rows: planned units, field values, and differences from an existing study."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from annotation.core import strata
from annotation.core.translation import LANGUAGE
from annotation.models import ConsentText, ProfileField, Region, Source, Study, TaskKind
from annotation.studies.errors import StudyRefused
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.reading import StudyFile
from annotation.studies.study_file.stimuli import Associations, PageDraw, SourceDraw
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.units.associations import plan_associations
from annotation.studies.units.attributes import plan_attributes
from annotation.studies.units.checks import with_checks
from annotation.studies.units.compare import units_match
from annotation.studies.units.depiction import plan_pages
from annotation.studies.units.planned import Plan

MADE_FROM_FILE = "study made from a file"
"""Name of the event in the audit log. Its details hold the account and how the units were drawn."""


def plan_tasks(file: StudyFile, *, source: Source | None) -> list[tuple[TaskFile, Plan]]:
    """Each task with the plan of its units. `source`: of the stereotypes. Raises StudyRefused if the file
    names something that does not exist."""
    planned = []
    for number, task in enumerate(file.tasks, 1):
        key = f"tasks[{number}]"
        _check_strata(task, file=file, key=key)
        if task.associations is not None:
            plan = plan_associations(task, task.associations, key=f"{key}.associations")
        elif task.pages is not None:
            plan = plan_pages(task, task.pages, file=file, source=source, key=key)
        else:
            plan = plan_attributes(task, key=f"{key}.attributes")
        planned.append((task, with_checks(plan, task, key=key)))
    return planned


STUDY_KEYS = {
    "title": "title",
    "description": "description",
    "contact": "contact",
    "stereotype_pool": "stereotypes.pool",
    "stereotype_threshold": "stereotypes.threshold",
    "visual_rule": "visual_rule",
    "visual_mean": "visual_mean",
    "intervals": "intervals",
    "self_enrol": "recruitment.self_enrol",
    "questions": "questions",
    "crowd_parameters": "recruitment.parameters",
    "completion_code": "recruitment.completion_code",
    "completion_url": "recruitment.completion_url",
    "training_pass": "quality.training_pass",
    "gold_rate": "quality.gold_rate",
    "blur_images": "care.blur_images",
    "break_after": "care.break_after",
    "session_cap": "care.session_cap",
    "support_text": "care.support_text",
    "translations": "translations",
}
"""Field of `Study` and `StudyFile` -> key of the file. Source and leads are rows of their own."""


def study_fields(file: StudyFile) -> dict[str, object]:
    """Values for the fields of `Study`, except source and leads."""
    return {name: getattr(file, name) for name in STUDY_KEYS}


def consent_fields(file: StudyFile) -> dict[str, Mapping[str, str]]:
    """Language -> consent text and content warning."""
    own = {"text": file.consent, "content_warning": file.content_warning}
    return {LANGUAGE: own, **file.consent_translations}


def task_fields(task: TaskFile, plan: Plan) -> dict[str, object]:
    """Values for the fields of `Task`."""
    return {
        "wording": task.wording,
        "instructions": task.instructions,
        "overlap": len(task.strata),
        "strata": list(task.strata),
        "seed": task.seed,
        "people_share": task.people_share,
        "page_size": task.page_size,
        "image_set": plan.image_set,
        "translations": task.translations,
        "examples": list(task.examples),
    }


def draw_recipes(file: StudyFile) -> dict[str, dict[str, object]]:
    """Kind of task -> how its units were drawn; tasks whose units are listed are left out. Kept for the
    record, since the units do not say what they were drawn from (PROTOCOL §5: a recorded seed)."""
    recipes: dict[str, dict[str, object]] = {}
    for task in file.tasks:
        if isinstance(task.attributes, SourceDraw):
            recipe: dict[str, object] = asdict(task.attributes)
        elif task.associations is not None and not task.associations.pairs:
            recipe = asdict(task.associations)
        elif isinstance(task.pages, PageDraw):
            recipe = {
                **asdict(task.pages),
                "source": file.stereotype_source,
                "pool": file.stereotype_pool,
                "threshold": file.stereotype_threshold,
            }
        else:
            continue
        recipes[task.kind] = {**recipe, "seed": task.seed}
    return recipes


def recipe_stimuli(kind: str, recipe: Mapping[str, Any]) -> dict[str, object]:
    """The field of a `TaskFile` that draws as a recipe of `draw_recipes` says."""
    if kind == TaskKind.DEPICTION:
        visual = recipe["visual"]
        pages = PageDraw(
            visual=tuple(visual) if isinstance(visual, list) else visual,
            groups=tuple(recipe["groups"]),
            allow_fewer=recipe["allow_fewer"],
        )
        return {"pages": pages}
    if "pairs" in recipe:
        chosen = Associations(recipe["source"], limit=recipe["limit"], groups=tuple(recipe["groups"]))
        return {"associations": chosen}
    return {"attributes": SourceDraw(recipe["source"], recipe["limit"])}


def current_consent(study: Study) -> dict[str, ConsentText]:
    """Language -> the latest version of the consent text."""
    texts = list(study.consent_texts.order_by("version"))
    return {text.language: text for text in texts if text.version == texts[-1].version}


def differences(study: Study, *, file: StudyFile, planned: Sequence[tuple[TaskFile, Plan]]) -> list[str]:
    """Keys of the file whose values differ from the database; empty if it is the same study."""
    differing = [STUDY_KEYS[name] for name in _differing_fields(study, study_fields(file))]
    if (study.stereotype_source.name if study.stereotype_source else None) != file.stereotype_source:
        differing.append("stereotypes.source")
    if set(study.leads.values_list("username", flat=True)) != set(file.leads):
        differing.append("leads")
    differing += consent_differences(current_consent(study), consent_fields(file))
    tasks = {task.kind: task for task in study.tasks.select_related("image_set")}
    if set(tasks) != {read.kind for read, _plan in planned}:
        return [*differing, "tasks"]
    for number, (read, plan) in enumerate(planned, 1):
        task = tasks[read.kind]
        differing += [f"tasks[{number}].{name}" for name in _differing_fields(task, task_fields(read, plan))]
        if not units_match(task=task, plan=plan):
            differing.append(f"tasks[{number}].{_shown_key(read)}")
    return differing


def _differing_fields(row: object, fields: Mapping[str, object]) -> list[str]:
    return [name for name, value in fields.items() if getattr(row, name) != value]


def consent_differences(
    current: Mapping[str, ConsentText], new: Mapping[str, Mapping[str, str]]
) -> list[str]:
    differing = []
    for language in sorted({*current, *new}):
        where = "consent" if language == LANGUAGE else f"consent.{language}"
        text = current.get(language)
        differing += [
            f"{where}.{key}"
            for key in ("text", "content_warning")
            if (getattr(text, key) if text else "") != new.get(language, {}).get(key, "")
        ]
    return differing


def _shown_key(task: TaskFile) -> str:
    if task.kind == TaskKind.DEPICTION:
        return "attributes, shown or check items"
    noun = "associations" if task.associations is not None else "attributes"
    return f"{noun} or check items" if task.checks else noun


def _check_strata(task: TaskFile, *, file: StudyFile, key: str) -> None:
    own = [question["field"] for question in file.questions]
    doubled = sorted({*own} & set(ProfileField.values))
    if doubled:
        raise StudyRefused(
            "'%(field)s' is already a field of the profile. Give the question another field.",
            key=f"questions[{own.index(doubled[0]) + 1}].field",
            page_message=_(
                "'%(field)s' is already a field of the profile. Give the question another short name."
            ),
            field=doubled[0],
        )
    names_group = task.associations is not None or task.pages is not None
    for position, text in enumerate(task.strata, 1):
        check_stratum(text, questions=own, names_group=names_group, key=f"{key}.strata[{position}]")


def check_stratum(text: str, *, questions: Iterable[str], names_group: bool, key: str = "") -> None:
    """Raise StudyRefused if `text` is not a stratum. `questions`: fields of the study's own questions;
    `names_group`: whether the task has identity groups."""
    if len(strata.resolve(text, region=max(Region.values, key=len))) > strata.MAX_LENGTH:
        raise StudyRefused(
            f"'{text[:40]}...' is over {strata.MAX_LENGTH} characters, resolved.",
            key=key,
            page_message=_("'%(text)s…' is longer than 120 characters."),
            text=text[:40],
        )
    fields = [*ProfileField.values, *sorted(questions)]
    try:
        strata.parse(text, fields=fields, unresolved=names_group)
    except ValueError as error:
        raise StudyRefused(
            str(error),
            key=key,
            page_message=_("'%(text)s' needs identity groups, but this task has none.")
            if strata.depends_on_group(text) and not names_group
            else _(
                "'%(text)s' is not a quota. Write 'any', 'in-region', 'out-region', 'origin: Asia' or "
                "'gender: not male', with one of: %(fields)s."
            )
            if names_group
            else _(
                "'%(text)s' is not a quota. Write 'any', 'origin: Asia' or 'gender: not male', "
                "with one of: %(fields)s."
            ),
            text=text,
            fields=", ".join(fields),
        ) from error
