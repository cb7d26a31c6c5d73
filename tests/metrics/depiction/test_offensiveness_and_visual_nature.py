"""O(id) (PROTOCOL §7) and the visual-nature rules (§2): bad input, invariance, theory, pandas, degenerate."""

import numpy as np
import pandas as pd
import pytest

from metrics.depiction import stats as off
from metrics.visual_nature import stats as vis

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
        (lambda: vis.agree_counts([1, 2]), "1 dimensions; 2 are needed"),
        (lambda: vis.is_visual([[1, 2, 3]]), "3 columns"),
        (lambda: vis.is_visual([[0] * 5], at_least=0), "at least 1 annotator"),
        (lambda: vis.consensus([[0] * 5], at_least=0), "at least 1 annotator"),
        (lambda: vis.is_visual_by_mean([[0] * 5], at_least=6), "scores go from 1 to 5"),
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
    np.testing.assert_allclose(off.resampled_offensiveness(l_stereo, selected, ratings), one_by_one)


def depictions(groups=40, attributes=9, seed=4):
    """Of each group: L(stereo), how often each attribute was marked present, and its mean rating or NaN."""
    rng = np.random.default_rng(seed)
    ratings = rng.uniform(-1, 4, (groups, attributes))
    ratings[rng.random(ratings.shape) < 0.2] = NAN
    return rng.random(groups), rng.integers(0, 3, ratings.shape), ratings


def by_hand(l_stereo, selected, ratings):
    """The sentence of PROTOCOL §7, read aloud, over rows of a pandas table."""
    rows = pd.DataFrame({"selected": selected, "rating": ratings})
    total, n, unrated = 0.0, 0, 0
    for row in rows.itertuples():
        if row.selected == 0:
            continue
        if pd.isna(row.rating):
            unrated += 1
        else:
            total, n = total + row.rating, n + 1
    return (1 / n * l_stereo * total if n else NAN), n, unrated


def test_offensiveness_is_that_of_a_plain_pandas_program():
    told = 0
    for l_stereo, selected, ratings in zip(*depictions(), strict=True):
        found = off.offensiveness(l_stereo, selected, ratings)
        value, n, unrated = by_hand(l_stereo, selected, ratings)
        assert found.value == pytest.approx(value, rel=1e-12, nan_ok=True)
        assert (found.n, found.unrated) == (n, unrated)
        told += n > 1 and unrated > 0
    assert told > 20


def test_offensiveness_in_resamples_is_that_of_a_plain_pandas_program():
    l_stereo, selected, ratings = depictions(groups=60, attributes=3)
    expected = [by_hand(like, k, ratings[0])[0] for like, k in zip(l_stereo, selected, strict=True)]
    assert np.isnan(expected).any()
    np.testing.assert_allclose(
        off.resampled_offensiveness(l_stereo, selected.astype(float), ratings[0]), expected
    )


def test_the_order_of_attributes_and_of_resamples_does_not_matter():
    l_stereo, selected, ratings = depictions()
    rows, columns = (np.random.default_rng(8).permutation(size) for size in selected.shape)
    plain = off.resampled_offensiveness(l_stereo, selected.astype(float), ratings[0])
    turned = off.resampled_offensiveness(
        l_stereo[rows], selected[np.ix_(rows, columns)].astype(float), ratings[0][columns]
    )
    np.testing.assert_allclose(turned, plain[rows])


def test_a_resample_lies_between_its_likelihood_times_the_least_and_the_largest_rating():
    l_stereo, selected, _ = depictions()
    found = off.resampled_offensiveness(l_stereo, selected.astype(float), np.linspace(-1, 4, 9))
    assert ((-l_stereo <= found) & (found <= 4 * l_stereo)).all()
    # with one rating for all there is nothing between
    same = off.resampled_offensiveness(l_stereo, selected.astype(float), np.full(9, 2.5))
    np.testing.assert_allclose(same, 2.5 * l_stereo)


def test_a_resample_with_nothing_present_or_no_likelihood_has_no_score():
    found = off.resampled_offensiveness(
        np.array([0.5, 0.5, NAN]), np.array([[0.0, 0], [1, 0], [1, 1]]), [1.0, 2.0]
    )
    np.testing.assert_array_equal(found, [NAN, 0.5, NAN])
    assert off.resampled_offensiveness(np.zeros(0), np.zeros((0, 2)), [1.0, 2.0]).shape == (0,)
    with pytest.raises(ValueError, match=r"\(2,\) is needed"):
        off.resampled_offensiveness(np.array([0.5]), np.array([[1.0, 1.0]]), [1.0])


