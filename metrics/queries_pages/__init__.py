"""What the lead's pages read: one dataclass a page, the number of queries independent of the rows."""

from metrics.queries_pages.charts import FIGURES, NothingToDraw, UnknownFigure, figure
from metrics.queries_pages.gallery import Gallery, gallery
from metrics.queries_pages.history import history
from metrics.queries_pages.identities import IdentityRow, identities
from metrics.queries_pages.identity import IdentityPage, identity
from metrics.queries_pages.overview import Overview, Rule, overview

__all__ = [
    "FIGURES",
    "Gallery",
    "IdentityPage",
    "IdentityRow",
    "NothingToDraw",
    "Overview",
    "Rule",
    "UnknownFigure",
    "figure",
    "gallery",
    "history",
    "identities",
    "identity",
    "overview",
]
