"""What the scores of a judge say, in sentences."""

from __future__ import annotations

import pytest

from metrics.machine_judges import sentences, words
from metrics.machine_judges.design import Design
from metrics.machine_judges.parsing import Problem
from metrics.machine_judges.queries.results import NAMES, AgreementRow, Results
from tests.metrics.machine_judges.stored import score

TEST = {"epsilon": "0.1", "least": "30"}


def row(judge, people, difference, *, q: float | None = None, **fields) -> AgreementRow:
    values = {"judge_percentage": judge, "people_percentage": people, "percentage_difference": difference}
    if q is not None:
        values["percentage_difference_q"] = q
    return AgreementRow({name: score(name, value) for name, value in values.items()}, **fields)


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        (
            (-9.0, -13.0, -0.1),
            "the judge agrees less with people than people do with each other: −9.0 points",
        ),
        ((9.0, 0.1, 13.0), "the judge agrees more with people than people do with each other: 9.0 points"),
        ((-9.0, -13.0, 0.0), "may be chance: −9.0 points (95 % interval −13.0 to 0.0)."),
        ((9.0, 0.0, 13.0), "may be chance: 9.0 points"),
        (-9.0, "−9.0 points, without an interval."),
    ],
)
def test_a_difference_is_one_only_if_its_interval_excludes_0(difference, said):
    assert said in sentences.agreement_sentences(row(62.0, 71.0, difference))[-1]


def test_nothing_is_said_of_what_is_not_known():
    assert sentences.agreement_sentences(row(None, 71.0, None)) == [
        "The judge and people have no answer about the same item in common."
    ]
    assert "not known how far they agree" in sentences.agreement_sentences(row(60.0, None, None))[-1]
    assert len(sentences.agreement_sentences(row(60.0, 70.0, None))) == 2
    assert sentences.finding(Results({}), {}) == []


def test_agreement_about_everything_is_that_of_equal_answers():
    ordinal, nominal = AgreementRow({}, reading="ordinal"), AgreementRow({})
    assert Results({}, readings=(ordinal, nominal)).overall is nominal
    assert Results({}, readings=(ordinal,)).overall is None


def test_the_worst_place_has_a_q_below_one_in_twenty():
    """The interval alone would name the most extreme of many places, which chance makes extreme."""
    few = row(10.0, 90.0, (-80.0, -90.0, -70.0), region="Oceania")
    chance = row(10.0, 90.0, (-80.0, -159.0, -1.0), q=0.05, region="Africa")
    worse = row(50.0, 71.0, (-21.0, -30.0, -12.0), q=0.049, region="Europe", annotators="in-region")
    better = row(60.0, 71.0, (-11.0, -20.0, -2.0), q=0.01, annotators="woman")
    above = row(80.0, 71.0, (9.0, 5.0, 14.0), q=0.0, annotators="man")
    said = sentences.worst_sentence(Results({}, places=(few, chance, worse, better, above)))
    assert said == (
        "It is furthest from people for Europe and in-region annotators: "
        "−21.0 points (95 % interval −30.0 to −12.0)."
    )
    assert "For no region" in sentences.worst_sentence(Results({}, places=(few, chance, above)))
    assert sentences.worst_sentence(Results({}, places=(few,))) == ""
    assert sentences.worst_sentence(Results({}, places=(AgreementRow({}, region="Africa"),))) == ""
    assert [(one.is_lower, one.is_higher) for one in (few, chance, worse, above)] == [
        *((False, False), (False, False), (True, False), (False, True)),
    ]


@pytest.mark.parametrize(("rate", "passes"), [(0.5, True), (0.4999, False), (1.0, True), (0.0, False)])
def test_the_test_is_passed_from_one_half(rate, passes):
    scores = {"winning_rate": score("winning_rate", rate, n=10, k=round(10 * rate))}
    said = " ".join(sentences.alternative_sentences(scores, TEST))
    assert ("It passes" in said) == passes
    assert ("It does not pass" in said) != passes
    assert "ε = 0.1" in said
    assert "ρ" not in said


def test_without_an_annotator_the_test_has_no_result():
    said = sentences.alternative_sentences({"winning_rate": score("winning_rate", None, n=0, k=0)}, TEST)
    assert said == [
        "The alternative annotator test has no result: no annotator has enough items in common with others "
        "and the judge (at least 30)."
    ]


def test_every_problem_variant_and_score_has_words():
    assert {words.problem_words(each) for each in Problem} >= {"nothing was answered"}
    assert set(sentences.SCORE_NAMES) == set(NAMES)
    design = Design(
        study="s",
        task="depiction",
        task_version=1,
        again=1,
        wording="Does it show [attr]?",
        languages=("es",),
    )
    for variant in ("samples", *design.variants[1:]):
        assert words.variant_words(variant) != variant
