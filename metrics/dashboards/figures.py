"""All figures, and how to draw one of a study. A room with figures adds a line to FIGURES."""

from collections.abc import Mapping

from annotation.models import Study
from metrics.captions import figures as captions
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import FigureSource, UnknownFigure
from metrics.core.suggestions import did_you_mean
from metrics.depiction.figures import annotated_image, maps
from metrics.pull import figures as pull
from metrics.visual_nature import figures as visual_nature
from metrics.votes import figures as votes

FIGURES: dict[str, FigureSource] = {
    **maps.FIGURES,
    **visual_nature.FIGURES,
    **annotated_image.FIGURES,
    **pull.FIGURES,
    **captions.FIGURES,
    **votes.FIGURES,
}


def draw_figure(study: Study, name: str, options: Mapping[str, str] | None = None) -> Figure:
    """The figure `name` of `study`, drawn with `options`.

    Raises UnknownFigure, NothingToDraw, and ValueError for an option that the figure does not have.
    """
    if name not in FIGURES:
        raise UnknownFigure(
            f"There is no figure '{name}'.{did_you_mean(name, list(FIGURES))} "
            f"Available: {', '.join(FIGURES)}."
        )
    source = FIGURES[name]
    for option in options or {}:
        if option not in source.options:
            available = f"It has: {', '.join(source.options)}." if source.options else "It has none."
            raise ValueError(f"Figure '{name}' has no option '{option}'. {available}")
    return source.draw(study, options or {})
