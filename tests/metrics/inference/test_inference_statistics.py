"""%E and M(E), computed again in plain Python, and the coverage of their intervals."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from metrics.inference.stats import Tally, entailment, tally


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def answers(seed: int, *, groups: int = 9) -> list[tuple[str, float, bool]]:
    """(group, probability of entailment, whether it is the label): groups of different sizes."""
    draws = random.Random(seed)
    rows = []
    for group in range(groups):
        for _ in range(draws.randint(1, 30)):
            p = draws.random()
            rows.append((f"group {group}", p, p > draws.uniform(0.3, 0.6)))
    draws.shuffle(rows)
    return rows


def counted(rows) -> Tally:
    groups, probabilities, entailed = zip(*rows, strict=True)
    return tally(groups, probabilities, entailed)


@pytest.mark.parametrize("seed", range(3))
def test_the_three_numbers_are_those_of_a_plain_loop(seed):
    rows = answers(seed)
    found = entailment(counted(rows), resamples=0, rng=rng())
    entailed = [p for _, p, label in rows if label]
    assert (found.n_groups, found.n_pairs, found.n_entailed) == (9, len(rows), len(entailed))
    assert found.share.value == pytest.approx(len(entailed) / len(rows), abs=1e-12)
    assert found.mean_of_entailed.value == pytest.approx(math.fsum(entailed) / len(entailed), abs=1e-12)
    assert found.mean_of_all.value == pytest.approx(math.fsum(p for _, p, _ in rows) / len(rows), abs=1e-12)
    assert math.isnan(found.share.low)


def test_intervals_are_those_of_groups_drawn_one_by_one():
    """Drawn here with a list of whole groups, with another generator: equal up to what chance does."""
    rows = answers(5)
    found = entailment(counted(rows), resamples=4000, rng=rng())
    by_group: dict[str, list[tuple[float, bool]]] = {}
    for group, p, label in rows:
        by_group.setdefault(group, []).append((p, label))
    draws, values = random.Random(1), []
    for _ in range(4000):
        drawn = [pair for group in draws.choices(list(by_group), k=9) for pair in by_group[group]]
        of_entailed = [p for p, label in drawn if label]
        values.append((len(of_entailed) / len(drawn), np.mean(of_entailed), np.mean([p for p, _ in drawn])))
    for estimate, column in zip(
        (found.share, found.mean_of_entailed, found.mean_of_all), np.array(values).T, strict=True
    ):
        low, high = np.quantile(column, [0.025, 0.975])
        assert estimate.low == pytest.approx(low, abs=0.02)
        assert estimate.high == pytest.approx(high, abs=0.02)
        assert estimate.low <= estimate.value <= estimate.high


def test_pairs_of_a_group_are_no_independent_samples():
    """Ten groups that are all or nothing: an interval over 1000 pairs would be ten times narrower."""
    labels = np.repeat([True, False], 500)
    found = entailment(
        tally(np.repeat(np.arange(10), 100), labels.astype(float), labels), resamples=2000, rng=rng()
    )
    assert found.share.high - found.share.low > 0.5


def test_a_seed_repeats_the_interval():
    one, other = (entailment(counted(answers(2)), resamples=50, rng=rng(7)) for _ in range(2))
    assert one == other


def test_nothing_entailed_has_no_mean_of_entailed():
    found = entailment(tally(["a", "b"], [0.1, 0.3], [False, False]), resamples=20, rng=rng())
    assert (found.share.value, found.share.low, found.share.high) == (0, 0, 0)
    assert math.isnan(found.mean_of_entailed.value)
    assert math.isnan(found.mean_of_entailed.low)
    assert found.mean_of_all.value == pytest.approx(0.2)


def test_resamples_without_an_entailed_pair_are_counted():
    found = entailment(tally(["a", "b"], [0.9, 0.1], [True, False]), resamples=400, rng=rng())
    assert 50 < found.mean_of_entailed.undefined < 150
    assert (found.mean_of_entailed.low, found.mean_of_entailed.high) == (0.9, 0.9)
    assert found.share.undefined == 0


def test_one_group_has_no_interval():
    found = entailment(tally(["a", "a"], [0.9, 0.1], [True, False]), resamples=100, rng=rng())
    assert found.share.value == 0.5
    assert math.isnan(found.share.low)
    assert math.isnan(found.share.high)


def test_no_pair_at_all():
    found = entailment(tally([], [], np.zeros(0, dtype=bool)), resamples=100, rng=rng())
    assert found.n_groups == found.n_pairs == 0
    assert math.isnan(found.share.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"entailed": [3]},
        {"entailed_sum": [1.5]},
        {"sum": [2.5]},
        {"sum": [float("nan")]},
        {"sum": [-0.1]},
        {"sum": [0.5, 0.5]},
    ],
)
def test_impossible_tallies_are_refused(wrong):
    fine = {"pairs": [2], "entailed": [1], "entailed_sum": [0.9], "sum": [1.2]}
    with pytest.raises(ValueError, match=r"[Ss]um|selected"):
        Tally(**{name: np.array(value) for name, value in {**fine, **wrong}.items()})
