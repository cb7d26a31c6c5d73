"""The findings in words: what intervals show is said, and nothing else."""

from dataclasses import replace

import pytest
from django.utils import translation

from annotation.core import scales
from annotation.models import Attribute, IdentityGroup, Study
from metrics.dashboards import sentences
from metrics.dashboards.queries.levels import Levels, LevelShare
from metrics.dashboards.queries.results import (
    GroupScore,
    LabelShare,
    Offensiveness,
    PartAgreement,
    PoolShare,
    Pull,
    RankedGroup,
    Results,
)
from metrics.models import Score
from metrics.visual_nature.visual_rule import VisualRule

INFINITE = float("inf")


def a_score(value, low=None, high=None, **fields) -> Score:
    return Score(value=value, low=low, high=high, **{"n": 10, **fields})


def ranked(*numbers) -> list[RankedGroup]:
    return [
        RankedGroup(IdentityGroup(name=f"G{place}"), a_score(*each), None, None)
        for place, each in enumerate(numbers)
    ]


def test_more_often_is_said_only_where_the_interval_is_above_1():
    rows = ranked((5.0, 2.1, 12.0), (1.4, 1.0, 2.0), (1.2, 0.8, 1.9), (0.5, 0.2, 0.9), *[(1.0, 0.5, 2)] * 8)
    said = sentences.ranking_in_words(rows)
    assert said == (
        "Stereotypical attributes were seen more often than random ones in images of 1 of 12 groups (95 % "
        "interval of θ above 1). They were seen less often in images of 1 group (interval below 1). For 10 "
        "groups the interval includes 1: no difference was shown. The largest θ is that of images of the "
        "group “G0”: 5.00 [2.10, 12.00]."
    )


def test_the_largest_theta_says_whose_intervals_overlap_it():
    said = sentences.ranking_in_words(
        ranked((2.5, 1.4, 4.0), (2.4, 1.2, 3.0), (2.0, 0.9, 1.4), (0.5, 0.2, 0.9))
    )
    assert "“G0”: 2.50 [1.40, 4.00]. The intervals of 2 other groups overlap it." in said


def test_of_many_groups_it_is_said_how_many_would_differ_by_chance():
    said = sentences.ranking_in_words(ranked((2.0, 1.5, 3.0), *[(1.0, 0.5, 2.0)] * 39, (1.0,)))
    assert "Of 40 groups without any difference, the intervals of about 2 would show one by chance." in said
    assert "by chance" not in sentences.ranking_in_words(ranked(*[(1.0, 0.5, 2.0)] * 19))
    groups = tuple(GroupScore(IdentityGroup(name="A"), a_score(0.1, 0.01, 0.2)) for _ in range(20))
    pull = Pull(a_score(0.1, 0.0, 0.2), None, None, None, groups)
    assert "Of 20 groups without any difference, the interval of about 1" in sentences.pull_in_words(pull)


def test_few_groups_infinite_ones_and_those_without_an_interval_are_told():
    said = sentences.ranking_in_words(ranked((INFINITE, 1.5, INFINITE), (2.0,), (None,)))
    assert "in images of 1 of 3 groups" in said
    assert "2 groups have no interval, so that nothing can be said about chance." in said
    assert "In images of 1 group no random attribute was seen, so that its θ is infinite." in said
    assert "These are few groups" in said
    assert "largest" not in said
    alone = sentences.ranking_in_words(ranked((2.0,)))
    assert "more often" not in alone
    assert alone.startswith("1 group has no interval")
    assert "largest" not in alone
    of_ten, of_nine = (sentences.ranking_in_words(ranked(*[(1.0, 0.5, 2.0)] * n)) for n in (10, 9))
    assert ("few groups" in of_ten, "few groups" in of_nine) == (False, True)
    assert sentences.ranking_in_words([]) == ""


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ((0.01, 0.05), "more similar to stereotypical"),
        ((-0.05, -0.01), "less similar to stereotypical"),
        ((-0.01, 0.05), "no pull towards stereotypical images was shown"),
        ((None, None), "it has no interval, so that nothing can be said about chance"),
    ],
)
def test_pull_is_said_only_where_the_interval_leaves_0_out(interval, said):
    groups = tuple(
        GroupScore(IdentityGroup(name=name), a_score(0.1, *each))
        for name, each in (("A", (0.01, 0.2)), ("B", (0.0, 0.2)), ("C", ()))
    )
    low, _ = interval
    value = 0.03 if low is None or low > -0.02 else -0.03
    text = sentences.pull_in_words(Pull(a_score(value, *interval), None, None, None, groups))
    assert said in text
    assert "above 0 for 1 of 2 groups" in text
    assert f"x = {value:.3f}".replace("-", "−") in text


