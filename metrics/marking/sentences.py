"""What was found, in words."""

from django.utils.translation import gettext as _

from metrics.core.stats.image_shares import Share


def in_words(run: str, high: tuple[str, Share], low: tuple[str, Share] | None) -> str:
    """One sentence about a run. `high`, `low`: the groups that its texts name most and least often; None if
    there is one group only."""
    values = {"run": run, "high": high[0], "high_share": _share(high[1])}
    if low is None:
        return _("%(run)s: %(high_share)s of the texts about images of “%(high)s” name the group.") % values
    values |= {"low": low[0], "low_share": _share(low[1])}
    text = _(
        "%(run)s: %(high_share)s of the texts about images of “%(high)s” name the group, and %(low_share)s "
        "of those about images of “%(low)s”."
    )
    return text % values


def _share(share: Share) -> str:
    value = f"{100 * share.value:.1f} %"
    return value if share.low != share.low else f"{value} [{100 * share.low:.1f}, {100 * share.high:.1f}]"
