"""All metrics, in listing order. A new measure is a new room and a line here."""

from metrics.agreement import registry as agreement
from metrics.captions import registry as captions
from metrics.comparisons import ranking_scores
from metrics.comparisons import registry as comparisons
from metrics.depiction import registry as depiction
from metrics.depiction import sensitivity_scores
from metrics.league import registry as league
from metrics.machine_judges.scores import registry as machine_judges
from metrics.pull import registry as pull
from metrics.score_runs.metric import Metric
from metrics.visual_nature import registry as visual_nature
from metrics.votes import registry as votes

METRICS: tuple[Metric, ...] = (
    *depiction.METRICS,
    *sensitivity_scores.METRICS,
    *comparisons.METRICS,
    *ranking_scores.METRICS,
    *league.METRICS,
    *visual_nature.METRICS,
    *captions.METRICS,
    *pull.METRICS,
    *votes.METRICS,
    *agreement.METRICS,
    *machine_judges.METRICS,
)