def test_scaling_is_the_formula_of_min_and_max_group_by_group():
    values = [0.4, NAN, -0.7, 2.25, 0.4, 1.0]
    known = sorted(value for value in values if value == value)
    expected = [(value - known[0]) / (known[-1] - known[0]) for value in values]
    np.testing.assert_allclose(off.scaled(values), expected, rtol=1e-12)
    # and by percentiles of pandas, which skips what is missing
    series = pd.Series(values)
    np.testing.assert_allclose(
        off.scaled(values), (series - series.quantile(0)) / (series.quantile(1) - series.quantile(0))
    )


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
    assert vis.agree_counts(table).tolist() == (frame >= 4).sum(axis=1).tolist()
    assert vis.is_visual(table).tolist() == (frame >= 4).all(axis=1).tolist()
    assert vis.is_visual(table, at_least=2).tolist() == ((frame >= 4).sum(axis=1) >= 2).tolist()
    np.testing.assert_allclose(vis.mean_scores(table), frame.mean(axis=1))
    assert vis.is_visual_by_mean(table, at_least=3.5).tolist() == (frame.mean(axis=1) >= 3.5).tolist()
    expected = [100 * ((frame == value).sum(axis=1) >= 2).mean() for value in vis.SCALE]
    np.testing.assert_allclose(vis.consensus(table).percent, expected)


def test_the_order_of_the_attributes_and_of_their_annotators_does_not_matter():
    scores, table = random_ratings()
    rng = np.random.default_rng(6)
    order = rng.permutation(len(table))
    others = rng.permuted(scores, axis=1)  # each attribute's annotators in another order
    turned = np.stack([(others[order] == value).sum(axis=1) for value in vis.SCALE], axis=1)
    for rule in (
        vis.agree_counts,
        vis.is_visual,
        lambda given: vis.is_visual(given, at_least=2),
        vis.mean_scores,
        lambda given: vis.is_visual_by_mean(given, at_least=3.5),
    ):
        np.testing.assert_array_equal(rule(turned), rule(table)[order])
    assert vis.consensus(turned) == vis.consensus(table)


def test_twice_as_many_annotators_who_say_the_same_change_no_mean_and_no_rule_of_all():
    _, table = random_ratings()
    np.testing.assert_array_equal(vis.agree_counts(2 * table), 2 * vis.agree_counts(table))
    np.testing.assert_array_equal(vis.is_visual(2 * table), vis.is_visual(table))
    np.testing.assert_allclose(vis.mean_scores(2 * table), vis.mean_scores(table))
    np.testing.assert_array_equal(
        vis.is_visual_by_mean(2 * table, at_least=4), vis.is_visual_by_mean(table, at_least=4)
    )
    assert vis.consensus(2 * table, at_least=4) == vis.consensus(table, at_least=2)


def test_with_the_scale_turned_round_means_are_mirrored_and_so_is_the_consensus():
    _, table = random_ratings()
    np.testing.assert_allclose(vis.mean_scores(table[:, ::-1]), 6 - vis.mean_scores(table))
    assert vis.consensus(table[:, ::-1]).attributes == vis.consensus(table).attributes[::-1]


def test_a_stricter_rule_never_finds_more():
    _, table = random_ratings()
    found = [set(np.flatnonzero(vis.is_visual(table, at_least=number))) for number in (1, 2, 3)]
    assert found[0] >= found[1] >= found[2]
    by_mean = [set(np.flatnonzero(vis.is_visual_by_mean(table, at_least=score))) for score in (2, 3, 4, 5)]
    assert by_mean[0] >= by_mean[1] >= by_mean[2] >= by_mean[3]
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
    assert vis.agree_counts(nobody).tolist() == [0]
    assert not vis.is_visual(nobody)[0]
    assert not vis.is_visual_by_mean(nobody, at_least=1)[0]
    assert np.isnan(vis.mean_scores(nobody)[0])
    assert vis.consensus(nobody).units == 0
    assert np.isnan(vis.consensus(nobody).percent).all()
