"""Queries of the annotators' pages. Nothing here writes. The cost grows with a study's size no more than that
of an index look-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Count, OuterRef, QuerySet, Subquery

from annotation import policies
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    ProfileAnswer,
    Purpose,
    SlotState,
    Study,
    StudyStatus,
    Task,
    Unit,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class Progress:
    """An annotator's progress in a study. `rated` counts all their answers, those to gold items and attention
    checks and surplus answers included; `total` is the study's units with the checks that are mixed in.
    Practice items are in neither."""

    rated: int
    total: int


# Not withdrawn: a study that somebody withdrew from is not shown at all.
_ENDED = frozenset({EnrolmentStatus.BLOCKED, EnrolmentStatus.FINISHED, EnrolmentStatus.SCREENED_OUT})


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
    ended = {enrolment.study_id for enrolment in enrolments if enrolment.status in _ENDED}
    totals = _totals(Task.objects.filter(study__in=studies))
    cards = [
        StudyCard(
            study=study,
            progress=_progress(started.get(study.pk, 0), of=totals.get(study.pk, 0)),
            started=study.pk in started,
            ended=study.pk in ended,
        )
        for study in studies
    ]
    return sorted(cards, key=lambda card: not card.is_open)


def progress(*, enrolment: Enrolment) -> Progress:
    """An annotator's progress in a study."""
    return _progress(answered_items(enrolment=enrolment), of=total_units(study_id=enrolment.study_id))


def answered_items(*, enrolment: Enrolment) -> int:
    """The number of items answered, checks included: a number that did not change would reveal them."""
    return enrolment.answered + enrolment.golds


def _progress(answered: int, *, of: int) -> Progress:
    return Progress(rated=min(answered, of), total=of)


def total_units(*, study_id: int) -> int:
    """The number of items of a study for each annotator, with the checks that they will get."""
    return _totals(Task.objects.filter(study=study_id)).get(study_id, 0)


def profile_answers(*, user: User) -> QuerySet[ProfileAnswer]:
    """The profile answers of an account."""
    return ProfileAnswer.objects.filter(annotator__user=user)


def has_unfilled_slots(*, study: Study) -> bool:
    """Whether a study still needs answers, from anybody."""
    return study.slots.exclude(state=SlotState.FILLED).exists()


def _totals(tasks: QuerySet[Task]) -> dict[int, int]:
    """Study -> number of units, with the checks that are mixed in. Positions count from 1 without gaps, so
    the last position of a task is its number of units: one index look-up per task instead of counting a
    million rows."""
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
    rows = tasks.order_by().values_list("study", "study__gold_rate", Subquery(last), Subquery(checks))
    for study_id, rate, number, of_checks in rows:
        rates[study_id] = rate
        units[study_id] = units.get(study_id, 0) + (number or 0)
        mixed_in[study_id] = mixed_in.get(study_id, 0) + (of_checks or 0)
    # One check per 1 / gold_rate units, as long as there are any (annotate/services/items.py).
    return {pk: units[pk] + min(mixed_in[pk], int(units[pk] * rates[pk])) for pk in units}
