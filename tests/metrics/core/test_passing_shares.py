"""Shares of what passes a rule by its labels (PROTOCOL §2, §3, §10): bad input, invariance, theory, another
program, degenerate data."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from metrics.core.stats.passing_shares import count_labels, resampled_shares
from metrics.core.stats.percentiles import percentile_intervals, recentred

OK = {"items": [0], "number": 2, "rule": None, "resamples": 2}


def rng(seed=0):
    return np.random.default_rng(seed)


def at_least(*numbers):
    """Said by at least so many, of the answers there are: a column for each label and number."""

    def rule(table):
        return (
            np.hstack([table >= number for number in numbers]),
            np.repeat(table.sum(axis=1, keepdims=True) > 0, len(numbers) * table.shape[1], axis=1),
        )

    return rule


def answers(seed=1, units=40, people=9, labels=3, each=3):
    """Units answered by three of the people each, in the order of the units."""
    draw = rng(seed)
    unit = np.repeat(np.arange(units), each)
    who = np.concatenate([draw.choice(people, each, replace=False) for _ in range(units)])
    return unit, draw.integers(0, labels, len(unit)), who


def drawn(unit, label, who, *, seed=3, resamples=50, items=None, number=3, rule=None, **more):
    of = np.arange(unit.max() + 1) if items is None else items
    return resampled_shares(
        unit, label, who, items=of, number=number, rule=rule or at_least(2), resamples=resamples,
        rng=rng(seed), **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: count_labels([0], [0, 1], shape=(1, 2)), "1 units and 2 labels"),
        (lambda: count_labels([1], [0], shape=(1, 2)), "the unit 1, and there are 1"),
        (lambda: count_labels([0], [2], shape=(1, 2)), "the label 2, and there are 2"),
        (lambda: count_labels([0], [-1], shape=(1, 2)), "-1, which is negative"),
        (lambda: resampled_shares([], [], [], rng=rng(), **OK), "no answer to resample"),
        (lambda: resampled_shares([0], [0], [1, 2], rng=rng(), **OK), "annotators has shape"),
        (lambda: resampled_shares([0], [0], [1], rng=rng(), **OK | {"resamples": 0}), "0 resamples"),
        (lambda: resampled_shares([0], [0], [1], rng=rng(), **OK | {"items": [[0]]}), "items has shape"),
    ],
)
def test_bad_input_is_refused_with_its_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_what_clusters_are_called_does_not_matter():
    unit, label, who = answers()
    one = drawn(unit, label, who)
    np.testing.assert_array_equal(one, drawn(unit, label, np.array([f"p{each}" for each in who])))
    named = np.array([f"item {each}" for each in range(40)])
    np.testing.assert_array_equal(one, drawn(unit, label, who, items=named))


def test_columns_change_places_with_the_labels():
    unit, label, who = answers()
    swapped = np.array([2, 0, 1])[label]
    np.testing.assert_array_equal(drawn(unit, label, who), drawn(unit, swapped, who)[:, [2, 0, 1]])


def test_the_number_of_resamples_held_at_once_changes_no_draw_of_the_first_ones(monkeypatch):
    unit, label, who = answers()
    whole = drawn(unit, label, who, resamples=40)
    monkeypatch.setattr("metrics.core.stats.bootstrap._CHUNK_SIZE", 10 * len(unit))
    np.testing.assert_allclose(whole, drawn(unit, label, who, resamples=40))


@pytest.mark.parametrize("every_time", [False, True])
def test_the_resamples_are_those_of_a_plain_pandas_program(every_time):
    """The same weights, applied by repeating answers one by one and asking the rule again."""
    unit, label, who = answers(units=12, people=5)
    item = np.repeat(np.arange(6), 2)  # each item asked twice
    found = drawn(unit, label, who, items=item, resamples=4, require_all_units=every_time)
    for_items, for_people = rng(3).spawn(2)
    people = list(dict.fromkeys(who.tolist()))
    second, first = for_people.integers(0, len(people), (4, len(people))), for_items.integers(0, 6, (4, 6))
    said = pd.DataFrame({"unit": unit, "label": label, "who": who})

    def share(rows, times):
        passed, counted = 0.0, 0.0
        for of, number in enumerate(times):
            units = [rows[rows.unit == each].label for each in np.flatnonzero(item == of)]
            fits = [int((each == 0).sum()) >= 2 for each in units if len(each)]
            if every_time:
                fits = [all(fits)] if fits else []
            passed, counted = passed + number * sum(fits), counted + number * len(fits)
        return passed / counted

    expected = [
        share(
            pd.concat([said[said.who == people[one]] for one in second[b]]),
            [(first[b] == of).sum() for of in range(6)],
        )
        for b in range(4)
    ]
    np.testing.assert_allclose(found[:, 0], recentred(expected, share(said, [1] * 6)))


def test_of_one_answer_each_the_variance_is_the_known_multiple_of_a_binomials():
    """An item counts w if its only answer was drawn: E(w²) / P(v > 0) − 1 times p(1 − p) / N."""
    n = 600
    unit, label = np.arange(n), (np.arange(n) < 240).astype(int)
    found = drawn(unit, label, np.arange(n), number=2, rule=at_least(1), resamples=6000)
    assert found.mean(axis=0) == pytest.approx([0.6, 0.4])
    assert found[:, 0].var() == pytest.approx((2 / (1 - np.exp(-1)) - 1) * 0.24 / n, rel=0.06)


def test_of_one_annotator_only_items_are_drawn_as_scipy_draws_them():
    label = (rng(6).random(150) < 0.3).astype(int)
    found = drawn(np.arange(150), label, np.zeros(150), number=2, rule=at_least(1), resamples=20_000)
    mine = percentile_intervals(found[:, 1:], [label.mean()])[0]
    theirs = scipy_stats.bootstrap(
        (label.astype(float),), np.mean, n_resamples=20_000, method="percentile", rng=rng(8)
    ).confidence_interval
    # a share of 150 moves in steps of 1/150
    assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=0.007)


def test_where_people_differ_the_interval_is_wider_than_of_items_alone():
    """Nine people, a third of whom always choose 0 and the others never: three of them decide a lot."""
    unit, _, who = answers(units=400)
    label = (who >= 3).astype(int)
    people, items = (drawn(unit, label, each, number=2, resamples=400) for each in (who, np.zeros(len(unit))))
    assert people[:, 0].std() > 3 * items[:, 0].std()


def test_units_of_one_item_are_drawn_together():
    """Each item asked ten times with the same answers is no more evidence than once."""
    unit, label, who = answers(units=30)
    times = np.repeat(np.arange(10), len(unit)) * 30 + np.tile(unit, 10)
    once = drawn(unit, label, who, resamples=200)
    ten = drawn(times, np.tile(label, 10), np.tile(who, 10), items=np.tile(np.arange(30), 10), resamples=200)
    np.testing.assert_allclose(once, ten)


def test_what_all_said_has_no_width_and_what_nobody_counts_no_value():
    unit, _, who = answers()
    found = drawn(unit, np.zeros(len(unit), dtype=int), who)
    assert (found[:, 1:] == 0).all()

    def nothing(table):
        no = np.zeros((len(table), 1), dtype=bool)
        return no, no

    assert np.isnan(drawn(unit, np.zeros(len(unit), dtype=int), who, rule=nothing)).all()
    assert (drawn(np.array([0]), np.array([0]), np.array([7]), number=1, rule=at_least(1)) == 1).all()


def test_a_unit_that_nobody_drawn_answered_is_not_counted():
    """Two people, each with a unit of their own: one time in eight the unit drawn is the other one's."""
    unit = np.array([0, 1])
    found = drawn(unit, unit, unit, number=2, rule=at_least(1), resamples=4000)
    assert np.isnan(found[:, 0]).mean() == pytest.approx(1 / 8, abs=0.02)


def test_a_unit_that_does_not_count_does_not_pass():
    """Nobody objected, where nobody who was drawn had answered."""
    found = resampled_shares(
        *([0, 1, 2], [0, 0, 0], [1, 2, 3]),
        items=["a", "b", "c"],
        number=2,
        rule=lambda table: (table[:, 1:] == 0, table.sum(axis=1, keepdims=True) > 0),
        resamples=20,
        rng=np.random.default_rng(0),
    )
    assert set(found[~np.isnan(found)].tolist()) == {1.0}
