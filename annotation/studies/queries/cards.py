"""The studies on a lead's home page."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce

from annotation import policies
from annotation.models import EnrolmentStatus, Study, StudyStatus

ORDER = (StudyStatus.OPEN, StudyStatus.PAUSED, StudyStatus.DRAFT, StudyStatus.CLOSED)
"""Studies at work first, those that are over last."""


@dataclass(frozen=True)
class LedStudy:
    """A study, with its tasks at hand. `people` take part in it, or did without withdrawing; they answered
    `answers` items, checks left out."""

    study: Study
    people: int
    answers: int


def led_studies(user: User) -> list[LedStudy]:
    """The studies that `user` leads, in two queries."""
    there = ~Q(enrolments__status=EnrolmentStatus.WITHDRAWN)
    found = (
        policies.studies_led_by(user)
        .annotate(
            people=Count("enrolments", filter=there),
            answers=Coalesce(Sum("enrolments__answered", filter=there), 0),
        )
        .order_by("title")
        .prefetch_related("tasks")
    )
    studies = [LedStudy(study, study.people, study.answers) for study in found]
    return sorted(studies, key=lambda card: ORDER.index(StudyStatus(card.study.status)))


def are_comparable(led: Sequence[LedStudy]) -> bool:
    """Whether two of the studies have tasks of the same kind. No query."""
    kinds = Counter(kind for card in led for kind in {task.kind for task in card.study.tasks.all()})
    return any(number > 1 for number in kinds.values())
