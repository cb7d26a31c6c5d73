"""How far the slots of a study are filled, and how many people could fill the rest (DESIGN §4). Reads every
slot."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from annotation.core import strata
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    ProfileAnswer,
    Purpose,
    Slot,
    SlotState,
    Study,
    Task,
    Unit,
)

# Enrolled people who give no more answers
_INACTIVE = (EnrolmentStatus.BLOCKED, EnrolmentStatus.SCREENED_OUT, EnrolmentStatus.WITHDRAWN)


@dataclass(frozen=True)
class FillRate:
    """Counts of the slots of one stratum of a task. `people`: number of enrolled people who match it."""

    task: Task
    stratum: str
    wanted: int
    filled: int
    leased: int
    people: int

    @property
    def open(self) -> int:
        return self.wanted - self.filled - self.leased


def enrolled_people(*, study: Study) -> QuerySet[Enrolment]:
    """The enrolments of all people who may answer in a study."""
    return Enrolment.objects.filter(study=study).exclude(status__in=_INACTIVE)


def enrolled_profiles(*, study: Study) -> list[dict[str, str]]:
    """The profiles of all people who may answer in a study, in no particular order. Empty for people who
    filled in nothing."""
    enrolled = enrolled_people(study=study)
    profiles: dict[int, dict[str, str]] = {pk: {} for pk in enrolled.values_list("annotator", flat=True)}
    answers = ProfileAnswer.objects.filter(annotator__in=enrolled.values("annotator"))
    for annotator, field, value in answers.values_list("annotator", "field", "value"):
        profiles[annotator][field] = value
    return list(profiles.values())


def fill_rates(*, study: Study) -> list[FillRate]:
    """One row for each task and stratum, in the order of the tasks."""
    people = enrolled_profiles(study=study)
    tasks = {task.pk: task for task in study.tasks.order_by("pk")}
    counts = (
        Slot.objects.filter(study=study)
        .order_by()
        .values_list("unit__task", "stratum")
        .annotate(
            wanted=Count("pk"),
            filled=Count("pk", filter=Q(state=SlotState.FILLED)),
            leased=Count("pk", filter=Q(state=SlotState.LEASED)),
        )
    )
    return [
        FillRate(
            task=tasks[task],
            stratum=stratum,
            wanted=wanted,
            filled=filled,
            leased=leased,
            people=sum(strata.parse(stratum).matches(profile) for profile in people),
        )
        for task, stratum, wanted, filled, leased in sorted(counts)
    ]


def units_for_people(*, task: Task) -> QuerySet[Unit]:
    """The data units of a task that people judge: all, or those with slots if that is a random part."""
    units = Unit.objects.filter(task=task, purpose=Purpose.DATA)
    return units if task.people_share is None else units.filter(slots__index=0)


def unit_strata(*, task: Task) -> list[tuple[str, ...]]:
    """The distinct sets of strata of the units of a task: one, unless strata depend on the region of a unit's
    identity group."""
    if not any(strata.depends_on_group(text) for text in task.strata):
        return [tuple(task.strata)]
    return [texts for texts, _number in units_by_strata(task=task)]


def units_by_strata(*, task: Task) -> list[tuple[tuple[str, ...], int]]:
    """Each distinct set of strata of the units of a task that people judge, and its number of units."""
    units = units_for_people(task=task).order_by()
    if not any(strata.depends_on_group(text) for text in task.strata):
        return [(tuple(task.strata), units.count())]
    regions: Counter[str] = Counter()
    counts = units.values_list("association__group__region", "image__group__region").annotate(Count("pk"))
    for one, other, number in counts:
        regions[one or other or ""] += number
    return [
        (tuple(strata.resolve(text, region=region) for text in task.strata), regions[region])
        for region in sorted(region for region in regions if region)
    ]


def count_check_items(*, study: Study) -> int:
    """The number of gold items and attention checks of a study."""
    return Unit.objects.filter(task__study=study, purpose__in=[Purpose.GOLD, Purpose.ATTENTION]).count()
