"""What the pages around the work read: getting in, consent, profile, leaving. Nothing here writes."""

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

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class Guide:
    """What annotators read about one task before they judge: its instructions and worked examples (each
    with text, answer and why), and in which language each of the two is written. `label`: its kind, in
    English."""

    label: str
    instructions: str
    instructions_language: str
    examples: list[Mapping[str, str]]
    examples_language: str


def consent_texts(*, study: Study) -> list[ConsentText]:
    """The text that people agree to now, in every language it is written in, English first."""
    newest = ConsentText.objects.filter(study=study).order_by("-version").values("version")[:1]
    texts = ConsentText.objects.filter(study=study, version=newest)
    return sorted(texts, key=lambda text: (text.language != LANGUAGE, text.language))


def in_language(texts: Iterable[ConsentText], language: str) -> ConsentText | None:
    """The text in `language`, else in the language it is a variety of ('pt-br': 'pt'), else in English,
    else the first there is."""
    by_language = {text.language.lower(): text for text in texts}
    for choice in (*language_fallbacks(language.lower()), LANGUAGE):
        if choice in by_language:
            return by_language[choice]
    return next(iter(by_language.values()), None)


def guides(*, tasks: Iterable[Task], language: str) -> list[Guide]:
    """What is to be read about `tasks`, in `language` as far as it is translated, else as it was written.
    A task about which there is nothing to read is left out."""
    found = []
    for task in tasks:
        instructions, spoken = translated_field(task, "instructions", language)
        examples, shown = translated_field(task, "examples", language)
        if instructions or examples:
            found.append(Guide(task.get_kind_display(), instructions, spoken, examples, shown))
    return found


def enrolment_by_code(*, user: User, code: str) -> Enrolment | None:
    """The enrolment of `user` in the study that an invitation is for, whether or not the invitation still
    holds."""
    return (
        Enrolment.objects.filter(annotator__user=user, study__invitations__code=code)
        .select_related("study")
        .first()
    )


def profile_questions(
    *, user: User, study: Study | None = None, language: str = ""
) -> tuple[profile_fields.Question, ...]:
    """What the profile page asks `user`: for one study, or for all that they are in. The studies' own
    questions are in `language` as far as they are translated, else as they were written."""
    studies = [study] if study else list(_studies_of(user))
    texts = Task.objects.filter(study__in=studies).values_list("strata", flat=True)
    answered = ProfileAnswer.objects.filter(annotator__user=user).values_list("field", flat=True)
    return profile_fields.asked(
        strata_texts=[text for of_task in texts for text in of_task],
        own_questions=[question for each in studies for question in each.questions],
        answered=answered,
        language=language,
    )


def answers_given(*, enrolment: Enrolment) -> int:
    """How many answers somebody gave in a study, of every kind, without those they changed."""
    return Response.objects.filter(
        annotator=enrolment.annotator_id,
        unit__task__study=enrolment.study_id,
        current=True,
        withdrawn_at__isnull=True,
    ).count()


def takes_part(*, annotator: Annotator) -> bool:
    """Whether somebody is in any study that they have not left."""
    gone = (EnrolmentStatus.WITHDRAWN, EnrolmentStatus.SCREENED_OUT)
    return annotator.enrolments.exclude(status__in=gone).exists()


def _studies_of(user: User) -> Iterable[Study]:
    mine = Enrolment.objects.filter(annotator__user=user).exclude(status=EnrolmentStatus.WITHDRAWN)
    return Study.objects.filter(enrolments__in=mine).distinct()
