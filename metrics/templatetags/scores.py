"""Filters that format scores: ∞ for infinite, – for undefined."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop, ngettext

from metrics.agreement.queries import part_in_words
from metrics.core.marks import KIND_OF, Axis, Numbers, scaled_axis
from metrics.core.numbers import UNDEFINED, plain
from metrics.models import Score
from metrics.score_runs import registry
from metrics.visual_nature.visual_rule import in_words

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
register.filter("plain", plain)
register.filter("rule_words", in_words)
register.filter("agreement_part", part_in_words)


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
    """The score's 95 % interval, e.g. '[0.12, 0.31]'; empty if it has none, and so neither end."""
    if score is None or score.low is None:
        return ""
    return f"[{plain(score.low, digits)}, {plain(score.high, digits)}]"


class Scored(Protocol):
    """A stored score, or an estimate: `low` and `high` None or NaN without an interval."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


_WIDTH, _HEIGHT, _EDGE = 128, 16, 6


@register.simple_tag
def axis(kind: str, rows: Iterable[object], *paths: str) -> Axis | None:
    """The axis of a column: a kind of metrics/core/marks.py, the rows of the whole table, and where in a row
    the scores stand: `{% axis "share" rows "scores.l_stereo" as shares %}`. Several paths share the axis; `*`
    in a path stands for each item of a list. The kind "stored" is that of the stored scores' name."""
    found = [one for row in rows or () for path in paths for one in _at_path(row, path.split("."))]
    if kind == "stored":
        kind = KIND_OF.get(found[0].name, "number") if found else "number"
    return scaled_axis(kind, (_numbers(one) for one in found))


@register.simple_tag
def axes(kind: str, rows: Iterable[object], path: str, *inner: str) -> list[Axis | None]:
    """The axes of columns whose scores stand in a list at `path` of each row, or at `inner` of its items: one
    for each place of the list."""
    table = list(rows or ())
    places = max((len(found) for row in table for found in _at_path(row, path.split("."))), default=0)
    columns = [[f"{path}.{place}.{one}" for one in inner] or [f"{path}.{place}"] for place in range(places)]
    return [axis(kind, table, *paths) for paths in columns]


def _at_path(found: Any, parts: Sequence[str]) -> Iterator[Any]:
    if found is None or found == "":
        return
    if not parts:
        yield found
        return
    for one in found if parts[0] == "*" else (_item(found, parts[0]),):
        yield from _at_path(one, parts[1:])


def _item(found: Any, name: str) -> Any:
    """An item or attribute, looked up as templates do; None if there is none."""
    if isinstance(found, Mapping):
        return found.get(name)
    if name.isdecimal():
        return found[int(name)] if int(name) < len(found) else None
    return getattr(found, name, None)


def _numbers(score: Scored | Numbers) -> Numbers:
    return score if isinstance(score, tuple) else (score.value, score.low, score.high)


@register.filter
def at(found: Any, key: int | str) -> Any:
    """The item of a list at this place, or of a mapping under this name; None if there is none."""
    return _item(found, str(key))


@register.simple_tag
def mark(
    score: Scored | Numbers | None, axis: Axis | None, others: Iterable[float | None] = ()
) -> SafeString | str:
    """`score` as a point with its interval on `axis`, as SVG; values of `others` are small strokes. Hidden
    from screen readers, so the numbers must stand beside it. What lies outside the axis, as infinity does, is
    an arrow at its end."""
    value, low, high = _numbers(score) if score else (None, None, None)
    # templates pass an empty text for an axis that there is not
    if not axis or value is None or math.isnan(value):
        return ""
    middle = _HEIGHT // 2
    lines = [
        ("mark-other", _x(axis, other), 3, _x(axis, other), _HEIGHT - 3)
        for other in others
        if other is not None and math.isfinite(other)
    ]
    if axis.reference is not None:
        lines.append(("mark-reference", _x(axis, axis.reference), 0, _x(axis, axis.reference), _HEIGHT))
    if low is not None and high is not None and low <= high:  # false for NaN
        lines.append(("mark-interval", _x(axis, low), middle, _x(axis, high), middle))
    drawn = format_html_join("", '<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', lines)
    if axis.is_outside(value):
        end, side = (_WIDTH, -8) if axis.place(value) == 1 else (0, 8)
        point = format_html('<path class="mark-point" d="M{} {}l{} -5v10z"/>', end, middle, side)
    else:
        point = format_html('<circle class="mark-point" cx="{}" cy="{}" r="4"/>', _x(axis, value), middle)
    return _drawing("mark", drawn + point)


@register.simple_tag
def scale(axis: Axis | None) -> SafeString | str:
    """The numbers of `axis` above a column of marks, each over its place. Hidden from screen readers, which
    read the numbers in the cells."""
    if not axis:
        return ""
    texts = [
        ("start", 0, text)
        if place == 0
        else ("end", _WIDTH, text)
        if place == 1
        else ("middle", _at(place), text)
        for place, text in axis.labels
    ]
    return _drawing(
        "mark mark-scale",
        format_html_join("", '<text text-anchor="{}" x="{}" y="12">{}</text>', texts),
    )


def _x(axis: Axis, value: float) -> str:
    return _at(axis.place(value))


def _at(place: float) -> str:
    return coordinate(_EDGE + place * (_WIDTH - 2 * _EDGE))


def _drawing(classes: str, content: SafeString) -> SafeString:
    return format_html(
        '<svg class="{}" viewBox="0 0 {} {}" aria-hidden="true">{}</svg>', classes, _WIDTH, _HEIGHT, content
    )


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
