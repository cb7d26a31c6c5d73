"""Which studies exist for who asks, and which runs: what is not theirs is not there."""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework.request import Request

from annotation import policies
from annotation.api.errors import Refused
from annotation.models import Study
from metrics import registry
from metrics.queries_pages import compare, pull_compare


def chosen(
    request: Request, study: Study, metric: registry.Metric, given: Mapping[str, str]
) -> dict[str, str]:
    """The parameters of `metric`, completed. Raises Refused for one that it has not, and for groups of people
    or another study that the account may not have told apart or see."""
    try:
        found = registry.parameters(metric, given)
    except ValueError as error:
        raise Refused(str(error)) from error
    if metric.name in compare.METRICS:
        _offered(request, study, found)
    if metric.name == pull_compare.METRIC:
        _embedded(request, study, found)
    check_groups(request, metric.name, found)
    return found


def check_groups(request: Request, metric: str, found: Mapping[str, str]) -> None:
    """Raises Refused for agreement of groups of annotators, unless an admin asks: a group can be one person.
    The page for leads leaves small groups out."""
    if metric == "agreement" and found["by"] != "none" and not policies.is_admin(request.user):
        raise Refused("by: agreement within and between groups of annotators is for admins.")


def _embedded(request: Request, study: Study, found: Mapping[str, str]) -> None:
    """Both sides of a comparison of pull must be of studies of one's own, unless one makes images."""
    led, every = policies.studies_led_by(request.user), policies.may_make_images(request.user)
    runs = pull_compare.visible(study, led, every=every)
    if not pull_compare.may_compare(found, runs, led):
        listed = ", ".join(str(run.pk) for run in runs) or "none"
        raise Refused(
            f"Pull is compared between studies, sets and runs of yours. There are the runs: {listed}."
        )


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


__all__ = ["check_groups", "chosen"]
