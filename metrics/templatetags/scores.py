"""Filters that format scores: ∞ for infinite, – for undefined."""

import math
import re

from django import template
from django.utils.translation import gettext, gettext_noop, ngettext

from annotation.models import TaskKind
from metrics.dashboards.queries.overview import VisualRule
from metrics.models import Score
from metrics.score_runs import registry

# The first clauses of `Metric.clustering`.
CLUSTERINGS = (
    gettext_noop("annotators of the attribute"),
    gettext_noop("associations"),
    gettext_noop("associations and annotators"),
    gettext_noop("attributes"),
    gettext_noop("attributes and annotators"),
    gettext_noop("images (or whatever a unit is about) and annotators"),
    gettext_noop("images and annotators"),
    gettext_noop("images of all groups"),
    gettext_noop("images of the group"),
    gettext_noop("prompts with their images"),
)

register = template.Library()
UNDEFINED = "–"


@register.filter
def plain(value: float | None, digits: int = 2) -> str:
    """A number with `digits` decimals; ∞ for infinity, – for undefined."""
    if value is None or math.isnan(value):
        return UNDEFINED
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}".replace("-", "−")


@register.filter
def per_cent(share: float | None) -> str:
    """A share from 0 to 1 as a percentage; – for undefined."""
    return UNDEFINED if share is None else f"{100 * share:.0f} %"


@register.filter
def score_value(score: Score | None, digits: int = 2) -> str:
    # where there is no such score, a template passes an empty text
    return plain(score.value if score else None, digits)


@register.filter
def interval(score: Score | None, digits: int = 2) -> str:
    """The score's 95 % interval, e.g. '[0.12, 0.31]'; empty if it has none."""
    if score is None or score.low is None or score.high is None:
        return ""
    return f"[{plain(score.low, digits)}, {plain(score.high, digits)}]"


@register.filter
def sort_key(score: Score | None) -> str:
    """The value with all digits, for sorting in the browser; empty if undefined."""
    return "" if score is None or score.value is None else repr(score.value)


@register.filter
def coordinate(value: float) -> str:
    """A length in pixels for SVG, without a decimal comma or thousands separator, which would break the
    picture."""
    return f"{value:.1f}".removesuffix(".0")


@register.filter
def hours(value: float) -> str:
    """A duration in hours, rounded to minutes, hours or days."""
    if value < 1:
        number = max(1, round(60 * value))
        return ngettext("about %(n)d minute", "about %(n)d minutes", number) % {"n": number}
    if value < 48:
        number = round(value)
        return ngettext("about %(n)d hour", "about %(n)d hours", number) % {"n": number}
    number = round(value / 24)
    return ngettext("about %(n)d day", "about %(n)d days", number) % {"n": number}


@register.filter
def metric_title(name: str) -> str:
    """The title of a metric."""
    return registry.get(name).title


@register.filter
def clustering(name: str) -> str:
    """What the clustered intervals of a metric are of: the first clause of `Metric.clustering`."""
    return gettext(first_clause(registry.get(name).clustering))


def first_clause(text: str) -> str:
    return re.split("[,;]", text, maxsplit=1)[0]


@register.filter
def span(value: int) -> str:
    """A whole number of hours in hours or days."""
    if value % 24:
        return ngettext("%(n)d hour", "%(n)d hours", value) % {"n": value}
    return ngettext("%(n)d day", "%(n)d days", value // 24) % {"n": value // 24}


@register.filter
def agreement_part(part: str) -> str:
    """The label of a part such as 'task: depiction; reading: nominal'."""
    fields = dict(each.split(": ", 1) for each in part.split("; "))
    levels = {"nominal": gettext("nominal"), "ordinal": gettext("ordinal"), "interval": gettext("interval")}
    return f"{gettext(str(TaskKind(fields['task']).label))}, {levels[fields['reading']]}"


@register.filter
def people(group: str) -> str:
    """The label of a group of annotators: profile answers in quotes, the pools and missing answers in
    words."""
    labels = {
        "in-region": gettext("in-region annotators"),
        "out-region": gettext("out-region annotators"),
        "neither pool": gettext("annotators in neither pool"),
        "not stated": gettext("annotators who did not say"),
    }
    return labels.get(group, f"“{group}”")


@register.filter
def rule_words(rule: VisualRule) -> str:
    """A rule for 'visual' in words."""
    if rule.mean is not None:
        return gettext("mean score of at least %(mean)s") % {"mean": f"{rule.mean:g}"}
    if rule.least is None:
        return gettext("all who rated it chose Agree or Strongly agree")
    text = gettext("at least %(least)d of %(of)d chose Agree or Strongly agree")
    return text % {"least": rule.least, "of": rule.of}
