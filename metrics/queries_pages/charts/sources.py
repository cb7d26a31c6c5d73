"""What the sources of figures share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.core.cache import cache
from django.urls import reverse

from annotation.models import Study
from metrics import figures, frames, queries, registry, scoring
from metrics.models import Score

_CACHE_SECONDS = 24 * 3600
_INTERVAL = ("name", "group", "part", "low", "high")

Interval = tuple[float, float]


class UnknownFigure(ValueError):
    """There is no such figure; the message names those there are."""


class NothingToDraw(ValueError):
    """The study has no answers that this figure could show."""


@dataclass(frozen=True)
class Source:
    """Where a figure comes from. `draw` takes the study and the options given, as text; it raises
    NothingToDraw, and ValueError naming an option that cannot be. `options`: name -> what it chooses.
    `choices`: of an option that takes one of a few values, which; the first is the default.
    `counterpart`: the published figure that this one answers to, `after` a paper where it was known what its
    figures are of but not which number is which; empty for a figure that is nobody's."""

    title: str
    draw: Callable[[Study, Mapping[str, str]], figures.Figure]
    options: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counterpart: str = ""


def evaluated(
    study: Study, metric: str, *, resamples: int = 0, parameters: Mapping[str, str] | None = None
) -> scoring.Evaluation:
    """The metric for today's answers: computed once for the same answers.

    `resamples` are for metrics of the catalogue, which does not grow with the answers.
    """
    entry = registry.get(metric)
    digest = frames.inputs_digest(study, entry, parameters)
    key = f"evaluation:{metric}:{entry.version}:{resamples}:{digest}"
    known: scoring.Evaluation | None = cache.get(key)
    if known is None:
        known = scoring.evaluate(
            study=study,
            metric=metric,
            variant="corrected",
            resamples=resamples,
            seed=0,
            parameters=parameters,
        )
        # An answer may have come between the two reads: the evaluation says whose digest it has.
        cache.set(f"evaluation:{metric}:{entry.version}:{resamples}:{known.digest}", known, _CACHE_SECONDS)
    return known


def intervals(study: Study, evaluation: scoring.Evaluation) -> dict[tuple[str, int | None, str], Interval]:
    """{(score, group, part): 95 % interval}, where a stored run counted the same answers.

    Intervals take a bootstrap, which a figure does not wait for; without a run the figure has none.
    """
    run = queries.newest_run(study, evaluation.metric, evaluation.variant)
    if run is None or run.digest != evaluation.digest:
        return {}
    rows = Score.objects.filter(run=run, attribute__isnull=True, low__isnull=False)
    return {(name, group, part): (low, high) for name, group, part, low, high in rows.values_list(*_INTERVAL)}


def titled(study: Study) -> str:
    """The study's title, which says that its answers are simulated, if they are."""
    return figures.titled(study.title, simulated=frames.holds_simulated(study))


def answers_of(study: Study) -> str:
    """Who gave the study's answers, as each row of a figure's data says."""
    return figures.given(simulated=frames.holds_simulated(study))


def group_link(study: Study, group_id: int) -> str:
    """The address of a group's page, for the field `link` of a figure's data."""
    return reverse("identity", args=[study.name, group_id])
