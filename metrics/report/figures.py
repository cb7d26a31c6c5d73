"""The figures of a report: only those whose numbers are the stored scores that it shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from annotation.models import Study
from metrics.core.charts.figure import Figure
from metrics.core.figure_sources import NothingToDraw
from metrics.dashboards.figures import FIGURES, draw_figure
from metrics.report.queries.runs import Runs, StoredRun
from metrics.report.queries.wanted import applies
from metrics.report.refused import FEW, OUTDATED


@dataclass(frozen=True)
class Wanted:
    """A figure with its options. `needs`: the metrics whose scores it draws; of each entry, the first that
    the study can have."""

    name: str
    figure: str
    needs: tuple[tuple[str, ...], ...]
    options: Mapping[str, str] = field(default_factory=dict)


_VOTES = (("stereotypes", "prevalence"),)
_RATINGS = (("attribute_offensiveness", "rated_offensiveness"),)
_STEREOTYPES = (("likelihood",), ("visual_nature",))
WANTED = (
    Wanted("map-likely", "map-stereotypes", (*_STEREOTYPES, ("tendency",)), {"show": "likely"}),
    Wanted("map-stereotypes", "map-stereotypes", _STEREOTYPES),
    Wanted("map-offensiveness", "map-offensiveness", (("offensiveness",),)),
    Wanted("top-attributes", "top-attributes", (("likelihood",), ("salience",))),
    Wanted("consensus", "consensus", (("consensus",),)),
    Wanted("visual-rules", "visual-rules", (("visual_rules",),)),
    Wanted("pull", "pull", (("pull",),)),
    Wanted("thresholds", "thresholds", _VOTES),
    Wanted("pools", "pools", _VOTES),
    Wanted("offensiveness-regions", "offensiveness-regions", _RATINGS),
    Wanted("offensive-groups", "offensive-groups", _RATINGS),
    Wanted("salient", "salient", (("salience_seegull",),)),
    Wanted("salience-regions", "salience-regions", (("salience_seegull",),)),
)
"""All figures but those of single images: these show the boxes of single people."""


@dataclass(frozen=True)
class Drawn:
    wanted: Wanted
    figure: Figure

    @property
    def file(self) -> str:
        return f"figures/{self.wanted.name}.svg"


@dataclass(frozen=True)
class NotDrawn:
    """A figure that the study has, but not from scores that may be shown: OUTDATED or FEW."""

    title: str
    reason: str


def draw_figures(study: Study, runs: Runs) -> tuple[list[Drawn], list[NotDrawn]]:
    """A figure reads the present answers, so it is drawn only if its scores are shown, and completely. What
    the study has no scores for at all is not listed."""
    drawn: list[Drawn] = []
    not_drawn: list[NotDrawn] = []
    shown = {stored.slug: stored for stored in runs.shown}
    for wanted in WANTED:
        names = [next(filter(lambda name: applies(study, name), needs), None) for needs in wanted.needs]
        needed = [name for name in names if name is not None]
        if not any(name in shown for name in needed):
            continue
        reason = _why_not([shown.get(name) for name in needed])
        title = FIGURES[wanted.figure].title
        if reason:
            not_drawn.append(NotDrawn(title, reason))
            continue
        try:
            drawn.append(Drawn(wanted, draw_figure(study, wanted.figure, wanted.options)))
        except NothingToDraw:
            continue
    # variants of a figure have one title
    return drawn, list(dict.fromkeys(not_drawn))


def _why_not(needed: list[StoredRun | None]) -> str:
    if any(stored is None for stored in needed):
        return OUTDATED
    if any(stored is not None and stored.n_left_out for stored in needed):
        return FEW
    return ""
