"""Figures: one Vega-Lite specification each, drawn in the page and exported for a paper (DESIGN §7)."""

from metrics.figures.answers import given, titled
from metrics.figures.base import CONTENT_TYPES, Figure, UnknownFormat, check_format, render
from metrics.figures.consensus import Bar, consensus
from metrics.figures.dots import Dot, Plot, Unit, dots
from metrics.figures.images import Drawn, annotated_image
from metrics.figures.maps import Placed, Words, world_map
from metrics.figures.pull import Published, Pulled, Ranged, pull
from metrics.figures.rankings import Panel, Ranked, Said, rankings

__all__ = [
    "CONTENT_TYPES",
    "Bar",
    "Dot",
    "Drawn",
    "Figure",
    "Panel",
    "Placed",
    "Plot",
    "Published",
    "Pulled",
    "Ranged",
    "Ranked",
    "Said",
    "Unit",
    "UnknownFormat",
    "Words",
    "annotated_image",
    "check_format",
    "consensus",
    "dots",
    "given",
    "pull",
    "rankings",
    "render",
    "titled",
    "world_map",
]
