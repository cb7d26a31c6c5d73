"""What came out of a study, in words: nothing that the intervals do not show, and no verdict about anybody.

A difference is said only where the 95 % interval leaves its reference out: 1 for theta, 0 for pull and α.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from metrics.agreement.queries import part_in_words
from metrics.core.numbers import plain
from metrics.core.quoting import quoted
from metrics.dashboards.answers_in_words import levels_in_words, prevalence_in_words, ratings_in_words
from metrics.dashboards.numbers_in_words import number, percent
from metrics.dashboards.queries.results import (
    GroupScore,
    PartAgreement,
    Pull,
    RankedGroup,
    Results,
    side_of,
)
from metrics.models import Score
from metrics.visual_nature.visual_rule import in_words

FEW_GROUPS = 10
"""With fewer groups, the sentences say that they are few."""
MANY_GROUPS = 20
"""From so many groups on, the sentences say how many would differ by chance."""


@dataclass(frozen=True)
class Finding:
    """One statement, of one or more sentences. `about`: ranking, consensus, rule, prevalence, offensiveness,
    levels, depicted, pull, or agreement."""

    about: str
    text: str


def findings(results: Results) -> tuple[Finding, ...]:
    """What came out, the study's main answer first; empty if there is nothing yet."""
    offensiveness = results.offensiveness
    found = [
        ("ranking", ranking_in_words(results.ranking)),
        ("pull", pull_in_words(results.pull) if results.pull else ""),
        ("depicted", depicted_in_words(offensiveness.depicted_groups) if offensiveness else ""),
        ("consensus", _consensus(results)),
        ("rule", _rule(results)),
        ("prevalence", prevalence_in_words(results.prevalence)),
        ("offensiveness", ratings_in_words(offensiveness) if offensiveness else ""),
        ("levels", levels_in_words(results.levels) if results.levels else ""),
        ("agreement", " ".join(agreement_in_words(part) for part in nominal(results.agreement))),
    ]
    return tuple(Finding(about, text) for about, text in found if text)


def ranking_in_words(rows: Sequence[RankedGroup]) -> str:
    """In images of how many groups stereotypical attributes were seen more often than random ones; empty
    without groups."""
    if not rows:
        return ""
    n = len(rows)
    sides = Counter(row.side for row in rows)
    known = n - sides["unknown"]
    said = []
    if known:
        text = ngettext(
            "Stereotypical attributes were seen more often than random ones in images of %(k)d of %(n)d "
            "group (95 %% interval of θ above 1).",
            "Stereotypical attributes were seen more often than random ones in images of %(k)d of %(n)d "
            "groups (95 %% interval of θ above 1).",
            n,
        )
        said.append(text % {"k": sides["above"], "n": n})
        if sides["below"]:
            text = ngettext(
                "They were seen less often in images of %(k)d group (interval below 1).",
                "They were seen less often in images of %(k)d groups (interval below 1).",
                sides["below"],
            )
            said.append(text % {"k": sides["below"]})
        if sides["unclear"]:
            text = ngettext(
                "For %(k)d group the interval includes 1: no difference was shown.",
                "For %(k)d groups the interval includes 1: no difference was shown.",
                sides["unclear"],
            )
            said.append(text % {"k": sides["unclear"]})
    if sides["unknown"]:
        text = ngettext(
            "%(k)d group has no interval, so that nothing can be said about chance.",
            "%(k)d groups have no interval, so that nothing can be said about chance.",
            sides["unknown"],
        )
        said.append(text % {"k": sides["unknown"]})
    said += _by_chance(known)
    said += _highest(rows)
    if n < FEW_GROUPS:
        said.append(gettext("These are few groups: do not conclude from them about others."))
    return " ".join(said)


def _highest(rows: Sequence[RankedGroup]) -> list[str]:
    """The largest finite theta, and how many are infinite."""
    infinite = sum(row.theta is not None and row.theta.value == float("inf") for row in rows)
    defined = [row for row in rows if row.theta and row.theta.value is not None]
    said = []
    if infinite:
        text = ngettext(
            "In images of %(k)d group no random attribute was seen, so that its θ is infinite.",
            "In images of %(k)d groups no random attribute was seen, so that their θ is infinite.",
            infinite,
        )
        said.append(text % {"k": infinite})
    elif len(defined) > 1:
        text = gettext("The largest θ is that of images of the group %(group)s: %(number)s.")
        said.append(text % {"group": quoted(defined[0].group.name), "number": number(defined[0].theta)})
        said += _overlapping([row.theta for row in rows if row is not defined[0]], defined[0].theta)
    return said


