"""What was found, in words."""

from django.utils.translation import gettext as _


def in_words(answer: str, high: tuple[str, float], low: tuple[str, float] | None) -> str:
    """`high`, `low`: the groups with the largest and the smallest share of `answer`; None if there is one
    group only."""
    values = {"answer": answer, "high": high[0], "high_share": _per_cent(high[1])}
    if low is None:
        return _("The model answered “%(answer)s” for %(high_share)s of the images of “%(high)s”.") % values
    values |= {"low": low[0], "low_share": _per_cent(low[1])}
    text = _(
        "The model answered “%(answer)s” for %(high_share)s of the images of “%(high)s” and for "
        "%(low_share)s of the images of “%(low)s”."
    )
    return text % values


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"
