"""Reads for the pages around the work: entry, consent, profile, leaving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotation.core.translation import LANGUAGE, language_fallbacks, translated_field
from annotation.models import (
    Annotator,
    ConsentText,
    Enrolment,
    EnrolmentStatus,
    ProfileAnswer,
    Response,
    Study,
    Task,
)
from annotation.participation import profile_fields
from annotation.participation.constants import LEFT_STATUSES

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class Guide:
    """What annotators read about one task before they judge: its instructions and worked examples (each
    with text, answer and why), and the language of each. `label`: the kind of task, in English."""

    label: str
    instructions: str
    instructions_language: str
    examples: list[Mapping[str, str]]
    examples_language: str


def consent_texts(*, study: Study) -> list[ConsentText]:
    """The latest version of the consent text in every language, English first."""
    newest = ConsentText.objects.filter(study=study).order_by("-version").values("version")[:1]
    texts = ConsentText.objects.filter(study=study, version=newest)
    return sorted(texts, key=lambda text: (text.language != LANGUAGE, text.language))


def in_language(texts: Iterable[ConsentText], language: str) -> ConsentText | None:
    """The text in `language`, else in its base language ('pt-br': 'pt'), else in English, else the first
    one."""
    by_language = {text.language.lower(): text for text in texts}
    for choice in (*language_fallbacks(language.lower()), LANGUAGE):
        if choice in by_language:
            return by_language[choice]
    return next(iter(by_language.values()), None)


def guides(*, tasks: Iterable[Task], language: str) -> list[Guide]:
    """The guides to `tasks`, in `language` if they are translated, else as they were written. A task with
    neither instructions nor examples is left out."""
    found = []
    for task in tasks:
        instructions, instructions_language = translated_field(task, "instructions", language)
        examples, examples_language = translated_field(task, "examples", language)
        if instructions or examples:
            found.append(
                Guide(
                    label=task.get_kind_display(),
                    instructions=instructions,
                    instructions_language=instructions_language,
                    examples=examples,
                    examples_language=examples_language,
                )
            )
    return found


def enrolment_by_code(*, user: User, code: str) -> Enrolment | None:
    """The enrolment of `user` in the study of an invitation, even if the invitation has ended."""
    return (
        Enrolment.objects.filter(annotator__user=user, study__invitations__code=code)
        .select_related("study")
        .first()
    )


def profile_questions(
    *, user: User, study: Study | None = None, language: str = ""
) -> tuple[profile_fields.Question, ...]:
    """The profile questions for `user`, for one study or for all that they are in. The studies' own questions
    are in `language` if they are translated, else as they were written."""
    studies = [study] if study else list(_studies_of(user))
    strata = Task.objects.filter(study__in=studies).values_list("strata", flat=True)
    answered = ProfileAnswer.objects.filter(annotator__user=user).values_list("field", flat=True)
    return profile_fields.questions_for(
        strata_texts=[text for task_strata in strata for text in task_strata],
        own_questions=[question for each in studies for question in each.questions],
        answered=answered,
        language=language,
    )


def answer_count(*, enrolment: Enrolment) -> int:
    """How many answers of every kind somebody gave in a study, without superseded revisions."""
    return Response.objects.filter(
        annotator=enrolment.annotator_id,
        unit__task__study=enrolment.study_id,
        current=True,
        withdrawn_at__isnull=True,
    ).count()


def takes_part(*, annotator: Annotator) -> bool:
    """Whether somebody is in any study that they have not left."""
    return annotator.enrolments.exclude(status__in=LEFT_STATUSES).exists()


def _studies_of(user: User) -> Iterable[Study]:
    mine = Enrolment.objects.filter(annotator__user=user).exclude(status=EnrolmentStatus.WITHDRAWN)
    return Study.objects.filter(enrolments__in=mine).distinct()
