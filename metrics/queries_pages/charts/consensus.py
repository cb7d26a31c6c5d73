"""The figure of consensus on visual nature."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.core import scales
from annotation.models import Study
from metrics import figures, frames
from metrics.queries_pages.charts.sources import NothingToDraw, Source, evaluated, intervals


def consensus_bars(study: Study) -> tuple[figures.Bar, ...]:
    """The consensus percentages (PROTOCOL §2) in the order of the scale; empty without any rating.

    With the intervals of a stored run, if one counted the same answers."""
    evaluation = evaluated(study, "consensus")
    ranges = intervals(study, evaluation)
    found = {row.name: row for row in evaluation.rows if row.value is not None and row.n}
    bars = []
    for label in scales.VISUAL_NATURE:
        row = found.get(label.name.lower().replace(" ", "_"))
        if row is not None and row.value is not None:
            low, high = ranges.get((row.name, None, ""), (None, None))
            bars.append(figures.Bar(label.name, row.value, row.k or 0, row.n, low, high))
    return tuple(bars)


def _consensus(study: Study, options: Mapping[str, str]) -> figures.Figure:
    bars = consensus_bars(study)
    if not bars:
        raise NothingToDraw(f"Study '{study.name}' has no ratings of the visual nature of attributes yet.")
    return figures.consensus(bars, study=study.title, simulated=frames.holds_simulated(study))


FIGURES = {
    "consensus": Source(
        "Consensus on the visual nature of attributes", _consensus, {}, counterpart="ViSAGe, figure 6"
    )
}
