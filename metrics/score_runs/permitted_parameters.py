"""Which parameters of a metric exist for who asks: what is not theirs is not there."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import User

from annotation.models import Study
from metrics.score_runs import registry
from metrics.score_runs.metric import Metric


def permitted_parameters(
    user: User, study: Study, metric: Metric, given: Mapping[str, str]
) -> dict[str, str]:
    """The parameters of `metric`, completed. Raises ValueError for one that it has not, and for groups of
    people or another study that the account may not have told apart or see."""
    found = registry.parameters(metric, given)
    metric.check_offered(user, study, found)
    metric.check_readable(user, found)
    return found
