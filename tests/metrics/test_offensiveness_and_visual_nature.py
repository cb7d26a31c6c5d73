"""O(id) (PROTOCOL §7) and the visual-nature rules (§2): bad input, invariance, theory, pandas, degenerate."""

import numpy as np
import pandas as pd
import pytest

from metrics.stats import offensiveness as off
from metrics.stats import visual_nature as vis

NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: off.offensiveness(1.5, [1], [0.0]), "between 0 and 1"),
        (lambda: off.offensiveness(0.5, [1], [5.0]), "from -1.0 to 4.0"),
        (lambda: off.offensiveness(0.5, [1, 2], [1.0]), "\\(2,\\) is needed"),
        (lambda: off.offensiveness(0.5, [-1], [1.0]), "negative"),
        (lambda: off.scaled([[1.0]]), "2 dimensions"),
        (lambda: off.scaled([float("inf")]), "is finite"),
        (lambda: vis.is_visual([[1, 2, 3]]), "3 columns"),
        (lambda: vis.is_visual([[0] * 5], at_least=0), "at least 1 annotator"),
        (lambda: vis.consensus([[0] * 5], at_least=0), "at least 1 annotator"),
        (lambda: vis.by_mean([[0] * 5], at_least=6), "scores go from 1 to 5"),
        (lambda: vis.mean_scores([[0.5] * 5]), "it holds 0.5"),
    ],
)
def test_bad_input_is_refused_with_its_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_offensiveness_does_not_depend_on_the_order_of_attributes():
    first = off.offensiveness(0.3, [1, 0, 2], [1.0, 2.0, 3.5])
    assert first == off.offensiveness(0.3, [2, 1, 0], [3.5, 1.0, 2.0])


def test_offensiveness_is_proportional_to_the_likelihood_and_ignores_how_often():
    one = off.offensiveness(0.2, [1, 1], [1.0, 3.0])
    assert off.offensiveness(0.4, [9, 5], [1.0, 3.0]).value == pytest.approx(2 * one.value)


def test_only_what_was_marked_present_and_rated_counts():
    found = off.offensiveness(0.5, [1, 0, 3, 2], [2.0, 4.0, NAN, -1.0])
    assert (found.value, found.n, found.unrated) == (0.25, 2, 1)


def test_a_group_with_nothing_present_has_no_score_which_is_not_zero():
    assert np.isnan(off.offensiveness(0.0, [0, 0], [1.0, 2.0]).value)
    assert np.isnan(off.offensiveness(0.5, [], []).value)
    assert np.isnan(off.offensiveness(0.5, [1], [NAN]).value)


def test_resamples_follow_the_same_rule_one_by_one():
    rng = np.random.default_rng(1)
    l_stereo, selected = rng.random(50), rng.integers(0, 3, (50, 4)).astype(float)
    ratings = [1.0, NAN, -1.0, 3.0]
    one_by_one = [
        off.offensiveness(like, k.astype(int), ratings).value
        for like, k in zip(l_stereo, selected, strict=True)
    ]
    np.testing.assert_allclose(off.resampled(l_stereo, selected, ratings), one_by_one)


def test_scaling_goes_from_0_to_1_and_keeps_the_order():
    values = np.array([0.3, -0.2, NAN, 1.1])
    found = off.scaled(values)
    np.testing.assert_allclose(found, off.scaled(values * 7 + 3))
    assert (found[1], found[3]) == (0, 1)
    assert np.isnan(found[2])


@pytest.mark.parametrize("values", [[], [2.0], [1.0, 1.0], [NAN, NAN]])
def test_where_nothing_differs_there_is_nothing_to_scale(values):
    assert np.isnan(off.scaled(values)).all()


def random_ratings(units=200, seed=2):
    scores = np.random.default_rng(seed).integers(1, 6, (units, 3))
    return scores, np.stack([(scores == value).sum(axis=1) for value in vis.SCALE], axis=1)


def test_the_rules_and_the_consensus_are_those_of_a_plain_pandas_program():
    scores, table = random_ratings()
    frame = pd.DataFrame(scores)
    assert vis.is_visual(table).tolist() == (frame >= 4).all(axis=1).tolist()
    assert vis.is_visual(table, at_least=2).tolist() == ((frame >= 4).sum(axis=1) >= 2).tolist()
    np.testing.assert_allclose(vis.mean_scores(table), frame.mean(axis=1))
    expected = [100 * ((frame == value).sum(axis=1) >= 2).mean() for value in vis.SCALE]
    np.testing.assert_allclose(vis.consensus(table).percent, expected)


def test_a_stricter_rule_never_finds_more():
    _, table = random_ratings()
    found = [set(np.flatnonzero(vis.is_visual(table, at_least=number))) for number in (1, 2, 3)]
    assert found[0] >= found[1] >= found[2]
    assert set(np.flatnonzero(vis.is_visual(table))) == found[2]


def test_there_is_no_majority_vote_unless_it_is_asked_for():
    two_of_three = [[0, 1, 0, 0, 2]]
    assert not vis.is_visual(two_of_three)[0]
    assert vis.is_visual(two_of_three, at_least=2)[0]


def test_unsure_does_not_count_as_agreement():
    assert not vis.is_visual([[0, 0, 1, 0, 2]])[0]


def test_consensus_does_not_merge_agree_with_strongly_agree():
    assert vis.consensus([[0, 0, 0, 1, 1]]).percent == (0, 0, 0, 0, 0)


def test_an_attribute_that_nobody_rated_is_not_visual_and_has_no_mean():
    nobody = [[0, 0, 0, 0, 0]]
    assert not vis.is_visual(nobody)[0]
    assert not vis.by_mean(nobody, at_least=1)[0]
    assert np.isnan(vis.mean_scores(nobody)[0])
    assert vis.consensus(nobody).units == 0
    assert np.isnan(vis.consensus(nobody).percent).all()
