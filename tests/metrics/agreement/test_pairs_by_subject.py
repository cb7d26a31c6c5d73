"""Agreement of many parts of a table at once: each is what its rows give by themselves."""

from __future__ import annotations

from dataclasses import astuple, replace

import krippendorff
import numpy as np
import pytest

from metrics.agreement.stats import coefficients, pairs_by_subject
from metrics.agreement.stats.coefficients import table_of, within, within_each
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR

VALUES = [1, 2, 4]


def generator(part: int) -> np.random.Generator:
    return np.random.default_rng([7, part])


def same(one: coefficients.Within, other: coefficients.Within) -> None:
    for got, expected in zip(flat(astuple(one)), flat(astuple(other)), strict=True):
        assert got == (None if expected is None else pytest.approx(expected, rel=1e-12, nan_ok=True))


def flat(found: object) -> list[object]:
    return [each for one in found for each in flat(one)] if isinstance(found, tuple) else [found]


def mixed(rng: np.random.Generator, *, known: bool) -> tuple[Ratings, np.ndarray]:
    """Ratings of 40 images with 4 units each, rated none to three times; a part has units of many images, and
    the third of four parts has none."""
    units = np.repeat(np.arange(160), 3)
    kept = np.sort(rng.choice(len(units), 300, replace=False))
    units = units[kept]
    counts = np.eye(3, dtype=int)[rng.integers(0, 3, len(units))]
    raters = rng.integers(0, 9, len(units)) if known else np.full(len(units), UNKNOWN_ANNOTATOR)
    part_of_unit = np.array([0, 1, 3])[rng.integers(0, 3, 160)]
    return Ratings(counts, units, units // 4, raters), part_of_unit[units]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("at_once", [1, 90, 10_000])
def test_each_part_is_what_its_rows_give_by_themselves(monkeypatch, known, level, at_once):
    monkeypatch.setattr(pairs_by_subject, "_AT_ONCE", at_once)
    table, part_of = mixed(np.random.default_rng(3), known=known)
    found = within_each(table, part_of, VALUES, parts=4, level=level, resamples=200, rng=generator)
    for part in range(4):
        own = within(table.of(part_of == part), VALUES, level=level, resamples=200, rng=generator(part))
        same(found[part], own)
    assert (found[2].units, found[2].pairs) == (0, 0)
    assert found[0].alpha.interval is not None


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_each_part_has_the_clustered_intervals_that_its_rows_give_by_themselves(known, level):
    table, part_of = mixed(np.random.default_rng(3), known=known)
    # one part agrees on everything: how far below 1 its share may be depends on its own number of ratings
    counts = np.where((part_of == 1)[:, None], np.eye(3, dtype=int)[0], table.counts)
    table, part_of = replace(table, counts=counts), np.where(part_of == 3, 0, part_of)
    found = within_each(table, part_of, VALUES, parts=3, level=level, clustered=True)
    for part in range(3):
        same(found[part], within(table.of(part_of == part), VALUES, level=level, clustered=True))
    assert (found[1].share.value, found[2].share.interval) == (1, None)
    assert 0.5 < found[1].share.interval.low < 1


def test_each_part_is_that_of_the_package():
    rng = np.random.default_rng(5)
    answers = rng.integers(0, 3, size=(4, 60))  # raters, units
    part_of = rng.integers(0, 3, 60)
    counts = (answers[:, :, None] == np.arange(3)).sum(axis=0)
    found = within_each(table_of(counts), part_of, VALUES, parts=3, level="nominal")
    for part in range(3):
        expected = krippendorff.alpha(answers[:, part_of == part], level_of_measurement="nominal")
        assert found[part].alpha.value == pytest.approx(expected)


def test_the_order_of_the_parts_does_not_matter():
    table, part_of = mixed(np.random.default_rng(4), known=True)
    there = within_each(table, part_of, VALUES, parts=4, level="nominal")
    back = within_each(table, 3 - part_of, VALUES, parts=4, level="nominal")
    for one, other in zip(back, there[::-1], strict=True):
        same(one, other)


def test_what_all_agree_on_and_what_nobody_agrees_on_stay_apart():
    """Theory: alpha is 1 where all say the same of each unit, and below 0 where nobody does."""
    counts = [[2, 0], [0, 2], [1, 1], [1, 1]]
    found = within_each(table_of(counts), [0, 0, 1, 1], [0, 1], parts=2, level="nominal")
    assert found[0].alpha.value == 1
    assert found[1].alpha.value < 0
    assert [one.agreeing for one in found] == [2, 0]


def test_generators_are_asked_only_where_something_is_drawn():
    table = Ratings(
        np.array([[2, 0], [1, 1], [1, 1]]), np.arange(3), np.array([0, 0, 1]), np.full(3, UNKNOWN_ANNOTATOR)
    )
    asked = []

    def noted(part: int) -> np.random.Generator:
        asked.append(part)
        return generator(part)

    found = within_each(table, [0, 1, 1], [0, 1], parts=3, level="nominal", resamples=100, rng=noted)
    assert asked == [1]  # the first is of one image, the last of none
    within_each(table, [0, 1, 1], [0, 1], parts=3, level="nominal", rng=noted)
    assert asked == [1]
    assert np.isnan(found[0].alpha.interval.low)


def test_a_unit_that_nobody_rated_is_none_of_its_part():
    table = table_of([[0, 0], [2, 0], [0, 2], [0, 0], [1, 2]])
    found = within_each(table, [0, 0, 0, 1, 1], [0, 1], parts=2, level="nominal")
    assert [(one.units, one.ratings) for one in found] == [(2, 4), (1, 3)]
    assert found[0].fleiss_kappa.value == 1, "those that were rated have two ratings each"


def test_without_rows_there_is_nothing_to_say():
    none = np.zeros(0, dtype=int)
    empty = Ratings(np.zeros((0, 2), dtype=int), none, none, none)
    assert within_each(empty, none, [0, 1], parts=0, level="nominal") == []
    [one] = within_each(empty, none, [0, 1], parts=1, level="nominal")
    assert (one.units, one.ratings, one.pairs) == (0, 0, 0)
    assert np.isnan(one.alpha.value)


@pytest.mark.parametrize(
    ("part_of", "asked", "message"),
    [
        ([0], {}, r"part_of has shape \(1,\); \(2,\) is needed"),
        ([[0], [1]], {}, r"part_of has shape \(2, 1\); \(2,\) is needed"),
        ([0, 2], {}, "part_of reaches from 0 to 2; there are 2 parts"),
        ([-1, 0], {}, "part_of reaches from -1 to 0"),
        ([0, 0], {"resamples": 100}, "An interval needs a random generator"),
    ],
)
def test_bad_input_is_refused_with_its_reason(part_of, asked, message):
    with pytest.raises(ValueError, match=message):
        coefficients.within_each(
            table_of([[2, 0], [1, 1]]), part_of, [0, 1], parts=2, level="nominal", **asked
        )


def test_the_ratings_of_a_unit_are_those_of_all_its_rows():
    each = np.array([0, 0, 1, 2])
    table = Ratings(np.array([[1, 0], [0, 2], [0, 1], [0, 0]]), each, each, np.arange(4))
    assert table.ratings_of_unit.tolist() == [3, 3, 1, 0]
    assert table.of(table.units > 2).ratings_of_unit.tolist() == []
