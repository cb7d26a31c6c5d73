"""The figure of a machine judge: its agreement with people beside that of people with each other."""

from collections.abc import Iterator

from generation.models import Run
from generation.recipes.recipes import FAKE
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import NothingToDraw
from metrics.machine_judges.queries.results import AgreementRow, Results
from metrics.votes.charts import Dot, Plot, dot_chart

FIGURES = ("agreement",)
MOST_GROUPS = 40
"""Identity groups that are drawn: those with the lowest differences."""
_SERIES = {"judge_percentage": "judge with people", "people_percentage": "people with each other"}


def agreement_figure(run: Run, found: Results, *, study: str) -> Figure:
    """A dot with its interval for each of _SERIES: of everything, regions, groups of annotators and identity
    groups. `study`: its title, marked if answers of people are simulated. Raises NothingToDraw without
    scores."""
    dots = [dot for label, row in _rows(found) for dot in _dots(label, row)]
    if not dots:
        raise NothingToDraw(f"There are no scores of the machine judge '{run.name}' yet.")
    simulated = ", simulated judge" if run.backend == FAKE else ""
    left_out = len(found.groups) - MOST_GROUPS
    notes = [
        "95 % intervals.",
        "A judge that agrees with a majority has not heard those who differ.",
        *([f"Identity groups with higher differences are left out: {left_out}."] if left_out > 0 else []),
    ]
    plot = Plot(
        name="judge-agreement",
        title="Agreement of a machine judge with people",
        subtitle=(study, f"{run.model}{simulated}; judge {run.name}"),
        axis_title="pairs of answers about one item that are equal",
        row_title="About",
        n_title="Pairs of answers",
        unit="share",
        notes=tuple(notes),
    )
    return dot_chart(dots, plot)


def _rows(found: Results) -> Iterator[tuple[str, AgreementRow]]:
    if found.overall is not None:
        yield "All items", found.overall
    for row in found.places:
        if row.region and not row.annotators:
            yield f"Region: {row.region}", row
    for row in found.places:
        if row.annotators:
            region = f", {row.region}" if row.region else ""
            yield f"Annotators: {row.annotators}{region}", row
    for row in found.groups[:MOST_GROUPS]:
        assert row.group is not None
        yield f"Group: {row.group.name}", row


def _dots(label: str, row: AgreementRow) -> Iterator[Dot]:
    for name, series in _SERIES.items():
        score = row.scores.get(name)
        if score is None or score.value is None:
            continue
        low, high = (None if end is None else end / 100 for end in (score.low, score.high))
        yield Dot(label, series, score.value / 100, score.n, score.k, low, high)
