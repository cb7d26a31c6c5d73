"""Intervals of shares as they would be if the answers came from few people who differ."""

import numpy as np
import pytest

from metrics.core.stats import clustered, sensitivity
from metrics.core.stats.influence import Influences, influences
from metrics.core.stats.scales import SHARE


def share(rng, *, people, deviation, identified, images=15, each=3) -> tuple[float, Influences]:
    """A share of answers, with influences; people have normal effects on its logit."""
    who = np.concatenate([rng.permutation(people)[:each] for _ in range(images)])
    of = np.repeat(np.arange(images), each)
    logit = rng.normal(size=images)[of] + deviation * rng.normal(size=people)[who]
    chosen = (rng.random((len(who), 6)) < 1 / (1 + np.exp(-logit))[:, None]).mean(axis=1)
    d = (chosen - chosen.mean())[:, None] / len(chosen)
    return chosen.mean(), influences(d, images=of, annotators=who if identified else -1 - who)


def test_the_variance_of_annotators_is_found():
    """Of people with a standard deviation of 1 in logits, flattened by the images' own differences."""
    rng = np.random.default_rng(0)
    found = [share(rng, people=20, deviation=1.0, identified=True, images=40) for _ in range(60)]
    variances = [sensitivity.annotator_variances([p], one)[0] for p, one in found]
    assert 0.5 < np.median(variances) < 1.0
    none = [share(rng, people=20, deviation=0.0, identified=True, images=40) for _ in range(60)]
    assert abs(np.median([sensitivity.annotator_variances([p], one)[0] for p, one in none])) < 0.1


def test_there_is_none_of_unknown_people_or_at_the_ends():
    rng = np.random.default_rng(1)
    p, one = share(rng, people=5, deviation=1.0, identified=False)
    assert np.isnan(sensitivity.annotator_variances([p], one)).all()
    _, known = share(rng, people=5, deviation=1.0, identified=True)
    assert np.isnan(sensitivity.annotator_variances([0.0], known)).all()


def test_widened_intervals_hold_the_truth_where_plain_ones_do_not():
    rng = np.random.default_rng(2)
    # by quadrature: 0.87 logits of a person's share over images, whose mean is a half
    plain, wider = [], []
    for _ in range(300):
        p, one = share(rng, people=12, deviation=1.0, identified=False)
        more = sensitivity.with_annotators([p], one, deviation=0.87, people=12)
        for held, found in ((plain, one), (wider, more)):
            (interval,) = clustered.intervals([p], found, SHARE)
            held.append(interval.low <= 0.5 <= interval.high)
    assert np.mean(plain) < 0.91
    assert 0.92 <= np.mean(wider) <= 0.98


def test_more_people_narrow_it_and_none_who_differ_leave_it():
    p, one = share(np.random.default_rng(3), people=12, deviation=1.0, identified=False)

    def error(deviation, people):
        more = sensitivity.with_annotators([p], one, deviation=deviation, people=people)
        return more.standard_errors()[0][0]

    [images] = one.standard_errors()[0]
    assert error(0.0, 12) == pytest.approx(images)
    assert error(1.0, 12) ** 2 - images**2 == pytest.approx((p * (1 - p)) ** 2 / 12)
    assert images < error(1.0, 30) < error(1.0, 12)
    [plain], [same] = (
        clustered.intervals([p], each, SHARE)
        for each in (one, sensitivity.with_annotators([p], one, deviation=0.0, people=12))
    )
    assert (same.low, same.high) == pytest.approx((plain.low, plain.high))  # not narrower
