"""The metrics of machine judges."""

from metrics.machine_judges.scores import agreement, alternative, combined, judged
from metrics.score_runs.metric import Metric

METRICS: tuple[Metric, ...] = (
    *agreement.METRICS,
    *judged.METRICS,
    *alternative.METRICS,
    *combined.METRICS,
)
