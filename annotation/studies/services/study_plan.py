"""From a study file to database rows: planned units, field values, and differences from an existing study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from annotation.core import strata
from annotation.core.translation import LANGUAGE
from annotation.models import ConsentText, ProfileField, Region, Study, TaskKind
from annotation.studies.errors import StudyRefused
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.reading import StudyFile
from annotation.studies.study_file.stimuli import PageDraw, SourceDraw
from annotation.studies.study_file.tasks import TaskFile
from annotation.studies.study_file.texts import Question
from annotation.studies.units.associations import plan_associations
from annotation.studies.units.attributes import plan_attributes
from annotation.studies.units.checks import with_checks
from annotation.studies.units.compare import units_match
from annotation.studies.units.depiction import StereotypeRule, plan_pages
from annotation.studies.units.planned import Plan

MADE_FROM_FILE = "study made from a file"
"""Name of the event in the audit log. Its details hold the account and how the units were drawn."""


@dataclass(frozen=True)
class PlannedTask:
    file: TaskFile
    plan: Plan


def plan_task(task: TaskFile, *, number: int, file: StudyFile, rule: StereotypeRule) -> PlannedTask:
    """Plan the units of one task. Raises StudyRefused if the file names something that does not exist."""
    key = f"tasks[{number}]"
    _check_strata(task, file=file, key=key)
    if task.associations is not None:
        plan = plan_associations(
            chosen=task.associations, strata=task.strata, seed=task.seed, key=f"{key}.associations"
        )
    elif task.pages is not None:
        plan = plan_pages(
            pages=task.pages,
            image_set=task.image_set,
            page_size=task.page_size,
            rule=rule,
            strata=task.strata,
            seed=task.seed,
            key=key,
        )
    else:
        plan = plan_attributes(
            attributes=task.attributes or (), strata=task.strata, seed=task.seed, key=f"{key}.attributes"
        )
    source = task.associations.source if task.associations is not None else None
    return PlannedTask(file=task, plan=with_checks(plan, task.checks, kind=task.kind, source=source, key=key))


def study_fields(file: StudyFile) -> dict[str, object]:
    """Values for the fields of `Study`, except source and leads, which are rows of their own."""
    return {
        "title": file.title,
        "description": file.description,
        "contact": file.contact,
        "stereotype_pool": file.stereotype_pool,
        "stereotype_threshold": file.stereotype_threshold,
        "visual_rule": file.visual_rule,
        "visual_mean": file.visual_mean,
        "self_enrol": file.self_enrol,
        "questions": [_question(each) for each in file.questions],
        "crowd_parameters": dict(file.crowd_parameters),
        "completion_code": file.completion_code,
        "completion_url": file.completion_url,
        "training_pass": file.training_pass,
        "gold_rate": file.gold_rate,
        "blur_images": file.blur_images,
        "break_after": file.break_after,
        "session_cap": file.session_cap,
        "support_text": file.support_text,
        "translations": {language: dict(texts) for language, texts in file.translations.items()},
    }


def _question(question: Question) -> dict[str, object]:
    values: dict[str, object] = {
        "field": question.field,
        "label": question.label,
        "choices": list(question.choices),
    }
    if question.translations:  # left out if empty, as in questions stored before translations existed
        values["translations"] = {language: dict(texts) for language, texts in question.translations.items()}
    return values


def consent_fields(file: StudyFile) -> dict[str, dict[str, str]]:
    """Language -> consent text and content warning."""
    own = {"text": file.consent, "content_warning": file.content_warning}
    return {LANGUAGE: own, **{key: dict(texts) for key, texts in file.consent_translations.items()}}


def task_fields(planned: PlannedTask) -> dict[str, object]:
    """Values for the fields of `Task`."""
    task = planned.file
    return {
        "wording": task.wording,
        "instructions": task.instructions,
        "overlap": len(task.strata),
        "strata": list(task.strata),
        "seed": task.seed,
        "page_size": task.page_size,
        "image_set": planned.plan.image_set,
        "translations": {language: dict(texts) for language, texts in task.translations.items()},
        "examples": [asdict(example) for example in task.examples],
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


def current_consent(study: Study) -> dict[str, ConsentText]:
    """Language -> the latest version of the consent text."""
    texts = list(study.consent_texts.order_by("version"))
    return {text.language: text for text in texts if text.version == texts[-1].version}


def differences(study: Study, *, file: StudyFile, planned: Sequence[PlannedTask]) -> list[str]:
    """Keys of the file whose values differ from the database; empty if it is the same study."""
    differing = [_KEYS.get(name, name) for name in _differing_fields(study, study_fields(file))]
    if (study.stereotype_source.name if study.stereotype_source else None) != file.stereotype_source:
        differing.append("stereotypes.source")
    if set(study.leads.values_list("username", flat=True)) != set(file.leads):
        differing.append("leads")
    differing += consent_differences(current_consent(study), consent_fields(file))
    tasks = {task.kind: task for task in study.tasks.select_related("image_set")}
    if set(tasks) != {each.file.kind for each in planned}:
        return [*differing, "tasks"]
    for number, each in enumerate(planned, 1):
        task = tasks[each.file.kind]
        differing += [f"tasks[{number}].{name}" for name in _differing_fields(task, task_fields(each))]
        if not units_match(task=task, plan=each.plan):
            differing.append(f"tasks[{number}].{_shown_key(each.file)}")
    return differing


_KEYS = {
    "stereotype_pool": "stereotypes.pool",
    "stereotype_threshold": "stereotypes.threshold",
    "self_enrol": "recruitment.self_enrol",
    "crowd_parameters": "recruitment.parameters",
    "completion_code": "recruitment.completion_code",
    "completion_url": "recruitment.completion_url",
    "training_pass": "quality.training_pass",
    "gold_rate": "quality.gold_rate",
    "blur_images": "care.blur_images",
    "break_after": "care.break_after",
    "session_cap": "care.session_cap",
    "support_text": "care.support_text",
}
"""Field of the study -> key of the file, where their names differ."""


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
    own = {question.field for question in file.questions}
    doubled = sorted(own & set(ProfileField.values))
    if doubled:
        raise StudyRefused(
            "'%(field)s' is already a field of the profile. Give the question another field.",
            key=f"questions[{[each.field for each in file.questions].index(doubled[0]) + 1}].field",
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
                "'%(text)s' is not a quota. Write 'any', 'origin: Asia' or 'gender: not male', "
                "with one of: %(fields)s."
            ),
            text=text,
            fields=", ".join(fields),
        ) from error
