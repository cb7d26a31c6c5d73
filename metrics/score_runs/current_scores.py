"""Scores of the present answers for figures, computed without a stored run."""

from collections.abc import Mapping

from django.core.cache import cache

from annotation.models import Study
from metrics.models import RunIntervals, Score
from metrics.score_runs import queries, registry
from metrics.score_runs.evaluation import Evaluation, choose_intervals, evaluate, inputs_digest

_CACHE_SECONDS = 24 * 3600
_INTERVAL = ("name", "group", "part", "low", "high")

Interval = tuple[float, float]


def cached_evaluation(
    study: Study, metric: str, *, with_intervals: bool = False, parameters: Mapping[str, str] | None = None
) -> Evaluation:
    """Evaluate the metric for the present answers; cached for the same answers. Use `with_intervals`, those
    of the study's choice, only for metrics of the catalogue, which does not grow with the answers."""
    entry = registry.get(metric)
    intervals = None if with_intervals else RunIntervals.NONE.value
    method = choose_intervals(study, entry, intervals=intervals)
    digest = inputs_digest(study, entry, parameters)
    kind = f"evaluation:{metric}:{entry.version}:{method.name}:{method.resamples}"
    key = f"{kind}:{digest}"
    known: Evaluation | None = cache.get(key)
    if known is None:
        known = evaluate(
            study=study,
            metric=metric,
            variant="corrected",
            parameters=parameters,
            intervals=intervals,
        )
        # Answers may have changed between the two reads: store it under the digest of what was evaluated.
        cache.set(f"{kind}:{known.digest}", known, _CACHE_SECONDS)
    return known


def intervals(study: Study, evaluation: Evaluation) -> dict[tuple[str, int | None, str], Interval]:
    """{(score, group, part): 95 % interval} from a stored run of the same answers, if there is one."""
    run = queries.run_with_intervals(study, evaluation.metric, evaluation.variant, evaluation.digest)
    if run is None:
        return {}
    rows = Score.objects.filter(run=run, attribute__isnull=True, low__isnull=False)
    return {(name, group, part): (low, high) for name, group, part, low, high in rows.values_list(*_INTERVAL)}
