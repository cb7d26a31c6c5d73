"""Runs that ask questions about images, and their answers, counted (PROTOCOL §12)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, IntegerField, QuerySet, Value
from django.db.models.functions import Cast, Left, StrIndex

from annotation.models import IdentityGroup
from generation.models import Answer, Run, RunKind
from metrics.core.published_tables import published_rows
from metrics.core.purposes import VISUAL_QUESTIONS
from metrics.visual_questions.question_file import Question, of_design

LONGEST = 200
"""Characters of an answer that are looked at."""


@dataclass(frozen=True, slots=True)
class Counted:
    """`number` answers with this text to the question at this place, about images of one group; about one
    image if the run asks several times, else `image` is None."""

    question: int
    group: int
    image: int | None
    text: str
    number: int


@dataclass(frozen=True)
class Published:
    """What a paper prints for one group."""

    group: str
    names: tuple[str, ...]
    share: float
    model: str


def question_runs() -> QuerySet[Run]:
    """The runs that ask questions about images, newest first."""
    return Run.objects.filter(kind=RunKind.DESCRIPTIONS, recipe__design__purpose=VISUAL_QUESTIONS)


def questions_of(run: Run) -> tuple[Question, ...]:
    return tuple(of_design(each) for each in run.recipe["design"]["questions"])


def times_of(run: Run) -> int:
    """How often each image is asked each question."""
    return int(run.recipe.get("times", 1))


def asking_key(question: int, group: int, image: int) -> str:
    """The key of an asking: the question's place and two ids. `key_start` begins those of one group."""
    return f"{key_start(question, group)}{image}"


def key_start(question: int, group: int) -> str:
    return f"{question}.{group}."


def counted_answers(run: Run) -> Iterator[Counted]:
    """The answers of a run, counted by question, group and text. One query."""
    dot = StrIndex("job__key", Value("."))
    by_image = times_of(run) > 1
    rows = (
        Answer.objects.filter(run=run)
        .order_by()
        .annotate(place=Cast(Left("job__key", dot - 1), IntegerField()), start=Left("text", LONGEST))
        .values_list("place", "job__group", *(["job__image"] if by_image else []), "start")
        .annotate(number=Count("pk"))
    )
    for place, group, *image, text, number in rows.iterator():
        yield Counted(place, group, image[0] if image else None, text, number)


def groups_of(ids: set[int]) -> dict[int, IdentityGroup]:
    return IdentityGroup.objects.in_bulk(ids)


def published(question: Question) -> tuple[str, list[Published]]:
    """The answer that a paper counts to this question, and its numbers; none for other questions."""
    found: list[Published] = []
    answer = ""
    for row in published_rows("american_white_visual_questions.csv"):
        if row["question"].casefold() == question.text.casefold() and row["answer"] in question.answers:
            answer = row["answer"]
            names = tuple(name.casefold() for name in row["names"].split(";"))
            found.append(Published(row["group"], names, float(row["share"]), row["model"]))
    return answer, found


def published_share(group: IdentityGroup, rows: list[Published]) -> float | None:
    """What the paper prints for a group of this name; None if it has none."""
    names: set[Any] = {group.name.casefold(), group.demonym.strip().casefold()}
    return next((row.share for row in rows if names & {*row.names}), None)
