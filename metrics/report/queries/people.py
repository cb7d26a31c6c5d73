"""How many people answered, by task and by what they say of themselves: groups only, so that nobody can be
found, also not by subtracting what is shown from a total."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils.functional import Promise

from annotation.models import ProfileAnswer, Response, Study
from annotation.participation.profile_fields import FIELDS
from metrics.core.annotator_groups import MIN_GROUP_SIZE

_FIELDS = tuple(field for field in FIELDS if field.choices)
_KIND = "unit__task__kind"


@dataclass(frozen=True)
class Answers:
    """The counted answers to one kind of task, one or more. `people`: how many gave them, as far as they are
    known; `unknown`: how many answers have no annotator, as in an imported release; each stands for one
    person."""

    number: int
    people: int
    unknown: int

    @property
    def are_few(self) -> bool:
        """Whether so few people answered that a number could be somebody's own answer."""
        return self.people + self.unknown < MIN_GROUP_SIZE


@dataclass(frozen=True)
class Part:
    """A group of people, and how many they are. `label` None: all others, and those who did not say."""

    label: str | Promise | None
    number: int


@dataclass(frozen=True)
class ProfileCount:
    """How the people answered one question of the profile, the largest group first."""

    label: str | Promise
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class People:
    """Who answered. `number` None: not known. `first` and `last`: the months, as the first day of each."""

    number: int | None
    first: date | None
    last: date | None
    profile: tuple[ProfileCount, ...]


def counted(study: Study) -> QuerySet[Response]:
    """The answers that count in scores, to tasks of every kind."""
    return Response.objects.filter(
        unit__task__study=study, current=True, withdrawn_at__isnull=True, slot__isnull=False
    ).order_by()


def answers_by_task(study: Study) -> dict[str, Answers]:
    """{kind of task: its counted answers}. One query over the answers."""
    found = counted(study).values(_KIND).annotate(number=Count("pk"), **_of_people())
    return {row[_KIND]: Answers(row["number"], row["people"], row["unknown"]) for row in found}


def _of_people() -> dict[str, Count]:
    return {
        "people": Count("annotator", distinct=True),
        "unknown": Count("pk", filter=Q(annotator__isnull=True)),
    }


def read_people(study: Study) -> People:
    """Who gave the counted answers. Of the profile, only choices that people permit to be published; three
    queries."""
    rows = counted(study)
    span = rows.aggregate(first=Min("submitted_at"), last=Max("submitted_at"), **_of_people())
    number = span["people"] if span["people"] >= MIN_GROUP_SIZE and not span["unknown"] else None
    return People(
        number=number,
        first=_month(span["first"]),
        last=_month(span["last"]),
        profile=() if number is None else tuple(_profile(rows, number)),
    )


def _month(moment: datetime | None) -> date | None:
    return None if moment is None else date(moment.year, moment.month, 1)


def _profile(rows: QuerySet[Response], number: int) -> list[ProfileCount]:
    answers = ProfileAnswer.objects.filter(
        annotator__in=rows.values("annotator"),
        field__in=[field.name for field in _FIELDS],
        may_publish=True,
        self_described=False,
    )
    by_field: dict[str, Counter[str]] = {field.name: Counter() for field in _FIELDS}
    for name, value in answers.order_by().values_list("field", "value"):
        by_field[name][value] += 1
    found = []
    for field in _FIELDS:
        labels = dict(field.choices)
        said = {value: count for value, count in by_field[field.name].items() if value in labels}
        shown, others = merge_small(said, number - sum(said.values()), least=MIN_GROUP_SIZE)
        if shown:
            parts = [Part(labels[value], count) for value, count in shown.items()]
            found.append(ProfileCount(field.label, (*parts, *([Part(None, others)] if others else []))))
    return found


def merge_small(counts: Mapping[str, int], others: int, *, least: int) -> tuple[dict[str, int], int]:
    """The groups of at least `least` people, the largest first, and the number of all others. The others are
    at least `least` too, or nobody: if fewer would be left, the smallest group joins them.

    Examples
    --------
    >>> merge_small({"a": 5, "b": 3, "c": 1}, 0, least=3)
    ({'a': 5}, 4)
    >>> merge_small({"a": 5, "b": 4}, 0, least=3)
    ({'a': 5, 'b': 4}, 0)
    >>> merge_small({"a": 3}, 1, least=3)
    ({}, 4)
    """
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    shown = [one for one in ordered if one[1] >= least]
    others += sum(count for _, count in ordered if count < least)
    if 0 < others < least and shown:
        others += shown.pop()[1]
    return dict(shown), others
