"""Scores of today's answers for figures, which wait for no stored run."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.cache import cache

from annotation.models import Study
from metrics.models import Score
from metrics.score_runs import queries, registry
from metrics.score_runs.digests import inputs_digest
from metrics.score_runs.evaluation import Evaluation, evaluate

_CACHE_SECONDS = 24 * 3600
_INTERVAL = ("name", "group", "part", "low", "high")

Interval = tuple[float, float]


def cached_evaluation(
    study: Study, metric: str, *, resamples: int = 0, parameters: Mapping[str, str] | None = None
) -> Evaluation:
    """The metric for today's answers: computed once for the same answers.

    `resamples` are for metrics of the catalogue, which does not grow with the answers.
    """
    entry = registry.get(metric)
    digest = inputs_digest(study, entry, parameters)
    key = f"evaluation:{metric}:{entry.version}:{resamples}:{digest}"
    known: Evaluation | None = cache.get(key)
    if known is None:
        known = evaluate(
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


def intervals(study: Study, evaluation: Evaluation) -> dict[tuple[str, int | None, str], Interval]:
    """{(score, group, part): 95 % interval}, where a stored run counted the same answers.

    Intervals take a bootstrap, which a figure does not wait for; without a run the figure has none.
    """
    run = queries.newest_run(study, evaluation.metric, evaluation.variant)
    if run is None or run.digest != evaluation.digest:
        return {}
    rows = Score.objects.filter(run=run, attribute__isnull=True, low__isnull=False)
    return {(name, group, part): (low, high) for name, group, part, low, high in rows.values_list(*_INTERVAL)}
