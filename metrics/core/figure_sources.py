"""Where figures come from: what every room says of its own (`figures.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.urls import reverse

from annotation.models import Study
from metrics.core.answers import has_simulated_answers
from metrics.core.charts.figure import Figure
from metrics.core.charts.titles import answered_by, marked_title


class UnknownFigure(ValueError):
    """There is no such figure; the message names those there are."""


class NothingToDraw(ValueError):
    """The study has no answers that this figure could show."""


@dataclass(frozen=True)
class FigureSource:
    """Where a figure comes from. `draw` takes the study and the options given, as text; it raises
    NothingToDraw, and ValueError naming an option that cannot be. `options`: name -> what it chooses.
    `choices`: of an option that takes one of a few values, which; the first is the default.
    `counterpart`: the published figure that this one answers to, `after` a paper where it was known what its
    figures are of but not which number is which; empty for a figure that is nobody's."""

    title: str
    draw: Callable[[Study, Mapping[str, str]], Figure]
    options: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counterpart: str = ""


def study_title(study: Study) -> str:
    """The study's title, which says that its answers are simulated, if they are."""
    return marked_title(study.title, simulated=has_simulated_answers(study))


def answers_label(study: Study) -> str:
    """Who gave the study's answers, as each row of a figure's data says."""
    return answered_by(simulated=has_simulated_answers(study))


def group_link(study: Study, group_id: int) -> str:
    """The address of a group's page, for the field `link` of a figure's data."""
    return reverse("identity", args=[study.name, group_id])
