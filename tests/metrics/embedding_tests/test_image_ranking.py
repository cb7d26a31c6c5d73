"""Image ranking against plain loops and scikit-learn, and the reference table."""

import math

import numpy as np
import pytest
from django.utils import translation
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from metrics.embedding_tests.reference import (
    US_STATES,
    Reference,
    ReferenceRefused,
    read_reference,
    read_variables,
)
from metrics.embedding_tests.sentences import correlation_in_words, names, quoted
from metrics.embedding_tests.stats.ranking import Correlation, compare, shares


def plain_shares(cosines, groups, *, drawings, top, seed):
    """The published procedure, one image at a time."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]
    size = min(map(len, members))
    found = np.zeros((len(cosines), len(members)))
    for _ in range(drawings):
        drawn = [image for each in members for image in rng.choice(each, size, replace=False)]
        for prompt, row in enumerate(cosines):
            for image in sorted(drawn, key=lambda image: -row[image])[: top or size]:
                found[prompt, groups[image]] += 1
    return found / found.sum(axis=1, keepdims=True)


def world(seed=0, sizes=(6, 11, 8), prompts=4):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    cosines = (
        rng.normal(size=(prompts, len(groups))) + 0.8 * rng.normal(size=(prompts, len(sizes)))[:, groups]
    )
    order = rng.permutation(len(groups))
    return cosines[:, order], groups[order]


@pytest.mark.parametrize("top", [0, 3, 18])
def test_shares_are_those_of_a_plain_loop(top):
    cosines, groups = world()
    found = shares(cosines, groups, drawings=4000, top=top, rng=np.random.default_rng(1))
    plain = plain_shares(cosines, groups, drawings=1000, top=top, seed=2)
    assert found.sum(axis=1) == pytest.approx(1)
    # a share of 6 or more images has a standard deviation of at most 0.2 over drawings, of 3 at most 0.29
    assert np.abs(found - plain).max() < 4 * 0.29 * math.sqrt(1 / 1000 + 1 / 4000)
    if top == 18:  # all that are drawn
        assert found == pytest.approx(np.full((4, 3), 1 / 3))


def test_groups_of_one_size_need_one_drawing():
    cosines, groups = world(sizes=(5, 5))
    found = shares(cosines, groups, drawings=10**6, top=4, rng=np.random.default_rng(0))
    for row, expected in zip(cosines, found, strict=True):
        nearest = groups[np.argsort(-row)[:4]]
        assert expected.tolist() == [(nearest == 0).mean(), (nearest == 1).mean()]


def test_every_image_of_a_larger_group_is_drawn_equally_often():
    """With one image at the top, it is the group's best among those drawn: geometric by its rank."""
    groups = np.array([0, 0, 1, 1, 1, 1])
    cosines = np.array([[0.5, 0.4, 0.9, 0.3, 0.2, 0.1]])
    found = shares(cosines, groups, drawings=40_000, top=1, rng=np.random.default_rng(0))
    # image 2 is drawn in half of the drawings, and then it is the first
    assert found[0, 1] == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(40_000))


def test_equal_cosines_favour_no_group():
    groups = np.repeat([0, 1], 50)
    counts = [
        shares(np.ones((1, 100)), groups, drawings=1, top=20, rng=np.random.default_rng(seed))[0, 0]
        for seed in range(200)
    ]
    assert np.mean(counts) == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(
    ("groups", "top", "message"),
    [([0, 0, 2], 0, "Group 1 has no image"), ([], 0, "no image"), ([0, 0, 1], 3, "top 3 images of 2")],
)
def test_impossible_rankings_are_refused(groups, top, message):
    with pytest.raises(ValueError, match=message):
        shares(
            np.zeros((1, len(groups))),
            np.array(groups, dtype=np.int64),
            drawings=2,
            top=top,
            rng=np.random.default_rng(0),
        )


def composition(seed, regions, groups=4):
    return np.random.default_rng(seed).dirichlet(np.ones(groups), regions)


def test_a_comparison_is_scipys_and_scikit_learns():
    found, reference = composition(0, 20), composition(1, 20)
    comparison = compare(found, reference)
    for column, each in enumerate(comparison.groups):
        rho = np.corrcoef(found[:, column], reference[:, column])[0, 1]
        assert each.rho == pytest.approx(rho)
        margin = stats.norm.ppf(0.975) / math.sqrt(17)
        assert each.rho_low == pytest.approx(math.tanh(math.atanh(rho) - margin))
        assert each.rho_high == pytest.approx(math.tanh(math.atanh(rho) + margin))
        t = rho * math.sqrt(18 / (1 - rho**2))
        assert each.p_value == pytest.approx(2 * stats.t.sf(abs(t), 18))
    predicted = LinearRegression().fit(found, reference).predict(found)
    assert comparison.r2 == pytest.approx(r2_score(reference, predicted))


def test_numbers_that_are_not_defined_are_nan():
    found, reference = composition(2, 6), composition(3, 6)
    assert math.isfinite(compare(found, reference).r2)
    assert math.isnan(compare(found[:5], reference[:5]).r2)
    assert math.isnan(compare(found[:3], reference[:3]).groups[0].rho)
    found[:, 0] = 0.2
    still = compare(found, reference).groups[0]
    assert all(math.isnan(each) for each in (still.rho, still.rho_low, still.rho_high, still.p_value))
    reference[:, 1] = 0.1
    assert math.isnan(compare(found, reference).r2)
    with pytest.raises(ValueError, match="Shares of shape"):
        compare(found, reference[:, :2])


