"""Scores of the present answers for figures, computed without a stored run."""

from collections.abc import Mapping

from django.core.cache import cache

from annotation.models import Study
from metrics.models import Score
from metrics.score_runs import queries, registry
from metrics.score_runs.evaluation import Evaluation, evaluate, inputs_digest

_CACHE_SECONDS = 24 * 3600
_INTERVAL = ("name", "group", "part", "low", "high")

Interval = tuple[float, float]


def cached_evaluation(
    study: Study, metric: str, *, resamples: int = 0, parameters: Mapping[str, str] | None = None
) -> Evaluation:
    """Evaluate the metric for the present answers; cached for the same answers. Use `resamples` only for
    metrics of the catalogue, which does not grow with the answers."""
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
        # Answers may have changed between the two reads: store it under the digest of what was evaluated.
        cache.set(f"evaluation:{metric}:{entry.version}:{resamples}:{known.digest}", known, _CACHE_SECONDS)
    return known


def intervals(study: Study, evaluation: Evaluation) -> dict[tuple[str, int | None, str], Interval]:
    """{(score, group, part): 95 % interval} from a stored run of the same answers, if there is one."""
    run = queries.newest_run(study, evaluation.metric, evaluation.variant)
    if run is None or run.digest != evaluation.digest:
        return {}
    rows = Score.objects.filter(run=run, attribute__isnull=True, low__isnull=False)
    return {(name, group, part): (low, high) for name, group, part, low, high in rows.values_list(*_INTERVAL)}
