"""The figure of consensus on visual nature."""

from __future__ import annotations

from collections.abc import Mapping

from annotation import scales
from annotation.models import Study
from metrics import figures, frames
from metrics.queries_pages.charts.sources import NothingToDraw, Source, evaluated


def consensus_bars(study: Study) -> tuple[figures.Bar, ...]:
    """The consensus percentages (PROTOCOL §2) in the order of the scale; empty without any rating."""
    evaluation = evaluated(study, "consensus")
    bars = {
        row.name: (row.value, row.k or 0, row.n) for row in evaluation.rows if row.value is not None and row.n
    }
    return tuple(
        figures.Bar(label=label.name, percent=percent, k=k, n=n)
        for label in scales.VISUAL_NATURE
        for percent, k, n in [bars.get(label.name.lower().replace(" ", "_"), (None, 0, 0))]
        if percent is not None
    )


def _consensus(study: Study, options: Mapping[str, str]) -> figures.Figure:
    bars = consensus_bars(study)
    if not bars:
        raise NothingToDraw(f"Study '{study.name}' has no ratings of the visual nature of attributes yet.")
    return figures.consensus(bars, study=study.title, simulated=frames.holds_simulated(study))


FIGURES = {"consensus": Source("Consensus on the visual nature of attributes", _consensus, {})}
