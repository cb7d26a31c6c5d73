"""What annotators said about associations and attributes by themselves, in words."""

from collections.abc import Sequence

from django.utils.translation import gettext, ngettext

from metrics.core.quoting import quoted
from metrics.dashboards.numbers_in_words import number, percent
from metrics.dashboards.queries.levels import Levels
from metrics.dashboards.queries.results import Offensiveness, PoolShare


def prevalence_in_words(shares: Sequence[PoolShare]) -> str:
    """How many associations each pool called stereotypical; empty without answers of a pool."""
    texts = {
        "in-region": gettext(
            "At least %(t)d in-region annotators called %(k)s of %(n)s associations stereotypical: "
            "%(number)s."
        ),
        "out-region": gettext(
            "At least %(t)d out-region annotators called %(k)s of %(n)s associations stereotypical: "
            "%(number)s."
        ),
        "both": gettext("In both pools at least %(t)d did so for %(k)s of %(n)s: %(number)s."),
    }
    return " ".join(
        texts[share.pool]
        % {
            "t": share.threshold,
            "k": f"{share.score.k or 0:,}",
            "n": f"{share.score.n:,}",
            "number": percent(share.score, 100),
        }
        for share in shares
    )


def ratings_in_words(found: Offensiveness) -> str:
    """The means of ratings of offensiveness; empty without one."""
    if found.mean_attribute is None:
        return ""
    text = ngettext(
        "The mean of %(n)s rating of offensiveness is %(number)s, from −1 (not offensive) to 4 (extremely "
        "offensive).",
        "The mean of %(n)s ratings of offensiveness is %(number)s, from −1 (not offensive) to 4 (extremely "
        "offensive).",
        found.mean_attribute.n,
    )
    said = text % {"n": f"{found.mean_attribute.n:,}", "number": number(found.mean_attribute)}
    if found.mean_stereotypes is not None:
        text = gettext("For stereotypes alone it is %(number)s.")
        said += " " + text % {"number": number(found.mean_stereotypes)}
    return said


def levels_in_words(levels: Levels) -> str:
    """Which level was chosen most often, the mean, and the association with the highest."""
    if not levels.shares:
        return ""
    most = max(levels.shares, key=lambda share: share.score.k or 0)
    text = ngettext(
        "On how biased an association is, annotators answered “%(label)s” most often: %(number)s of %(n)s "
        "answer.",
        "On how biased an association is, annotators answered “%(label)s” most often: %(number)s of %(n)s "
        "answers.",
        most.score.n,
    )
    words = {"label": gettext(most.label.name), "number": percent(most.score, 100)}
    said = [text % {**words, "n": f"{most.score.n:,}"}]
    if levels.mean is not None:
        text = gettext("The mean level is %(number)s, from 1 (not at all biased) to 5 (extremely biased).")
        said.append(text % {"number": number(levels.mean)})
    if levels.pairs:
        first = levels.pairs[0]
        text = ngettext(
            "Of %(n)s association “%(attribute)s” of the group %(group)s has the highest mean: %(number)s.",
            "Of %(n)s associations “%(attribute)s” of the group %(group)s has the highest mean: %(number)s.",
            levels.associations,
        )
        words = {
            "group": quoted(first.group.name) if first.group else "",
            "attribute": first.attribute.text if first.attribute else "",
            "number": number(first),
        }
        said.append(text % {**words, "n": f"{levels.associations:,}"})
        if levels.overlapping:
            text = ngettext(
                "The interval of %(k)d other association overlaps it.",
                "The intervals of %(k)d other associations overlap it.",
                levels.overlapping,
            )
            said.append(text % {"k": levels.overlapping})
    return " ".join(said)