def test_the_largest_offensiveness_says_whose_intervals_overlap_it():
    rows = [
        GroupScore(IdentityGroup(name=name), a_score(*each))
        for name, each in (
            ("A", (0.9, 0.5, 1.3)),
            ("B", (0.8, 0.4, 1.2)),
            ("C", (0.4, 0.3, 0.5)),
            ("D", (0.1, 0.0, 0.2)),
        )
    ]
    assert sentences.depicted_in_words(rows) == (
        "The depiction of the group “A” has the largest offensiveness: O = 0.90 [0.50, 1.30]. The intervals "
        "of 2 other groups overlap it."
    )
    assert "overlap" not in sentences.depicted_in_words([rows[0], rows[3]])
    assert sentences.depicted_in_words([]) == ""


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((0.4, 0.1, 0.7), "Annotators agree more often than by chance ("),
        ((0.1, -0.1, 0.3), "was not shown"),
        ((-0.4, -0.6, -0.1), "less often than by chance"),
        ((0.4,), "it has no interval"),
        ((None,), ""),
    ],
)
def test_agreement_is_compared_with_chance_and_not_called_good(numbers, said):
    part = PartAgreement("task: depiction; reading: nominal", {"alpha": a_score(*numbers)})
    text = sentences.agreement_in_words(part)
    assert said in text
    assert bool(text) is bool(said)
    assert sentences.agreement_in_words(PartAgreement("task: depiction; reading: nominal", {})) == ""


def test_each_pool_is_said_with_its_threshold():
    shares = [PoolShare(pool, 2, a_score(0.4, 0.3, 0.5, k=32, n=80)) for pool in ("in-region", "both")]
    assert sentences.prevalence_in_words(shares) == (
        "At least 2 in-region annotators called 32 of 80 associations stereotypical: 40 % [30, 50]. In both "
        "pools at least 2 did so for 32 of 80: 40 % [30, 50]."
    )


def test_ratings_say_their_mean_and_that_of_stereotypes_where_there_is_one():
    mean, of_stereotypes = a_score(1.5, 1.0, 2.0, n=1234), a_score(2.0)
    said = (
        "The mean of 1,234 ratings of offensiveness is 1.50 [1.00, 2.00], from −1 (not offensive) to 4 "
        "(extremely offensive)."
    )
    assert sentences.ratings_in_words(Offensiveness(mean, None, (), ())) == said
    assert sentences.ratings_in_words(Offensiveness(mean, of_stereotypes, (), ())) == (
        f"{said} For stereotypes alone it is 2.00."
    )
    assert sentences.ratings_in_words(Offensiveness(None, of_stereotypes, (), ())) == ""


def results(**found) -> Results:
    """Results with nothing in them but what is given."""
    nothing = Results(
        study=Study(),
        metrics=(),
        simulated=False,
        ranking=(),
        consensus=(),
        rules=(),
        rated=0,
        prevalence=(),
        offensiveness=None,
        agreement=(),
        pull=None,
        levels=None,
        runs={},
        missing=(),
    )
    return replace(nothing, **found)


def told(**found) -> dict[str, str]:
    return {finding.about: finding.text for finding in sentences.findings(results(**found))}


def test_the_label_that_most_attributes_have_is_said_or_that_none_has_one():
    def consensus(*values: float) -> tuple[LabelShare, ...]:
        labels = ("Agree", "Disagree", "Unsure")
        return tuple(
            LabelShare(label, a_score(value, n=1234)) for label, value in zip(labels, values, strict=False)
        )

    assert told(consensus=consensus(20.0, 60.4, 10.0)) == {
        "consensus": "At least two annotators chose the same label, most often “Disagree”: for 60 % of 1,234 "
        "attributes."
    }
    assert told(consensus=consensus(0.0, 0.0)) == {
        "consensus": "For no attribute did two annotators choose the same label."
    }


