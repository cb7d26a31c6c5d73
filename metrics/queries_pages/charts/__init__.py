"""From a study to its figures."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.models import Study
from metrics import figures
from metrics.queries_pages.charts import consensus, images, maps, pull, rankings, votes
from metrics.queries_pages.charts.consensus import consensus_bars
from metrics.queries_pages.charts.sources import NothingToDraw, Source, UnknownFigure
from metrics.registry import nearest

FIGURES: dict[str, Source] = {
    **maps.FIGURES,
    **consensus.FIGURES,
    **images.FIGURES,
    **pull.FIGURES,
    **rankings.FIGURES,
    **votes.FIGURES,
}


def figure(study: Study, name: str, options: Mapping[str, str] | None = None) -> figures.Figure:
    """The figure `name` of `study`, drawn with `options`.

    Raises UnknownFigure, NothingToDraw, and ValueError for an option that the figure does not have.
    """
    if name not in FIGURES:
        raise UnknownFigure(
            f"There is no figure '{name}'.{nearest(name, list(FIGURES))} There is: {', '.join(FIGURES)}."
        )
    source = FIGURES[name]
    for option in options or {}:
        if option not in source.options:
            there = f"It has: {', '.join(source.options)}." if source.options else "It has none."
            raise ValueError(f"Figure '{name}' has no option '{option}'. {there}")
    return source.draw(study, options or {})


__all__ = ["FIGURES", "NothingToDraw", "Source", "UnknownFigure", "consensus_bars", "figure"]
