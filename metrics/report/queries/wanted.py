"""The metrics that a report has."""

from annotation.models import Study
from metrics.models import Variant
from metrics.report.queries.runs import may_be_reported
from metrics.score_runs import registry
from metrics.score_runs.applicable import applicable
from metrics.score_runs.queries import ScoreRequest


def applies(study: Study, name: str) -> bool:
    """Whether `study` has what the metric is computed from. A few queries at most."""
    return bool(applicable(study, [name]))


def wanted_scores(study: Study) -> list[ScoreRequest]:
    """What to compute for a report: every metric that applies and needs no choice, such as of another study
    to compare with."""
    names = [
        metric.name
        for metric in registry.metrics()
        if may_be_reported(metric) and all(parameter.default for parameter in metric.parameters)
    ]
    return [(name, Variant.CORRECTED.value, {}) for name in applicable(study, names)]