def test_the_rule_in_use_is_said_with_its_interval_if_it_has_one():
    other = VisualRule(1, 3, None, 1100, 90.0, None, None, in_use=False)
    used = VisualRule(2, 3, None, 1000, 81.2, 78.9, 83.4, in_use=True)
    said = (
        "By the study’s rule (at least 2 of 3 chose Agree or Strongly agree), 1,000 of 1,232 attributes are"
    )
    assert told(rules=(other, used), rated=1232) == {"rule": f"{said} visual: 81 % [79, 83]."}
    without = replace(used, low=None, high=None)
    assert told(rules=(without,), rated=1232) == {"rule": f"{said} visual: 81 %."}
    assert told(rules=(other,), rated=1232) == {}


def test_the_main_answer_of_a_study_comes_first_and_agreement_last():
    group = GroupScore(IdentityGroup(name="A"), a_score(0.1, 0.01, 0.2))
    parts = [f"task: depiction; reading: {reading}" for reading in ("nominal", "ordinal")]
    found = told(
        ranking=tuple(ranked((2.0, 1.5, 3.0))),
        pull=Pull(a_score(0.1), None, None, None, ()),
        offensiveness=Offensiveness(a_score(1.0), None, (), (group,)),
        consensus=(LabelShare("Agree", a_score(50.0)),),
        rules=(VisualRule(2, 3, None, 3, 50.0, None, None, in_use=True),),
        prevalence=(PoolShare("both", 2, a_score(0.5, k=1)),),
        levels=Levels(None, (LevelShare(scales.ASSOCIATION[0], a_score(0.5, k=5)),), (), 1, 0),
        agreement=tuple(PartAgreement(part, {"alpha": a_score(0.5)}) for part in parts),
    )
    assert list(found) == [
        *("ranking", "pull", "depicted", "consensus", "rule", "prevalence", "offensiveness", "levels"),
        "agreement",
    ]
    assert found["pull"].endswith("so that nothing can be said about chance."), "nor of how many groups"
    assert found["agreement"].count("α") == 1, "of every label, and not once more in their order"


def test_words_are_those_of_the_reader():
    with translation.override("es"):
        assert sentences.ranking_in_words(ranked((2.0, 1.5, 3.0)))


def test_levels_say_the_most_frequent_one_and_whose_mean_is_the_highest():
    labels = scales.ASSOCIATION[1:3]
    shares = tuple(
        LevelShare(label, a_score(k / 10, 0.1, 0.8, k=k)) for label, k in zip(labels, (6, 4), strict=True)
    )
    pair = a_score(4.5, 3.0, 5.0, group=IdentityGroup(name="old"), attribute=Attribute(text="grumpy"))
    levels = Levels(a_score(2.4, 2.0, 2.8), shares, (pair,), 12, 3)
    assert sentences.levels_in_words(levels) == (
        "On how biased an association is, annotators answered “Slightly biased” most often: 60 % [10, 80] "
        "of 10 answers. The mean level is 2.40 [2.00, 2.80], from 1 (not at all biased) to 5 (extremely "
        "biased). "
        "Of 12 associations “grumpy” of the group “old” has the highest mean: 4.50 [3.00, 5.00]. The "
        "intervals of 3 other associations overlap it."
    )
    assert "mean" not in sentences.levels_in_words(Levels(None, shares, (), 0, 0))
    last = sentences.levels_in_words(Levels(None, shares[::-1], (pair,), 1234, 0))
    assert "“Slightly biased” most often" in last, "wherever it stands"
    assert last.endswith(
        "Of 1,234 associations “grumpy” of the group “old” has the highest mean: 4.50 [3.00, 5.00]."
    )
    assert sentences.levels_in_words(Levels(None, (), (pair,), 0, 0)) == ""


def test_a_name_keeps_its_quotes_in_a_sentence_from_right_to_left():
    rows = ranked((2.5, 1.4, 4.0), (2.4, 1.2, 3.0))
    with translation.override("ar"):
        assert "\N{LEFT-TO-RIGHT ISOLATE}“G0”\N{POP DIRECTIONAL ISOLATE}" in sentences.ranking_in_words(rows)
