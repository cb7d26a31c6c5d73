"""Mean brightness and its change, computed again in plain Python, and their intervals."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from metrics.brightness.stats import change, mean


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def pairs(seed: int) -> list[tuple[float, float, int]]:
    """(made, initial, image): one to four images made of each of 30."""
    draws = random.Random(seed)
    found = []
    for image in range(30):
        initial = draws.uniform(20, 220)
        found += [
            (initial * draws.uniform(0.9, 1.3) + draws.gauss(0, 5), initial, image)
            for _ in range(draws.randint(1, 4))
        ]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_plain_sums(seed):
    made, initial, images = zip(*pairs(seed), strict=True)
    found = change(made, initial, images, resamples=0, rng=rng())
    expected = 100 * (math.fsum(made) / len(made)) / (math.fsum(initial) / len(initial)) - 100
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert not found.has_interval
    assert mean(made, images, resamples=0, rng=rng()).value == pytest.approx(math.fsum(made) / len(made))


@pytest.mark.parametrize("of", ["mean", "change"])
def test_intervals_are_those_of_images_drawn_one_by_one(of):
    """Drawn here as lists of whole images, with another generator: equal up to what chance does."""
    rows = pairs(7)
    made, initial, images = zip(*rows, strict=True)
    by_image = {image: [row for row in rows if row[2] == image] for image in set(images)}
    draws, values = random.Random(1), []
    for _ in range(4000):
        drawn = [row for image in draws.choices(list(by_image), k=len(by_image)) for row in by_image[image]]
        top, bottom = sum(row[0] for row in drawn), sum(row[1] for row in drawn)
        values.append(top / len(drawn) if of == "mean" else 100 * top / bottom - 100)
    values.sort()
    found = (
        mean(made, images, resamples=4000, rng=rng())
        if of == "mean"
        else change(made, initial, images, resamples=4000, rng=rng())
    )
    width = values[3899] - values[99]
    assert found.low == pytest.approx(values[99], abs=0.08 * width)
    assert found.high == pytest.approx(values[3899], abs=0.08 * width)
    alone = mean(made, range(len(made)), resamples=4000, rng=rng())
    assert of == "change" or alone.high - alone.low < 0.9 * (found.high - found.low)


def test_chunks_do_not_change_what_is_drawn(monkeypatch):
    made, _, images = zip(*pairs(2), strict=True)
    once = mean(made, images, resamples=500, rng=rng())
    monkeypatch.setattr("metrics.core.stats.bootstrap._CHUNK_SIZE", 100)
    again = mean(made, images, resamples=500, rng=rng())
    assert (again.low, again.high) == (pytest.approx(once.low), pytest.approx(once.high))


def test_no_change_is_exactly_zero_and_one_image_has_no_interval():
    found = change([0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [1, 2, 3], resamples=100, rng=rng())
    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert not mean([5.0, 7.0], [1, 1], resamples=100, rng=rng()).has_interval


def test_black_images_and_no_images_have_no_change():
    assert math.isnan(change([1.0, 2.0], [0.0, 0.0], [1, 2], resamples=10, rng=rng()).value)
    assert math.isnan(mean([], [], resamples=10, rng=rng()).value)
    some = change([1.0, 60.0], [0.0, 50.0], [1, 2], resamples=100, rng=rng())
    assert (some.value, some.has_interval) == (pytest.approx(22), True)


def test_shapes_that_do_not_match_are_errors():
    with pytest.raises(ValueError, match="each image needs both"):
        change([1.0], [1.0, 2.0], [1], resamples=0, rng=rng())
    with pytest.raises(ValueError, match="clusters"):
        mean([1.0, 2.0], [1], resamples=0, rng=rng())
