"""The quotas of a task in plain words, for leads."""

from collections import Counter
from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.core import strata
from annotation.models import TaskKind


def people_needed(kind: str, texts: Sequence[str]) -> str:
    """How many people each item of a task of this kind needs, and who must be among them. `texts`: the strata
    of the task, not resolved."""
    number = len(texts)
    if kind == TaskKind.DEPICTION:
        needed = ngettext("Each page needs %(number)d person.", "Each page needs %(number)d people.", number)
    else:
        needed = ngettext("Each item needs %(number)d person.", "Each item needs %(number)d people.", number)
    needed %= {"number": number}
    among = [
        _("at least %(number)d %(condition)s") % {"number": count, "condition": _condition(text)}
        for text, count in Counter(texts).items()
        if strata.written_clauses(text)
    ]
    if not among:
        return needed
    return _("%(needed)s Among them, by their profiles: %(among)s.") % {
        "needed": needed,
        "among": "; ".join(among),
    }


def _condition(text: str) -> str:
    clauses = [_clause(field, values, negated) for field, values, negated in strata.written_clauses(text)]
    return _(" and ").join(clauses)


def _clause(field: str, values: str, negated: bool) -> str:
    match field, negated:
        case strata.IN_REGION, _other:
            words = _("living in the region of the identity group")
        case strata.OUT_REGION, _other:
            words = _("identifying with the region of the identity group and living in North America")
        case "origin", False:
            words = _("from %(values)s")
        case "residence", False:
            words = _("living in %(values)s")
        case "identity_region", False:
            words = _("identifying with %(values)s")
        case "gender", False:
            words = _("with the gender %(values)s")
        case "gender", True:
            words = _("with a gender other than %(values)s")
        case _other, True:
            words = _("with an answer to “%(field)s” other than %(values)s")
        case _:
            words = _("with the answer %(values)s to “%(field)s”")
    return words % {"field": field, "values": values}
