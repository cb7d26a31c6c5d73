"""What a test's and a ranking's numbers say, in words."""

from collections.abc import Sequence

from django.utils.translation import gettext, pgettext

from metrics.core import quoting
from metrics.embedding_tests.stats.effects import Effect
from metrics.embedding_tests.stats.ranking import EQUAL_REFERENCE, FEW_REGIONS, Correlation
from metrics.embedding_tests.test_file import SC_EAT, EffectTest

_SHOWN = 2
"""Texts of a side that are named; the others are an ellipsis."""


def effect_in_words(test: EffectTest, found: Effect) -> str:
    """One sentence. The group whose images are closer to A, or to the text, is its subject. An interval that
    holds 0, or has no ends, shows no difference."""
    shown = found.effect_low > 0 or found.effect_high < 0
    nearer, farther = (test.x, test.y) if found.effect_size >= 0 else (test.y, test.x)
    words = {
        "nearer": names(nearer),
        "farther": names(farther),
        "number": _with_interval("d", found.effect_size, found.effect_low, found.effect_high),
        "size": size_in_words(found.effect_size),
    }
    if test.kind == SC_EAT:
        words["text"] = quoted([test.target])
        if shown:
            text = gettext(
                "Images of %(nearer)s are closer to %(text)s than images of %(farther)s: %(number)s, "
                "%(size)s."
            )
        else:
            text = gettext(
                "No difference was shown between images of %(nearer)s and of %(farther)s in how close they "
                "are to %(text)s: %(number)s."
            )
        return text % words
    words |= {"a": quoted(test.a), "b": quoted(test.b)}
    if shown:
        text = gettext(
            "Images of %(nearer)s are closer to %(a)s, rather than to %(b)s, than images of %(farther)s: "
            "%(number)s, %(size)s."
        )
    else:
        text = gettext(
            "No difference was shown between images of %(nearer)s and of %(farther)s in how close they are "
            "to %(a)s rather than to %(b)s: %(number)s."
        )
    return text % words


def size_in_words(effect_size: float) -> str:
    """Cohen's words (1988): small from 0.2, medium from 0.5, large from 0.8, whatever the sign."""
    size = abs(effect_size)
    if size >= 0.8:
        return pgettext("size of d", "a large effect")
    if size >= 0.5:
        return pgettext("size of d", "a medium effect")
    if size >= 0.2:
        return pgettext("size of d", "a small effect")
    return pgettext("size of d", "less than a small effect")


def correlation_in_words(group: str, found: Correlation) -> str:
    """One sentence about a group's shares over the regions."""
    words = {
        "group": quoting.quoted(group),
        "number": _with_interval("rho", found.rho, found.rho_low, found.rho_high),
    }
    if found.problem == FEW_REGIONS:
        return gettext("%(group)s: a correlation needs at least four regions.") % words
    if found.problem == EQUAL_REFERENCE:
        text = gettext(
            "%(group)s: its reference does not vary, so that its shares cannot be compared with it."
        )
        return text % words
    if found.problem:
        return gettext("%(group)s: its shares do not vary, so that they cannot be compared.") % words
    if found.rho_low > 0:
        text = gettext(
            "Where the reference has more %(group)s, more of the images found are of %(group)s: %(number)s."
        )
    elif found.rho_high < 0:
        text = gettext(
            "Where the reference has more %(group)s, fewer of the images found are of %(group)s: %(number)s."
        )
    else:
        text = gettext("%(group)s: no relation of the images found with the reference was shown: %(number)s.")
    return text % words


def mean_in_words(group: str, share: float, reference: float) -> str:
    """One sentence about a group's mean shares, both 0 to 1."""
    return gettext(
        "%(group)s: on average %(share)s %% of the images found, and %(reference)s %% of the reference."
    ) % {"group": quoting.quoted(group), "share": f"{100 * share:.1f}", "reference": f"{100 * reference:.1f}"}


def names(groups: Sequence[str]) -> str:
    """Groups that are taken together: “White” + “Black”."""
    return " + ".join(map(quoting.quoted, groups))


def quoted(texts: Sequence[str]) -> str:
    """
    Examples
    --------
    >>> quoted(["we", "us", "our"]), quoted(["we"])
    ('“we, us …”', '“we”')
    """
    more = " …" if len(texts) > _SHOWN else ""
    return quoting.quoted(f"{', '.join(texts[:_SHOWN])}{more}")


def _with_interval(name: str, value: float, low: float, high: float) -> str:
    return quoting.isolated(f"{name} = {_number(value)} [{_number(low)}, {_number(high)}]")


def _number(value: float) -> str:
    return "–" if value != value else f"{value:.2f}".replace("-", "−")
