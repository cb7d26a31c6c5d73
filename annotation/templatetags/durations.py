"""Lengths of time in the words of a page."""

from django import template
from django.utils.translation import gettext

register = template.Library()
_MINUTES_PER_HOUR = 60


@register.filter
def worked(hours: float) -> str:
    """Hours of work in hours and whole minutes. Work of less than a minute is not nothing."""
    if 0 < hours < 1 / _MINUTES_PER_HOUR:
        return gettext("under 1 min")
    whole, minutes = divmod(round(hours * _MINUTES_PER_HOUR), _MINUTES_PER_HOUR)
    if not whole:
        return gettext("%(minutes)d min") % {"minutes": minutes}
    return gettext("%(hours)d h %(minutes)s min") % {"hours": whole, "minutes": f"{minutes:02}"}
