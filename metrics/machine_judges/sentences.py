"""What the scores of a machine judge say, in sentences (PROTOCOL §16)."""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from metrics.machine_judges.queries.results import AgreementRow, Results
from metrics.models import Score

PASSES = 0.5
"""The winning rate from which a judge passes the alternative annotator test."""
SCORE_NAMES = {
    "l_stereo": gettext_lazy("L(stereo): mean likelihood of the stereotypical attributes"),
    "l_random": gettext_lazy("L(random): mean likelihood of the other attributes"),
    "theta": gettext_lazy("θ: L(stereo) divided by L(random)"),
    "o": gettext_lazy("O: offensiveness of what is depicted"),
    "visual_mean": gettext_lazy("Mean rating of visual nature"),
    "visual": gettext_lazy("Share of attributes that are visual by the study’s rule"),
    "stereotypical": gettext_lazy("Share of answers “Stereotypical”"),
    "offence": gettext_lazy("Mean offensiveness (Unsure is 0)"),
    "level": gettext_lazy("Mean level of bias, without Unsure"),
}


def annotators_words(group: str) -> str:
    """A group of annotators, within a sentence."""
    return {
        "in-region": _("in-region annotators"),
        "out-region": _("out-region annotators"),
        "neither pool": _("annotators in neither pool"),
        "not stated": _("annotators who did not say"),
    }.get(group) or _("annotators “%(group)s”") % {"group": group}


def agreement_sentences(row: AgreementRow) -> list[str]:
    """How often the judge agrees with people, and they with each other."""
    judge, people = row.scores.get("judge_percentage"), row.scores.get("people_percentage")
    if judge is None or judge.value is None:
        return [_("The judge and people have no answer about the same item in common.")]
    found = [
        _(
            "The judge gives the same answer as a person in %(share)s %% of pairs of their "
            "answers%(interval)s."
        )
        % {"share": number(judge.value), "interval": _interval(judge)}
    ]
    if people is None or people.value is None:
        return [*found, _("No item was answered by two people, so it is not known how far they agree.")]
    found.append(
        _("Two people give the same answer about these items in %(share)s %% of pairs%(interval)s.")
        % {"share": number(people.value), "interval": _interval(people)}
    )
    difference = row.difference
    if difference is None or difference.value is None:
        return found
    text = {"points": number(difference.value), "interval": _interval(difference)}
    if difference.high is not None and difference.high < 0:
        last = _("So the judge agrees less with people than people do with each other: %(points)s points")
    elif difference.low is not None and difference.low > 0:
        last = _("So the judge agrees more with people than people do with each other: %(points)s points")
    elif difference.low is None:
        last = _("The difference is %(points)s points, without an interval")
    else:
        last = _("The difference may be chance: %(points)s points")
    return [*found, (last % text) + text["interval"] + "."]


def worst_sentence(found: Results) -> str:
    """Where the judge is furthest from people, of all regions and groups of annotators whose q is below
    MOST_Q: the worst of many would be chance otherwise. "" if nothing is compared."""
    if all(row.q is None for row in found.places):
        return ""
    lower = [row for row in found.places if row.is_lower]
    if not lower:
        return _(
            "For no region and no group of annotators is the judge’s agreement lower than people’s by more "
            "than chance may explain."
        )
    worst = lower[0]  # the lowest difference comes first
    difference = worst.difference
    assert difference is not None
    return _("It is furthest from people for %(place)s: %(points)s points%(interval)s.") % {
        "place": place_words(worst),
        "points": number(difference.value),
        "interval": _interval(difference),
    }


def place_words(row: AgreementRow) -> str:
    """A region, a group of annotators, or both."""
    if row.region and row.annotators:
        return _("%(region)s and %(annotators)s") % {
            "region": _(row.region),
            "annotators": annotators_words(row.annotators),
        }
    return _(row.region) if row.region else annotators_words(row.annotators)


def alternative_sentences(scores: Mapping[str, Score], parameters: Mapping[str, str]) -> list[str]:
    """The alternative annotator test; empty without a result."""
    rate, advantage = scores.get("winning_rate"), scores.get("advantage")
    if rate is None:
        return []
    if rate.value is None:
        return [
            _(
                "The alternative annotator test has no result: no annotator has enough items in common with "
                "others and the judge (at least %(least)s)."
            )
            % {"least": parameters["least"]}
        ]
    found = [
        _(
            "The alternative annotator test leaves out each annotator in turn and asks who is closer to the "
            "others, that annotator or the judge. With a bonus of ε = %(epsilon)s for the judge, it wins "
            "against %(k)d of %(n)d annotators: ω = %(rate)s."
        )
        % {
            "epsilon": parameters["epsilon"],
            "k": rate.k or 0,
            "n": rate.n,
            "rate": number(rate.value, 2),
        },
        _("It passes the test, for which ω must be 0.5 or more.")
        if rate.value >= PASSES
        else _("It does not pass the test, for which ω must be 0.5 or more."),
    ]
    if advantage is not None and advantage.value is not None:
        found.append(
            _(
                "On average it is at least as close to the others as the annotator who is left out with a "
                "probability of ρ = %(value)s%(interval)s."
            )
            % {"value": number(advantage.value, 2), "interval": _interval(advantage, 2)}
        )
    return found


def warnings() -> tuple[str, ...]:
    """What agreement does not mean; stands under every finding."""
    return (
        _("A judge that agrees with a majority has not heard those who differ."),
        _("Agreement with people is not truth: both can be wrong, and in the same way."),
    )


def finding(found: Results, parameters: Mapping[str, str]) -> list[str]:
    """The sentences at the top of the page. `parameters`: those of the alternative annotator test."""
    overall = found.overall
    sentences: Iterable[str] = agreement_sentences(overall) if overall else ()
    worst = worst_sentence(found)
    return [*sentences, *([worst] if worst else []), *alternative_sentences(found.alternative, parameters)]


def number(value: float | None, digits: int = 1) -> str:
    """With a true minus sign."""
    return "–" if value is None else f"{value:,.{digits}f}".replace("-", "−")


def _interval(score: Score, digits: int = 1) -> str:
    if score.low is None or score.high is None:
        return ""
    limits = {"low": number(score.low, digits), "high": number(score.high, digits)}
    return " " + _("(95 %% interval %(low)s to %(high)s)") % limits
