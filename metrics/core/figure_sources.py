"""The type in which each room's `figures.py` declares its figures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.urls import reverse

from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.charts.figure import Figure, answered_by, marked_title


class UnknownFigure(ValueError):
    """There is no such figure. The message lists the figures."""


class NothingToDraw(ValueError):
    """The study has no answers for this figure."""


@dataclass(frozen=True)
class FigureSource:
    """A figure and how to draw it. `draw` takes the study and the options as text; it raises NothingToDraw,
    and ValueError for an invalid option. `options`: name -> meaning. `choices`: name -> allowed values, the
    default first, for options with few values. `counterpart`: the published figure that this one corresponds
    to; "after" a paper if only the subjects of its figures were known, not their numbers; empty if there is
    none."""

    title: str
    draw: Callable[[Study, Mapping[str, str]], Figure]
    options: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counterpart: str = ""


def study_title(study: Study) -> str:
    """The study's title, marked if some answers are simulated."""
    return marked_title(study.title, simulated=has_simulated_answers(study))


def answers_label(study: Study) -> str:
    """Who gave the study's answers, for each row of a figure's data."""
    return answered_by(simulated=has_simulated_answers(study))


def group_link(study: Study, group_id: int) -> str:
    """The URL of a group's page, for the field `link` of a figure's data."""
    return reverse("identity", args=[study.name, group_id])
