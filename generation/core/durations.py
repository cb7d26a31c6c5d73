"""Format durations."""

from django.utils.translation import gettext as _


def duration(seconds: float) -> str:
    """'2 d 3 h', '1 h 20 min', '2 min 5 s', '45 s'; '< 1 s' if shorter but not zero."""
    whole = round(seconds)
    if not whole:
        return _("< 1 s") if seconds > 0 else _("%(seconds)d s") % {"seconds": 0}
    days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return _("%(days)d d %(hours)d h") % {"days": days, "hours": hours}
    if hours:
        return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}
    if minutes:
        return _("%(minutes)d min %(seconds)d s") % {"minutes": minutes, "seconds": whole % 60}
    return _("%(seconds)d s") % {"seconds": whole}
