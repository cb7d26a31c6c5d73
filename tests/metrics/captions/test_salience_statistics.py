"""Salience: tf with additive smoothing, times idf (PROTOCOL §8)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.captions.stats.salience import inverse_document_frequency, salience, term_frequency


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: term_frequency([1, -1]), "matches must be counts; it holds -1"),
        (lambda: term_frequency([0.5]), "matches must be counts, that is whole numbers; it holds 0.5"),
        (lambda: term_frequency(3), "0 dimensions; 1 are needed"),
        (lambda: term_frequency([1], smoothing=-1), "smoothing is -1; a constant of at least 0"),
        (lambda: term_frequency([1], smoothing=float("nan")), "smoothing is nan"),
        (lambda: term_frequency([1], absent=-1), "absent is -1"),
        (lambda: inverse_document_frequency([4], 3), "in 4 of 3 documents: more than there are"),
        (lambda: inverse_document_frequency([1], -3), "documents must be counts; it holds -3"),
        (lambda: salience([1, 2], [1], 3), "matches has 2 columns and document_frequency 1"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


counts = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=1, max_size=12)


@given(counts, st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_attributes_does_not_matter(rows, smoothing, random):
    order = random.sample(range(len(rows)), len(rows))
    k, df = (np.array(column) for column in zip(*rows, strict=True))
    first = salience(k, df, 20, smoothing=smoothing)
    np.testing.assert_allclose(salience(k[order], df[order], 20, smoothing=smoothing), first[order])


@given(counts)
def test_saying_everything_more_often_changes_nothing_without_smoothing(rows):
    k, df = (np.array(column) for column in zip(*rows, strict=True))
    np.testing.assert_allclose(salience(k, df, 20, smoothing=0), salience(7 * k, df, 20, smoothing=0))


@given(counts, st.floats(0.01, 10), st.integers(0, 9))
def test_smoothed_frequencies_sum_to_one_with_those_that_are_absent(rows, smoothing, absent):
    k = np.array([row[0] for row in rows])
    tf = term_frequency(k, smoothing=smoothing, absent=absent)
    each = smoothing / (k.sum() + smoothing * (len(k) + absent))
    assert tf.sum() + absent * each == pytest.approx(1)
    whole = term_frequency([*k, *[0] * absent], smoothing=smoothing)
    np.testing.assert_allclose(tf, whole[: len(k)])


def test_of_two_as_frequent_the_rarer_among_documents_is_more_salient():
    rare, common = salience([5, 5], [1, 9], 10)
    assert rare > common


def test_of_two_as_rare_the_more_frequent_is_more_salient():
    often, seldom = salience([5, 2], [3, 3], 10)
    assert often > seldom


def test_what_every_document_holds_has_an_idf_of_one_and_nothing_less():
    assert inverse_document_frequency([10, 0], 10).tolist() == [1.0, 1 + math.log(11)]


def slow(k, df, documents, smoothing):
    """The formulas of PROTOCOL §8, one attribute at a time."""
    total = 0.0
    for one in k:
        total += one + smoothing
    return [
        (one + smoothing) / total * (math.log((1 + documents) / (1 + held)) + 1)
        for one, held in zip(k, df, strict=True)
    ]


@pytest.mark.parametrize("smoothing", [0, 0.5, 1, 3])
def test_the_same_as_one_attribute_at_a_time(smoothing):
    rng = np.random.default_rng(8)
    k, df = rng.integers(0, 40, (6, 30)), rng.integers(0, 12, 30)
    found = salience(k, df, 12, smoothing=smoothing)
    for row, of_group in zip(found, k.tolist(), strict=True):
        assert row.tolist() == pytest.approx(slow(of_group, df.tolist(), 12, smoothing), rel=1e-12)


def test_idf_is_that_of_a_table_of_scikit_learn():
    """TfidfTransformer(smooth_idf=True, norm=None), scikit-learn 1.9.1, fitted to
    [[3, 0, 1], [2, 0, 0], [3, 0, 0], [4, 0, 0], [3, 2, 0], [3, 0, 2]], the example of its user guide:
    idf_ = [1.0, 2.2527629685, 1.8472978604]; its first row becomes [3, 0, 1.8472978604]."""
    table = np.array([[3, 0, 1], [2, 0, 0], [3, 0, 0], [4, 0, 0], [3, 2, 0], [3, 0, 2]])
    idf = inverse_document_frequency((table > 0).sum(axis=0), len(table))
    assert idf.tolist() == pytest.approx([1.0, 2.2527629685, 1.8472978604], abs=1e-9)
    assert (table[0] * idf).tolist() == pytest.approx([3, 0, 1.8472978604], abs=1e-9)


def test_every_resample_has_its_own_documents():
    stacked = salience([[3, 1], [0, 2]], [[2, 1], [0, 3]], [5, 4])
    for row, (k, df, documents) in enumerate((([3, 1], [2, 1], 5), ([0, 2], [0, 3], 4))):
        np.testing.assert_allclose(stacked[row], salience(k, df, documents))


def test_a_group_of_which_nothing_is_said_is_undefined_unless_it_is_smoothed():
    assert np.isnan(salience([0, 0], [1, 0], 3, smoothing=0)).all()
    assert term_frequency([0, 0]).tolist() == [0.5, 0.5]
    assert term_frequency([]).tolist() == []
    assert salience([], [], 0).tolist() == []


def test_without_documents_the_rarest_is_as_rare_as_the_rest():
    assert inverse_document_frequency([0, 0], 0).tolist() == [1.0, 1.0]
