"""The metrics that a study can have scores of."""

from collections.abc import Iterable

from annotation.models import Study, TaskKind
from metrics.score_runs import registry
from metrics.score_runs.metric import Metric


def applicable(study: Study, names: Iterable[str]) -> list[str]:
    """Those of the metrics `names` for which `study` has what they are computed from: a task, a stereotype
    source, captions or embeddings. One query for the tasks unless prefetched, and a few for each metric of
    captions or embeddings. Raises ValueError for an unknown metric."""
    kinds = {task.kind for task in study.tasks.all()}
    return [name for name in names if _applies(study, registry.get(name), kinds)]


def _applies(study: Study, metric: Metric, kinds: set[str]) -> bool:
    if metric.source == "answers":
        return metric.task in kinds
    if metric.source == "ratings":
        return bool(kinds)
    if metric.source == "votes":
        return study.stereotype_source_id is not None
    return TaskKind.DEPICTION in kinds and _has_inputs(study, metric)


def _has_inputs(study: Study, metric: Metric) -> bool:
    try:
        metric.check_inputs(study, registry.parameters(metric))
    except ValueError:
        return False
    return True