def test_a_table_is_read_with_a_mark_quotes_and_blank_lines():
    text = (
        '\ufeff"state",White ,"Black, or African American"\r\n\r\n"Ohio", 0.8,1e-1\r\nGeorgia,1,0\r\n,,\r\n'
    )
    reference = read_reference(text)
    assert reference.regions == ("Ohio", "Georgia")
    assert reference.groups == ("White", "Black, or African American")
    assert reference.shares == ((0.8, 0.1), (1.0, 0.0))
    assert read_reference("country,a,b\nGeorgia,1,0\nGermany,0,1").regions == ("Georgia", "Germany")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The table is empty. Write"),
        ("\n \n", "The table is empty. Write"),
        ("state\n", "Row 1 names no group"),
        ("state,a\n", "The table has no region"),
        (",a,\nOhio,1,1", "Row 1, column 3: the group must have a name"),
        (",a,b,a\nOhio,1,0,0", "Row 1: the group 'a' has two columns. Remove one"),
        (",a,b\nOhio,1", "Row 2 has 2 cells and the first row 3"),
        (",a\n\nOhio,0,5", "Row 3 has 3 cells and the first row 2"),
        (",a\n,1", "Row 2: the region must have a name"),
        (",a,b\nOhio,1,x", "Row 2, column 'b': 'x' is not a number"),
        (",a\nOhio,1\nUtah,1", "has one group only, 'a'.* Add a column for each group"),
        (",a\nOhio,", "Row 2, column 'a': '' is not a number"),
        (",a\nOhio,nan", "'nan' is not a number"),
        (",a\nOhio,0_1", "'0_1' is not a number"),
        (",a\nOhio,\u0661", "is not a number"),
        (",a\nOhio,56.9", "Row 2, column 'a': 56.9 is not from 0 to 1. Divide percentages by 100"),
        (",a\nOhio,-0.1", "-0.1 is not from 0 to 1"),
        (",a\nOhio,inf", "inf is not from 0 to 1"),
        (",a\nOhio,1\nUtah,1\nohio,1", "Row 4: the region 'ohio' is in row 2 already. Remove one"),
        (",a\nOhoi,1\nUtah,1", "Unknown region: 'Ohoi' \\(row 2\\). Did you mean 'Ohio'"),
        (",a\nOhio,1\nUtah,0\nGermany,1", "Unknown region: 'Germany' \\(row 4\\). Name states"),
        (",a\nGermany,1\nFrance,1\nAtlantis,1", "Unknown region: 'Atlantis' \\(row 4\\)"),
        (',a\n"Ohio,1', "Row 2 is not CSV: .* close each quote"),
        (",a\n" + "x" * 1_000_001, "at most 1000000"),
        (",a\n" + "\n".join(f"Nowhere {n},1" for n in range(7)), "and 2 more"),
    ],
)
def test_a_wrong_table_is_refused_with_row_column_and_cure(text, message):
    with pytest.raises(ReferenceRefused, match=message):
        read_reference(text)


REGIONS = Reference(regions=("Ohio", "Utah", "Iowa"), groups=("a", "b"), shares=((0.5, 0.5),) * 3)


def test_other_variables_are_any_numbers_for_some_of_the_regions():
    found = read_variables('\ufeffwhere,bias,"votes, all"\nIowa, -1.5,2e9\n\nOhio,0.25,80\n', REGIONS)
    assert (found.regions, found.names) == (("Iowa", "Ohio"), ("bias", "votes, all"))
    assert found.values == ((-1.5, 2e9), (0.25, 80.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Write a row of variables"),
        ("state\n", "Row 1 names no variable"),
        (",a\nOhio,1\nOhoi,1", "Row 3: the reference has no region 'Ohoi'. Did you mean 'Ohio'"),
        (",a\nOhio,inf", "Row 2, column 'a': 'inf' is not a finite number"),
        (",a\nOhio,", "'' is not a finite number. Write one"),
        (",a\nOhio,1,2", "one number for each variable"),
    ],
)
def test_a_wrong_table_of_variables_is_refused(text, message):
    with pytest.raises(ReferenceRefused, match=message):
        read_variables(text, REGIONS)


@pytest.mark.parametrize(
    ("regions", "still", "said"),
    [
        (3, "", "at least four regions"),
        (6, "found", "its shares do not"),
        (6, "reference", "its reference does"),
    ],
)
def test_a_correlation_that_is_not_defined_says_why(regions, still, said):
    sides = {"found": composition(2, regions), "reference": composition(3, regions)}
    if still:
        sides[still][:, 1] = 0.25
    correlation = compare(**sides).groups[1]
    assert math.isnan(correlation.rho)
    assert said in correlation_in_words("b", correlation)


def test_names_and_numbers_keep_together_in_a_sentence_from_right_to_left():
    with translation.override("ar"):
        said = correlation_in_words("b", Correlation(0.5, 0.1, 0.8, p_value=0.04, n_regions=6))
        assert "\N{LEFT-TO-RIGHT ISOLATE}rho = 0.50 [0.10, 0.80]\N{POP DIRECTIONAL ISOLATE}" in said
        white = "\N{LEFT-TO-RIGHT ISOLATE}“White”\N{POP DIRECTIONAL ISOLATE}"
        assert names(["White"]) == quoted(["White"]) == white


@pytest.mark.release
def test_the_authors_table_is_read(released):
    theirs = read_reference(
        (released / "american_white" / "race_stats_df_proportional.csv").read_text(encoding="utf-8")
    )
    assert theirs.groups == ("White", "Black", "Asian", "Hispanic")
    assert sorted(theirs.regions) == sorted(US_STATES)
    assert all(sum(row) == pytest.approx(1) for row in theirs.shares)
    perfect = compare(np.array(theirs.shares), np.array(theirs.shares))
    assert [each.rho for each in perfect.groups] == pytest.approx([1] * 4)
    assert perfect.r2 == pytest.approx(1)
