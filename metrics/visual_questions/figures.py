"""The figure of a question: the share of each answer by group."""

from generation.models import Run
from generation.recipes.recipes import FAKE
from metrics.core.charts.figure import COLOURS, Figure
from metrics.visual_questions.data import times_of
from metrics.visual_questions.queries import AnswerShare, QuestionResult
from metrics.votes.charts import Dot, Plot, dot_chart

MOST_LANES = 4
"""Answers that have a lane beside each other in the row of a group."""


def question_figure(run: Run, found: QuestionResult) -> Figure:
    """A dot for each group and answer, with its interval. Rows are groups, of questions with many answers
    these. Of two possible answers, and of many answers about many groups, one is drawn."""
    drawn = _drawn(found)
    by_answer = len(drawn) > MOST_LANES
    labels = found.labels()
    dots = [
        _dot(labels[row.group.pk], each, by_answer=by_answer)
        for answer in drawn
        for row in found.groups
        for each in row.shares
        if each.answer == answer
    ]
    if not by_answer:
        places = {labels[row.group.pk]: place for place, row in enumerate(found.groups)}
        dots.sort(key=lambda dot: places[dot.row])
    several = times_of(run) > 1
    axis = "share of answers" if several else "share of images"
    if len(drawn) == 1:
        axis += f" with the answer “{dots[0].series}”"
    intervals = ", clustered by image" if several else " after Wilson"
    plot = Plot(
        name=f"question-{found.question.name}",
        title=found.question.text,
        subtitle=(f"{run.model}{' – simulated answers' if run.backend == FAKE else ''}; run {run.name}",),
        axis_title=axis,
        row_title="Answer" if by_answer else "Group",
        n_title="Answers" if several else "Images",
        unit="share",
        notes=(f"95 % intervals{intervals}. An answer says nothing about the person in the picture.",),
    )
    return dot_chart(dots, plot)


def _drawn(found: QuestionResult) -> tuple[str, ...]:
    if len(found.answers) == 2 and found.question.answers:
        return (found.counts_for,)
    if len(found.answers) > MOST_LANES and len(found.groups) > len(COLOURS):
        return (found.counts_for,)
    return found.answers


def _dot(group: str, each: AnswerShare, *, by_answer: bool) -> Dot:
    share = each.share
    return Dot(
        row=each.name if by_answer else group,
        series=group if by_answer else each.name,
        value=share.value,
        n=share.n,
        k=share.k,
        low=None if share.low != share.low else share.low,
        high=None if share.high != share.high else share.high,
    )
