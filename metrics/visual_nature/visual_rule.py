"""The study's rule of visual nature (PROTOCOL §2)."""

from dataclasses import dataclass

from django.utils.translation import gettext
from numpy.typing import ArrayLike

from annotation.models import Study
from metrics.core.marks import Numbers
from metrics.core.stats.checks import Bools
from metrics.visual_nature import stats


@dataclass(frozen=True)
class VisualRule:
    """How many attributes a rule for 'visual' selects (PROTOCOL §2); `in_use` if it is the study's rule.

    The rule: at least `least` of `of` annotators agree, all agree (`least` None), or the mean score is at
    least `mean`. It selects `percent` of the attributes, with the interval `low` to `high`.
    """

    least: int | None
    of: int
    mean: float | None
    selected: int
    percent: float
    low: float | None
    high: float | None
    in_use: bool

    @property
    def numbers(self) -> Numbers:
        """`percent` with its interval."""
        return self.percent, self.low, self.high


def is_visual(study: Study, ratings: ArrayLike) -> Bools:
    """Whether each unit is visual by the rule of `study`, shape (U,); `ratings` (U, 5) as in
    `stats.is_visual`."""
    if study.visual_mean is not None:
        return stats.is_visual_by_mean(ratings, at_least=study.visual_mean)
    return stats.is_visual(ratings, at_least=study.visual_rule)


def describe(study: Study) -> str:
    """The rule in words, as stored with every score that depends on it."""
    if study.visual_mean is not None:
        return f"visual: mean score of at least {study.visual_mean:g} (1 to 5, Unsure 3)"
    if study.visual_rule is None:
        return "visual: all annotators chose Agree or Strongly agree"
    return f"visual: at least {study.visual_rule} annotators chose Agree or Strongly agree"


def part_of(study: Study) -> str:
    """The rule as `part` of a score."""
    return (
        part_by_agreement(study.visual_rule) if study.visual_mean is None else part_by_mean(study.visual_mean)
    )


def part_by_agreement(at_least: int | None) -> str:
    """The rule by number of agreeing annotators (None: all) as `part` of a score."""
    return "rule: all agree" if at_least is None else f"rule: at least {at_least} agree"


def part_by_mean(at_least: float) -> str:
    """The rule by mean score as `part` of a score."""
    return f"rule: mean score of at least {at_least:g}"


def parse_part(part: str) -> tuple[int | None, float | None]:
    """(number that must agree, mean score to reach) from such a part; both None if all must agree."""
    if part == part_by_agreement(None):
        return None, None
    words = part.split()
    return (None, float(words[-1])) if words[1] == "mean" else (int(words[3]), None)


def in_words(rule: VisualRule) -> str:
    """A rule for 'visual' in words."""
    if rule.mean is not None:
        return gettext("mean score of at least %(mean)s") % {"mean": f"{rule.mean:g}"}
    if rule.least is None:
        return gettext("all who rated it chose Agree or Strongly agree")
    text = gettext("at least %(least)d of %(of)d chose Agree or Strongly agree")
    return text % {"least": rule.least, "of": rule.of}
