"""What the annotator's pages read. Nothing here writes, and none of it grows with the size of a study
more than an index look-up does."""

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
    """How far somebody is in a study. `rated` counts every answer of theirs, also those to gold items and
    attention checks and those kept as a surplus; `total` is the study's units with the checks that are mixed
    in. Practice items are in neither."""

    rated: int
    total: int


# Withdrawn is not among them: of a study that somebody withdrew from nothing is shown.
_ENDED = frozenset({EnrolmentStatus.BLOCKED, EnrolmentStatus.FINISHED, EnrolmentStatus.SCREENED_OUT})


@dataclass(frozen=True)
class StudyCard:
    """A study as the first page shows it to an annotator. `ended`: their own part in it has."""

    study: Study
    progress: Progress
    started: bool
    ended: bool

    @property
    def is_open(self) -> bool:
        return self.study.status == StudyStatus.OPEN


def study_cards(user: User) -> list[StudyCard]:
    """The studies that `user` can take part in, or has taken part in: those open come first."""
    studies = list(policies.studies_open_to(user).order_by("title"))
    mine = Enrolment.objects.filter(annotator__user=user, study__in=studies)
    started = {enrolment.study_id: rated(enrolment=enrolment) for enrolment in mine}
    ended = {enrolment.study_id for enrolment in mine if enrolment.status in _ENDED}
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


def studies_led(user: User) -> QuerySet[Study]:
    return policies.studies_led_by(user).order_by("title")


def progress(*, enrolment: Enrolment) -> Progress:
    """How far an annotator is in a study."""
    return _progress(rated(enrolment=enrolment), of=total_units(study_id=enrolment.study_id))


def rated(*, enrolment: Enrolment) -> int:
    """How many items somebody has answered: a number that stood still would betray the checks."""
    return enrolment.answered + enrolment.golds


def _progress(done: int, *, of: int) -> Progress:
    return Progress(rated=min(done, of), total=of)


def total_units(*, study_id: int) -> int:
    """How many items a study has for each annotator, with the checks they will meet."""
    return _totals(Task.objects.filter(study=study_id)).get(study_id, 0)


def profile_answers(*, user: User) -> QuerySet[ProfileAnswer]:
    """What an account has said of itself; empty if it never did."""
    return ProfileAnswer.objects.filter(annotator__user=user)


def anything_left(*, study: Study) -> bool:
    """Whether a study still waits for answers, from whomever."""
    return study.slots.exclude(state=SlotState.FILLED).exists()


def _totals(tasks: QuerySet[Task]) -> dict[int, int]:
    """Study -> number of units, the checks that come with them included. Positions count from 1 without
    gaps, so the last one of a task is its number of units: one index look-up a task instead of counting a
    million rows."""
    of_task = Unit.objects.filter(task=OuterRef("pk"))
    # check items stand behind the data, a few of them
    last = of_task.filter(purpose=Purpose.DATA).order_by("-position").values("position")[:1]
    checks = (
        of_task.filter(purpose__in=[Purpose.GOLD, Purpose.ATTENTION])
        .exclude(purpose=Purpose.DATA)  # said for SQLite, which finds the index of the few by it
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
    # one check for each 1 / gold_rate units, as long as there are any (annotate/services/items.py)
    return {pk: units[pk] + min(mixed_in[pk], int(units[pk] * rates[pk])) for pk in units}
