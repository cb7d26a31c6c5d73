"""Each annotator's agreement with the others: bad input, invariance, theory, a plain program, degenerate."""

import numpy as np
import pytest

from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR
from metrics.quality.stats import agreement_with_others


def table_of(said) -> Ratings:
    """Ratings of labels `said` (annotators, units), -1 where there is none."""
    unit, rater = np.nonzero(said.T >= 0)
    return Ratings(np.eye(3, dtype=int)[said.T[unit, rater]], unit, unit, rater)


def random_labels(seed=0, raters=6, units=40):
    rng = np.random.default_rng(seed)
    said = rng.integers(0, 3, (raters, units))
    said[rng.random(said.shape) < 0.4] = -1
    return said


def test_rows_out_of_order_are_refused():
    with pytest.raises(ValueError, match="sorted by cluster"):
        agreement_with_others(
            Ratings(np.eye(2, dtype=int), np.array([1, 0]), np.array([1, 0]), np.array([1, 2]))
        )


def test_the_names_of_annotators_and_values_do_not_matter():
    table = table_of(random_labels())
    found = agreement_with_others(table)
    other = agreement_with_others(
        Ratings(table.counts[:, ::-1], table.units, table.clusters, table.raters * 3 + 8)
    )
    np.testing.assert_array_equal(found.same, other.same)
    np.testing.assert_allclose(found.by_chance, other.by_chance)
    np.testing.assert_array_equal(other.raters, found.raters * 3 + 8)
    np.testing.assert_array_equal(found.given, other.given[:, ::-1])


def test_the_sum_over_annotators_counts_every_pair_twice():
    said = random_labels()
    found = agreement_with_others(table_of(said))
    per_unit = (said >= 0).sum(axis=0)
    assert found.pairs.sum() == (per_unit * (per_unit - 1)).sum()
    assert found.given.sum() == (said >= 0).sum()


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_plain_program_counts_the_same(seed):
    said = random_labels(seed)
    found = agreement_with_others(table_of(said))
    for place, rater in enumerate(found.raters):
        others = [r for r in range(len(said)) if r != rater]
        elsewhere = [said[r, u] for r in others for u in range(said.shape[1]) if said[r, u] >= 0]
        same, pairs, chance = 0, 0, 0.0
        for unit in range(said.shape[1]):
            own = said[rater, unit]
            if own < 0:
                continue
            met = [said[r, unit] for r in others if said[r, unit] >= 0]
            same += met.count(own)
            pairs += len(met)
            chance += len(met) * elsewhere.count(own) / len(elsewhere)
        assert (found.same[place], found.pairs[place]) == (same, pairs)
        assert found.by_chance[place] == pytest.approx(chance)


def test_who_answers_by_chance_agrees_as_chance_does_and_who_knows_agrees_more():
    rng = np.random.default_rng(1)
    truth = rng.choice(3, 2000, p=[0.7, 0.2, 0.1])
    said = np.tile(truth, (4, 1))
    said[3] = rng.choice(3, 2000, p=[0.7, 0.2, 0.1])
    found = agreement_with_others(table_of(said))
    above = found.same / found.pairs - found.by_chance / found.pairs
    assert above[3] == pytest.approx(0, abs=0.03)
    assert (above[:3] > 0.2).all()


def test_nobody_known_counts_among_the_others_only():
    counts = np.array([[2, 0, 0], [1, 0, 0]])
    found = agreement_with_others(
        Ratings(counts, np.zeros(2, int), np.zeros(2, int), np.array([UNKNOWN_ANNOTATOR, 7]))
    )
    assert (found.raters.tolist(), found.same.tolist(), found.pairs.tolist()) == ([7], [2], [2])


def test_a_unit_rated_twice_by_the_same_is_no_pair_with_oneself():
    table = Ratings(np.eye(3, dtype=int)[[0, 0]], np.zeros(2, int), np.zeros(2, int), np.array([7, 7]))
    found = agreement_with_others(table)
    assert (found.given.tolist(), found.pairs.tolist(), found.by_chance.tolist()) == ([[2, 0, 0]], [0], [0])


def test_without_ratings_there_is_nobody():
    none = np.zeros(0, dtype=int)
    found = agreement_with_others(Ratings(np.zeros((0, 3), dtype=int), none, none, none))
    assert len(found.raters) == len(found.same) == len(found.by_chance) == 0
