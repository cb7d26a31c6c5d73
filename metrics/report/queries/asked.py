"""What people were asked, in the language of a reader as far as the study has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext

from annotation.core.scales import SCALES
from annotation.core.translation import LocalizedText, language_fallbacks, translated_field, translated_text
from annotation.models import Purpose, Study, Task, TaskKind, Unit
from annotation.studies.services.study_plan import current_consent
from metrics.report.queries.people import Answers


@dataclass(frozen=True)
class Quota:
    """A stratum, and how many answers by its people each item needs."""

    stratum: str
    number: int


@dataclass(frozen=True)
class AskedTask:
    """A task. `labels`: (label, explanation); `examples`: of `examples_language`, each with text, answer and
    why; `items`: how many were asked about. `answers` None: of too few people to be counted."""

    task: Task
    wording: LocalizedText
    instructions: LocalizedText
    labels: tuple[tuple[str, str], ...]
    examples: tuple[Mapping[str, str], ...]
    examples_language: str
    quotas: tuple[Quota, ...]
    items: int
    answers: int | None

    @property
    def kind(self) -> str:
        return gettext(str(TaskKind(self.task.kind).label))


@dataclass(frozen=True)
class ConsentShown:
    warning: LocalizedText
    text: LocalizedText


def asked_tasks(study: Study, answers: Mapping[str, Answers], language: str) -> list[AskedTask]:
    """All tasks, in the order of their kinds. One query for each."""
    tasks = sorted(study.tasks.select_related("image_set"), key=lambda task: (task.kind, task.version))
    return [_asked(task, answers.get(task.kind), language) for task in tasks]


def _asked(task: Task, answers: Answers | None, language: str) -> AskedTask:
    examples, examples_language = translated_field(task, "examples", language)
    return AskedTask(
        task=task,
        wording=translated_text(task, "wording", language),
        instructions=translated_text(task, "instructions", language),
        labels=tuple((gettext(label.name), gettext(label.explanation)) for label in SCALES[task.kind]),
        examples=tuple(examples),
        examples_language=examples_language,
        quotas=tuple(Quota(one, task.strata.count(one)) for one in dict.fromkeys(task.strata)),
        items=Unit.objects.filter(task=task, purpose=Purpose.DATA).count(),
        answers=None if answers is None or answers.are_few else answers.number,
    )


def consent_shown(study: Study, language: str) -> ConsentShown | None:
    """The latest consent text and its warning, or None if the study has none."""
    texts = current_consent(study)
    found = next(
        (texts[name] for name in (*language_fallbacks(language), "en", *sorted(texts)) if name in texts), None
    )
    if found is None:
        return None
    return ConsentShown(
        LocalizedText(found.content_warning, found.language), LocalizedText(found.text, found.language)
    )