def _overlapping(others: Iterable[Score | None], first: Score | None) -> list[str]:
    """How many intervals of other groups overlap that of the first; empty if none does, or without one."""
    low = first.low if first else None
    if low is None:
        return []
    as_high = sum(score is not None and score.high is not None and score.high >= low for score in others)
    if not as_high:
        return []
    text = ngettext(
        "The interval of %(k)d other group overlaps it.",
        "The intervals of %(k)d other groups overlap it.",
        as_high,
    )
    return [text % {"k": as_high}]


def pull_in_words(pull: Pull) -> str:
    """Towards which images default images are pulled, over groups and in how many."""
    words = {"number": f"x = {number(pull.x, 3)}"}
    text = {
        "above": gettext(
            "Default images are more similar to stereotypical than to other described images, on average "
            "over the groups: %(number)s."
        ),
        "below": gettext(
            "Default images are less similar to stereotypical than to other described images, on average "
            "over the groups: %(number)s."
        ),
        "unclear": gettext(
            "On average over the groups no pull towards stereotypical images was shown: %(number)s."
        ),
        "unknown": gettext(
            "The mean pull towards stereotypical images over the groups is %(number)s; it has no interval, "
            "so that nothing can be said about chance."
        ),
    }[side_of(pull.x, 0.0)]
    sides = Counter(side_of(row.score, 0.0) for row in pull.groups)
    known = len(pull.groups) - sides["unknown"]
    if not known:
        return text % words
    groups = ngettext(
        "The interval of x is above 0 for %(k)d of %(n)d group.",
        "The interval of x is above 0 for %(k)d of %(n)d groups.",
        known,
    )
    return " ".join([text % words, groups % {"k": sides["above"], "n": known}, *_by_chance(known)])


def _by_chance(groups: int) -> list[str]:
    """What to remember where many groups are counted: one in twenty intervals misses what it is of."""
    if groups < MANY_GROUPS:
        return []
    expected = round(groups / 20)
    text = ngettext(
        "Of %(n)d groups without any difference, the interval of about %(k)d would show one by chance.",
        "Of %(n)d groups without any difference, the intervals of about %(k)d would show one by chance.",
        expected,
    )
    return [text % {"n": groups, "k": expected}]


def depicted_in_words(groups: Sequence[GroupScore]) -> str:
    """Whose depiction has the largest O(id), and whether others may have it as well; empty without groups."""
    if not groups:
        return ""
    first = groups[0]
    text = gettext("The depiction of the group %(group)s has the largest offensiveness: O = %(number)s.")
    said = text % {"group": quoted(first.group.name), "number": number(first.score)}
    return " ".join([said, *_overlapping([row.score for row in groups[1:]], first.score)])


def _consensus(results: Results) -> str:
    if not results.consensus:
        return ""
    highest = max(results.consensus, key=lambda share: share.score.value or 0.0)
    text = ngettext(
        "At least two annotators chose the same label, most often “%(label)s”: for %(number)s of %(n)s "
        "attribute.",
        "At least two annotators chose the same label, most often “%(label)s”: for %(number)s of %(n)s "
        "attributes.",
        highest.score.n,
    )
    if not highest.score.value:
        text = gettext("For no attribute did two annotators choose the same label.")
    return text % {
        "label": gettext(highest.label),
        "number": percent(highest.score, 1),
        "n": f"{highest.score.n:,}",
    }


def _rule(results: Results) -> str:
    rule = results.rule_in_use
    if rule is None:
        return ""
    interval = "" if rule.low is None else f" [{plain(rule.low, 0)}, {plain(rule.high, 0)}]"
    text = ngettext(
        "By the study’s rule (%(rule)s), %(k)s of %(n)s attribute is visual: %(share)s %%%(interval)s.",
        "By the study’s rule (%(rule)s), %(k)s of %(n)s attributes are visual: %(share)s %%%(interval)s.",
        results.rated,
    )
    words = {"k": f"{rule.selected:,}", "n": f"{results.rated:,}", "share": plain(rule.percent, 0)}
    return text % {**words, "rule": in_words(rule), "interval": interval}


def nominal(parts: Sequence[PartAgreement]) -> list[PartAgreement]:
    """The parts in which every label counts: one of each kind of task."""
    return [part for part in parts if part.part.endswith("reading: nominal")]


def agreement_in_words(part: PartAgreement) -> str:
    """How far annotators agree on one part, without a word for how good that is; empty if undefined."""
    alpha = part.scores.get("alpha")
    if alpha is None or alpha.value is None:
        return ""
    words = {"part": part_in_words(part.part), "number": f"α = {number(alpha)}"}
    text = {
        "above": gettext("Annotators agree more often than by chance (%(part)s): %(number)s."),
        "below": gettext("Annotators agree less often than by chance (%(part)s): %(number)s."),
        "unclear": gettext(
            "That annotators agree more often than by chance was not shown (%(part)s): %(number)s."
        ),
        "unknown": gettext("Agreement of annotators (%(part)s): %(number)s; it has no interval."),
    }[side_of(alpha, 0.0)]
    return text % words
