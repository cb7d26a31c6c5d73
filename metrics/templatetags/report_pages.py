"""Tags and filters of the pages of a report."""

import math

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from metrics.core.marks import Axis
from metrics.core.numbers import plain
from metrics.models import Score, ScoreRun
from metrics.score_runs import registry
from metrics.templatetags.scores import mark

register = template.Library()
_DIGITS = 3


def readable(value: float | None) -> str:
    """A number as tables show it: without decimals if it is whole and at least 2, else with three; ∞ and –
    as elsewhere."""
    whole = (
        value is not None and math.isfinite(value) and round(value, _DIGITS).is_integer() and abs(value) >= 2
    )
    return plain(value, 0 if whole else _DIGITS)


@register.simple_tag
def score_cell(score: Score | None, axis: Axis | None = None) -> SafeString:
    """A cell of a table with a score: its number and interval, and below them n and its mark on `axis`, if
    there is one. Not a template, since a report has many thousands of cells."""
    # where there is no such score, a template passes an empty text
    if not score:
        return mark_safe('<td class="number">–</td>')
    interval = ""
    if score.low is not None:
        ends = plain(score.low, _DIGITS), plain(score.high, _DIGITS)
        interval = format_html(' <span class="interval">[{}, {}]</span>', *ends)
    number = f"n = {intcomma(score.n)}"
    if score.k is not None:
        number = f"{intcomma(score.k)} / {intcomma(score.n)}"
    return format_html(
        '<td class="number">{}{} <span class="below"><span class="count">{}</span>{}</span></td>',
        readable(score.value),
        interval,
        number,
        mark(score, axis),
    )


@register.filter
def method_words(run: ScoreRun) -> str:
    """How the intervals of a run were computed, in English."""
    return registry.describe_method(run)


@register.filter
def pool_words(pool: str) -> str:
    """A pool of annotators: in-region, out-region or both."""
    words = {
        "in-region": gettext("in-region annotators"),
        "out-region": gettext("out-region annotators"),
        "both": gettext("both"),
    }
    return words[pool]
