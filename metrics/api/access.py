"""Which studies exist for who asks, and which runs: what is not theirs is not there."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.request import Request

from annotation import policies
from annotation.api.errors import Refused
from annotation.models import Study
from metrics import registry
from metrics.queries_pages import compare


def chosen(
    request: Request, study: Study, metric: registry.Metric, given: Mapping[str, str]
) -> dict[str, str]:
    """The parameters of `metric`, completed. Raises Refused for one that it has not, and for groups of people
    or another study that the account may not have told apart or see."""
    try:
        found = registry.parameters(metric, given)
    except ValueError as error:
        raise Refused(str(error)) from error
    if metric.name == compare.METRIC:
        _offered(request, study, found)
    if metric.name == "agreement" and found["by"] != "none" and not policies.is_admin(request.user):
        raise Refused("by: agreement within and between groups of annotators is for admins.")
    return found


def _offered(request: Request, study: Study, found: Mapping[str, str]) -> None:
    """A comparison must be one that the pages offer: with another study of one's own, or by groups of people
    so large that nobody can be told from them."""
    offers = [dict(each.parameters) for each in compare.choices(study, policies.studies_led_by(request.user))]
    said = {name: value for name, value in found.items() if value}
    if said not in offers:
        listed = "; ".join(", ".join(f"{name}={value}" for name, value in each.items()) for each in offers)
        raise Refused(
            f"This study cannot be compared with or by that. There is: {listed or 'nothing to compare'}."
        )


__all__ = ["chosen"]
