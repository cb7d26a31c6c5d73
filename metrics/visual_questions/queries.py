"""Shares of each answer by group, and whether groups get the same answers (PROTOCOL §12). Reads."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import IdentityGroup
from generation.models import Run
from metrics.core.group_labels import group_labels
from metrics.core.stats import bootstrap
from metrics.core.stats.checks import Ints
from metrics.core.stats.differences import false_discovery
from metrics.core.stats.image_shares import Share, shares_of_images
from metrics.visual_questions.data import (
    Published,
    counted_answers,
    groups_of,
    key_start,
    published,
    published_share,
    questions_of,
    times_of,
)
from metrics.visual_questions.question_file import EMPTY, OTHER, Question, counted
from metrics.visual_questions.stats import Homogeneity, homogeneity, homogeneity_of_images, wilson

MOST_SHOWN = 8
"""Answers to an open question that have a row of their own: the most frequent."""
_NAMES = {OTHER: "other answers", EMPTY: "empty answers"}


@dataclass(frozen=True)
class AnswerShare:
    """How many answers about images of a group are this one. `answer`: the answer, OTHER or EMPTY."""

    answer: str
    share: Share

    @property
    def name(self) -> str:
        """The answer, or what answers of this kind are called."""
        return _NAMES.get(self.answer, self.answer)


@dataclass(frozen=True)
class GroupRow:
    """The answers about images of one group: `shares` has every answer of the question, in its order. `key`:
    how the keys of its askings begin. `published`: the share of the question's `counts_for` in the paper."""

    group: IdentityGroup
    images: int
    shares: tuple[AnswerShare, ...]
    key: str
    published: float | None = None

    @property
    def n(self) -> int:
        return self.shares[0].share.n

    def of(self, answer: str) -> Share:
        return next(each.share for each in self.shares if each.answer == answer)


@dataclass(frozen=True)
class QuestionResult:
    """`counts_for`: the answer that stands for the question in tables of several: the published one, else the
    first of its answers, of an open question the most frequent. `q`: p corrected for all questions.
    `published`: what a paper prints for it."""

    question: Question
    answers: tuple[str, ...]
    counts_for: str
    groups: tuple[GroupRow, ...]
    test: Homogeneity | None
    q: float | None = None
    published: tuple[Published, ...] = ()

    @property
    def counts_for_name(self) -> str:
        return _NAMES.get(self.counts_for, self.counts_for)

    def labels(self) -> dict[int, str]:
        """What figures and sentences call the groups, by id."""
        return group_labels((row.group.pk, row.group.name, row.group.axis) for row in self.groups)

    def extremes(self) -> tuple[GroupRow, GroupRow]:
        """The groups with the largest and the smallest share of `counts_for`."""
        ordered = sorted(self.groups, key=lambda row: (-row.of(self.counts_for).value, row.group.name))
        return ordered[0], ordered[-1]


def results(run: Run, *, resamples: int | None = None, seed: int = 0) -> list[QuestionResult]:
    """What is answered so far, for each question that has an answer. Two queries.

    Intervals: Wilson's of images that were asked about once, else clustered by image, or from `resamples`."""
    questions, by_image = questions_of(run), times_of(run) > 1
    # question -> group -> image -> answer -> number; all images of a group are together if each is asked once
    found: dict[int, dict[int, dict[int | None, Counter[str]]]]
    found = defaultdict(lambda: defaultdict(lambda: defaultdict(Counter)))
    for each in counted_answers(run):
        answer = counted(each.text, questions[each.question].answers)
        found[each.question][each.group][each.image][answer] += each.number
    groups = groups_of({group for of_question in found.values() for group in of_question})
    rows = []
    for place in sorted(found):
        ordered = sorted(found[place].items(), key=lambda one: (groups[one[0]].name, groups[one[0]].axis))
        counts = {groups[group]: images for group, images in ordered}
        rows.append(
            _question(questions[place], place, counts, by_image=by_image, resamples=resamples, seed=seed)
        )
    q = false_discovery([row.test.p if row.test else float("nan") for row in rows])
    return [
        replace(row, q=None if row.test is None else float(each)) for row, each in zip(rows, q, strict=True)
    ]


def _question(
    question: Question,
    place: int,
    counts: dict[IdentityGroup, dict[int | None, Counter[str]]],
    *,
    by_image: bool,
    resamples: int | None,
    seed: int,
) -> QuestionResult:
    total: Counter[str] = Counter()
    for images in counts.values():
        for each in images.values():
            total.update(each)
    answers = _answers(question, total)
    named, papers = published(question)
    tables = {group: _table(images, answers) for group, images in counts.items()}
    rows = []
    for group, table in tables.items():
        if by_image:
            rng = bootstrap.generator(seed, f"{question.name}\n{group.axis}\n{group.name}")
            shares = shares_of_images(table, table.sum(axis=1), resamples=resamples, rng=rng)
        else:
            shares = [_wilson(int(k), int(table.sum())) for k in table.sum(axis=0)]
        rows.append(
            GroupRow(
                group=group,
                images=len(table) if by_image else int(table.sum()),
                shares=tuple(map(AnswerShare, answers, shares)),
                key=key_start(place, group.pk),
                published=published_share(group, papers),
            )
        )
    rng = bootstrap.generator(seed, question.name)
    if by_image:
        labels = np.repeat(np.arange(len(tables)), [len(table) for table in tables.values()])
        test = homogeneity_of_images(labels, np.concatenate(list(tables.values())), rng=rng)
    else:
        test = homogeneity(np.stack([table.sum(axis=0) for table in tables.values()]), rng=rng)
    return QuestionResult(
        question=question,
        answers=answers,
        counts_for=named or answers[0],
        groups=tuple(rows),
        test=test,
        published=tuple(papers),
    )


def _answers(question: Question, total: Counter[str]) -> tuple[str, ...]:
    """The answers with a row of their own, then OTHER and EMPTY if there are any."""
    own: Sequence[str] = question.answers
    if not own:
        worded = [(answer, number) for answer, number in total.items() if answer != EMPTY]
        own = [answer for answer, _ in sorted(worded, key=lambda one: (-one[1], one[0]))[:MOST_SHOWN]]
    left = set(total) - {*own, EMPTY}
    return (*own, *([OTHER] if left else []), *([EMPTY] if total[EMPTY] else []))


def _table(images: dict[int | None, Counter[str]], answers: Sequence[str]) -> Ints:
    """Shape (images, answers): how many answers of each kind each image has."""
    places = {answer: place for place, answer in enumerate(answers)}
    table = np.zeros((len(images), len(answers)), dtype=np.int64)
    for row, each in enumerate(images.values()):
        for answer, number in each.items():
            table[row, places.get(answer, places.get(OTHER, -1))] += number
    return table


def _wilson(k: int, n: int) -> Share:
    return Share(k, n, *wilson(k, n))
