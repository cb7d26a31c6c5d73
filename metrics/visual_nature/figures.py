"""The figure of consensus on visual nature."""

from collections.abc import Mapping

from annotation.core import scales
from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import FigureSource, NothingToDraw
from metrics.score_runs.current_scores import cached_evaluation, intervals
from metrics.visual_nature.charts import Bar, consensus_chart


def consensus_bars(study: Study) -> tuple[Bar, ...]:
    """The consensus percentages (PROTOCOL §2) in the order of the scale; empty without ratings.

    Has the intervals of a stored run of the same answers, if there is one."""
    evaluation = cached_evaluation(study, "consensus")
    ranges = intervals(study, evaluation)
    found = {row.name: row for row in evaluation.rows if row.value is not None and row.n}
    bars = []
    for label in scales.VISUAL_NATURE:
        row = found.get(label.name.lower().replace(" ", "_"))
        if row is not None and row.value is not None:
            low, high = ranges.get((row.name, None, ""), (None, None))
            bars.append(Bar(label.name, row.value, row.k or 0, row.n, low, high))
    return tuple(bars)


def _consensus(study: Study, options: Mapping[str, str]) -> Figure:
    bars = consensus_bars(study)
    if not bars:
        raise NothingToDraw(f"Study '{study.name}' has no ratings of the visual nature of attributes yet.")
    return consensus_chart(bars, study=study.title, simulated=has_simulated_answers(study))


FIGURES = {
    "consensus": FigureSource(
        "Consensus on the visual nature of attributes", _consensus, {}, counterpart="ViSAGe, figure 6"
    )
}
