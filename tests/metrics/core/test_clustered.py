"""Intervals and p from influences (PROTOCOL §10)."""

import numpy as np
import pytest
from scipy import stats

from metrics.core.stats import clustered, means, spread
from metrics.core.stats.influence import influences
from metrics.core.stats.scales import COEFFICIENT, NUMBER, PER_CENT, RATIO, SHARE, Scale


def of(se, *, clusters=10, step=0.001):
    """Influences with this standard error, clusters - 1 degrees of freedom, and this step."""
    values = np.where(np.arange(clusters) % 2, 1.0, -1.0)[:, None] * np.atleast_1d(se)
    found = influences(
        values / np.sqrt(clusters) * np.sqrt((clusters - 1) / clusters),
        images=np.arange(clusters),
        annotators=np.full(clusters, -1),
        step=np.full(np.size(se), step),
    )
    errors, freedom = found.standard_errors()
    assert errors == pytest.approx(np.maximum(se, step))
    assert freedom == pytest.approx(clusters - 1)
    return found


T = stats.t.ppf(0.975, 9)


def test_a_number_has_a_t_interval():
    [found] = clustered.intervals([3.0], of(0.5), NUMBER)
    assert (found.low, found.high) == pytest.approx((3 - T * 0.5, 3 + T * 0.5))
    assert found.infinite is None
    assert found.undefined is None


def test_a_share_is_symmetric_on_the_logit_scale():
    [found] = clustered.intervals([0.2], of(0.05), SHARE)
    logit = [np.log(bound / (1 - bound)) for bound in (found.low, 0.2, found.high)]
    assert logit[1] - logit[0] == pytest.approx(T * 0.05 / (0.2 * 0.8))
    assert logit[2] - logit[1] == pytest.approx(logit[1] - logit[0])
    [percent] = clustered.intervals([20.0], of(5.0), PER_CENT)
    assert (percent.low, percent.high) == pytest.approx((100 * found.low, 100 * found.high))


def test_a_ratio_is_symmetric_on_the_logarithmic_scale_and_a_coefficient_on_fishers():
    ratio, coefficient = clustered.intervals([2.0, 0.4], of([0.3, 0.1]), [RATIO, COEFFICIENT])
    assert (ratio.low, ratio.high) == pytest.approx((2 * np.exp(-T * 0.15), 2 * np.exp(T * 0.15)))
    reach = T * 0.1 / (1 - 0.4**2)
    ends = np.tanh([np.arctanh(0.4) - reach, np.arctanh(0.4) + reach])
    assert (coefficient.low, coefficient.high) == pytest.approx(tuple(ends))


@pytest.mark.parametrize(
    ("value", "scale"), [(0.0, SHARE), (1.0, SHARE), (1.0, COEFFICIENT), (4.0, Scale(-1, 4)), (0.0, RATIO)]
)
def test_what_was_never_seen_has_a_bound_all_the_same(value, scale):
    [found] = clustered.intervals([value], of(0.0, step=0.01), scale)
    assert found.low < found.high
    assert value in (found.low, found.high)
    assert scale.low <= found.low
    assert found.high <= scale.high


def test_none_of_n_has_the_bound_of_clopper_and_pearson():
    """With as many clusters as answers it is that of n; with few clusters wider."""
    [many] = clustered.intervals([0.0], of(0.0, clusters=4000, step=1 / 40), SHARE)
    assert many.low == 0
    assert many.high == pytest.approx(1 - 0.025 ** (1 / 40), rel=0.01)
    assert many.high == pytest.approx(stats.beta.ppf(0.975, 1, 40), rel=0.01)
    [few] = clustered.intervals([0.0], of(0.0, clusters=5, step=1 / 40), SHARE)
    assert few.high > 1.5 * many.high
    [ratio] = clustered.intervals([0.0], of(0.0, clusters=4000, step=1 / 40), RATIO)
    assert ratio.high == pytest.approx(stats.chi2.ppf(0.975, 2) / 2 / 40, rel=0.01)  # a Poisson number of 0


def test_the_bound_at_an_end_does_not_depend_on_the_units_of_the_score():
    one = of(0.0, step=1 / 40)
    [share] = clustered.intervals([1.0], one, SHARE)
    for scale in (PER_CENT, Scale(0.0, 3.0)):
        [found] = clustered.intervals([scale.high], one.scaled(scale.high), scale)
        assert found.low == pytest.approx(scale.high * share.low)
    [mean] = means.mean_influences([4.0] * 9, np.ones((9, 1), bool), range(9), scale=Scale(-1.0, 4.0))
    [same] = means.mean_influences([1.0] * 9, np.ones((9, 1), bool), range(9), scale=SHARE)
    [rating], [share] = (
        clustered.intervals([end], each, scale)
        for end, each, scale in ((4.0, mean, Scale(-1.0, 4.0)), (1.0, same, SHARE))
    )
    assert rating.low == pytest.approx(5 * share.low - 1)
    assert mean.standard_errors()[0] == pytest.approx(1 / 9)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_undefined_or_infinite_score_has_no_interval(value):
    [found] = clustered.intervals([value], of(0.1), RATIO)
    assert np.isnan(found.low)
    assert np.isnan(found.high)


