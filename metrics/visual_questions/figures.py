"""The figure of a question: the share of each answer by group."""

from generation.models import Run
from generation.recipes.recipes import FAKE
from metrics.core.charts.figure import Figure
from metrics.visual_questions.data import times_of
from metrics.visual_questions.queries import QuestionResult
from metrics.votes.charts import Dot, Plot, dot_chart


def question_figure(run: Run, found: QuestionResult) -> Figure:
    """One dot for each group and answer, with its interval. Of two possible answers only the first is drawn,
    unless others were given."""
    drawn = found.answers[:1] if len(found.answers) == 2 and found.question.answers else found.answers
    dots = [
        Dot(
            row=row.group.name,
            series=each.name,
            value=each.share.value,
            n=each.share.n,
            k=each.share.k,
            low=each.share.low if each.share.low == each.share.low else None,
            high=each.share.high if each.share.high == each.share.high else None,
        )
        for row in found.groups
        for each in row.shares
        if each.answer in drawn
    ]
    marked = " – simulated answers" if run.backend == FAKE else ""
    several = times_of(run) > 1
    axis = "share of answers" if several else "share of images"
    if len(drawn) == 1:
        axis += f" with the answer “{dots[0].series}”"
    intervals = "from resamples of images" if several else "after Wilson"
    plot = Plot(
        name=f"question-{found.question.name}",
        title=found.question.text,
        subtitle=(f"{run.model}{marked}; run {run.name}",),
        axis_title=axis,
        row_title="Group",
        n_title="Answers" if several else "Images",
        unit="share",
        notes=(f"95 % intervals {intervals}. An answer says nothing about the person in the picture.",),
    )
    return dot_chart(dots, plot)
