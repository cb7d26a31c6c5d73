"""Queries of the annotators' pages. Their cost grows with a study no more than that of an index look-up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation import policies
from annotation.assignment.constants import ENDED_STATUSES, LEFT_STATUSES
from annotation.core.translation import LANGUAGE, language_fallbacks, translated_field
from annotation.models import (
    Annotator,
    ConsentText,
    Enrolment,
    EnrolmentStatus,
    ProfileAnswer,
    Purpose,
    SlotState,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
)
from annotation.participation import profile_fields


@dataclass(frozen=True)
class Progress:
    """An annotator's progress in a study, without practice items: `rated` of `total` units, checks and
    surplus answers included."""

    answered: int
    total: int

    @property
    def rated(self) -> int:
        return min(self.answered, self.total)


@dataclass(frozen=True)
class StudyCard:
    """A study on an annotator's home page. `ended`: they can give no more answers in it."""

    study: Study
    progress: Progress
    started: bool
    ended: bool

    @property
    def is_open(self) -> bool:
        return self.study.status == StudyStatus.OPEN


def study_cards(user: User) -> list[StudyCard]:
    """The studies that `user` can take part in, or has taken part in, open ones first."""
    studies = list(policies.studies_open_to(user).order_by("title"))
    enrolments = Enrolment.objects.filter(annotator__user=user, study__in=studies)
    started = {enrolment.study_id: answered_items(enrolment=enrolment) for enrolment in enrolments}
    ended = {enrolment.study_id for enrolment in enrolments if enrolment.status in ENDED_STATUSES}
    totals = _totals(Task.objects.filter(study__in=studies))
    cards = [
        StudyCard(
            study=study,
            progress=Progress(started.get(study.pk, 0), totals.get(study.pk, 0)),
            started=study.pk in started,
            ended=study.pk in ended,
        )
        for study in studies
    ]
    return sorted(cards, key=lambda card: not card.is_open)


def progress(*, enrolment: Enrolment) -> Progress:
    """An annotator's progress in a study."""
    return Progress(answered_items(enrolment=enrolment), total_units(study_id=enrolment.study_id))


def answered_items(*, enrolment: Enrolment) -> int:
    """The number of items answered, checks included: a number that did not change would reveal them."""
    return enrolment.answered + enrolment.golds


def total_units(*, study_id: int, kind: str = "") -> int:
    """The number of items of a study for each annotator, with the checks that they will get; `kind`: of
    tasks of this kind only."""
    tasks = Task.objects.filter(study=study_id)
    return _totals(tasks.filter(kind=kind) if kind else tasks).get(study_id, 0)


def profile_answers(*, user: User) -> QuerySet[ProfileAnswer]:
    """The profile answers of an account."""
    return ProfileAnswer.objects.filter(annotator__user=user)


def has_unfilled_slots(*, study: Study) -> bool:
    """Whether a study still needs answers, from anybody."""
    return study.slots.exclude(state=SlotState.FILLED).exists()


def _totals(tasks: QuerySet[Task]) -> dict[int, int]:
    """Study -> number of units that people judge, with the checks that are mixed in. The last position of a
    task is its number of units: one index look-up per task instead of counting a million rows. Where people
    judge a part, the task has the number."""
    of_task = Unit.objects.filter(task=OuterRef("pk"))
    # The few check items come after the data.
    last = of_task.filter(purpose=Purpose.DATA).order_by("-position").values("position")[:1]
    checks = (
        of_task.filter(purpose__in=[Purpose.GOLD, Purpose.ATTENTION])
        .exclude(purpose=Purpose.DATA)  # lets SQLite use the partial index of the few checks
        .order_by()
        .values("task")
        .annotate(number=Count("pk"))
        .values("number")
    )
    units: dict[int, int] = {}
    mixed_in: dict[int, int] = {}
    rates: dict[int, float] = {}
    rows = tasks.order_by().values_list(
        "study", "study__gold_rate", Coalesce("people_units", Subquery(last)), Subquery(checks)
    )
    for study_id, rate, number, of_checks in rows:
        rates[study_id] = rate
        units[study_id] = units.get(study_id, 0) + (number or 0)
        mixed_in[study_id] = mixed_in.get(study_id, 0) + (of_checks or 0)
    # One check per 1 / gold_rate units, as long as there are any (annotate/services/items.py).
    return {pk: units[pk] + min(mixed_in[pk], int(units[pk] * rates[pk])) for pk in units}


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
    """The text in `language`, else in its base language ('pt-br': 'pt'), else in English, else the first."""
    by_language = {text.language.lower(): text for text in texts}
    for choice in (*language_fallbacks(language.lower()), LANGUAGE):
        if choice in by_language:
            return by_language[choice]
    return next(iter(by_language.values()), None)


def guides(*, tasks: Iterable[Task], language: str, consented: bool = True) -> list[Guide]:
    """The guides to `tasks`, in `language` if they are translated, else as they were written. A task with
    neither instructions nor examples is left out. Examples of association tasks hold ugly words, so nobody
    reads them before they `consented`."""
    found = []
    for task in tasks:
        instructions = translated_field(task, "instructions", language)
        examples = translated_field(task, "examples", language)
        if task.kind == TaskKind.ASSOCIATION and not consented:
            examples = [], examples[1]
        if instructions[0] or examples[0]:
            found.append(Guide(task.get_kind_display(), *instructions, *examples))
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
    """The profile questions for `user`, for one study or for all that they are in."""
    mine = Enrolment.objects.filter(annotator__user=user).exclude(status=EnrolmentStatus.WITHDRAWN)
    studies = [study] if study else list(Study.objects.filter(enrolments__in=mine).distinct())
    strata = Task.objects.filter(study__in=studies).values_list("strata", flat=True)
    answered = ProfileAnswer.objects.filter(annotator__user=user).values_list("field", flat=True)
    return profile_fields.questions_for(
        strata_texts=[text for task_strata in strata for text in task_strata],
        own_questions=[question for each in studies for question in each.questions],
        answered=answered,
        language=language,
    )


def takes_part(*, annotator: Annotator) -> bool:
    """Whether somebody is in any study that they have not left."""
    return annotator.enrolments.exclude(status__in=LEFT_STATUSES).exists()