@pytest.mark.filterwarnings("error")
def test_what_cannot_vary_has_neither_interval_nor_p():
    for scale in (NUMBER, RATIO, SHARE):
        [found] = clustered.intervals([0.5], of(0.0, step=0.0), scale)
        assert np.isnan([found.low, found.high]).all()
    assert clustered.intervals([0.5], of(0.1), Scale(0.5, 0.5)) == [clustered.NONE]
    assert np.isnan(clustered.two_sided_p([0.0, 0.5], of([0.0, 0.0], step=0.0))).all()


def test_bounds_stay_within_the_scale_however_large_the_error():
    for scale, value in ((SHARE, 0.5), (COEFFICIENT, -0.9), (RATIO, 0.1)):
        [found] = clustered.intervals([value], of(50.0), scale)
        assert scale.low <= found.low < value < found.high <= scale.high


def test_the_value_is_within_however_the_ends_are_rounded():
    scale = Scale(0.0, 0.1 + 0.2)
    for value in (0.3, 0.1 + 0.2, np.nextafter(0.1 + 0.2, 1)):
        [found] = clustered.intervals([value], of(1e-17, step=1e-18), scale)
        assert found.low <= value <= found.high
    for value, end in ((1e-14, 0.0), (1 - 1e-14, 1.0)):  # what was rounded is at the end
        [found] = clustered.intervals([value], of(0.1), SHARE)
        assert end in (found.low, found.high)
    assert clustered.around(0.5, clustered.NONE) is clustered.NONE


def test_p_is_that_of_t_and_agrees_with_the_interval():
    found = of([0.5, 0.5])
    p = clustered.two_sided_p([1.0, T * 0.5], found)
    assert p == pytest.approx([2 * stats.t.sf(2.0, 9), 0.05])
    assert np.isnan(clustered.two_sided_p([np.inf, -np.inf], found)).all()


def test_a_difference_has_an_interval_and_p_by_either_method():
    one, two = of([0.1]), of([0.1])
    [found] = spread.difference([0.5], [0.5], (one, two))
    assert found.value == 0
    assert found.p == 1
    samples = np.array([[0.4], [0.5], [0.6]])
    [drawn] = spread.difference([0.5], [0.2], (samples, samples - 0.3))
    assert drawn.interval.low == pytest.approx(0.3)
    assert drawn.interval.undefined == 0


def test_a_mean_is_over_the_groups_that_have_a_value():
    one, two = of([0.1, 0.1]), of([0.3, 0.3])
    mean = spread.mean([one, two], np.array([[True, True], [True, False]]))
    assert mean.many_items  # images of several groups may be many more than people
    first, second = one.images.change, two.images.change
    assert mean.images.change == pytest.approx(np.column_stack([(first + second)[:, 0] / 2, first[:, 1]]))
    drawn = [np.array([[1.0, 3.0], [np.nan, 5.0]]), np.array([[np.nan, 4.0], [np.nan, 6.0]])]
    np.testing.assert_array_equal(spread.mean(drawn, np.ones((2, 2), bool)), [[1, 3.5], [np.nan, 5.5]])


def test_without_resamples_there_is_no_interval():
    assert spread.intervals(None, [0.5, 0.6]) == [None, None]
    assert spread.intervals(np.zeros((0, 2)), [0.5, 0.6]) == [None, None]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_is_within_what_its_two_scales_allow(sign):
    [found] = spread.linear_difference([sign * 3.5], [0.0], of(5.0), ((Scale(-4, 4),), (Scale(-1, 1),)))
    assert (found.interval.low, found.interval.high) == (-5, 5)
    [near] = spread.linear_difference([sign * 3.5], [0.0], of(0.1), ((Scale(-4, 4),), (Scale(-1, 1),)))
    assert near.interval.high - near.interval.low == pytest.approx(2 * T * 0.1)


def test_intervals_and_p_of_biased_scores_are_those_without_the_bias():
    """Each interval holds its score all the same."""
    found = influences(
        [[-0.1, -0.1], [0.1, 0.1], [0.05, 0.05], [-0.05, -0.05]], images=range(4), annotators=[-1] * 4
    )
    moved = clustered.intervals([0.3, 0.3], found, SHARE, centres=[0.6, float("nan")])
    there, here = clustered.intervals([0.6, 0.3], found, SHARE)
    assert moved == [there, here]
    [far] = clustered.intervals([0.01], found.columns([0]), SHARE, centres=[0.6])
    assert (far.low, far.high) == (0.01, there.high)
    one, other = found.columns([0]), found.columns([1])
    [apart] = spread.linear_difference([0.5], [0.2], one, centres=[0.4])
    [same] = spread.linear_difference([0.4], [0.0], one)
    assert (apart.value, apart.interval, apart.p) == (pytest.approx(0.3), same.interval, same.p)
    assert spread.intervals(other, [0.3], SHARE, centres=[0.6]) == [there]
