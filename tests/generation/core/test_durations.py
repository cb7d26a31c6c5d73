"""Lengths of time in words."""

import pytest

from generation.core.durations import duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.2, "< 1 s"),
        (0.6, "1 s"),
        (59.6, "1 min 0 s"),
        (4800, "1 h 20 min"),
        (2 * 86_400 + 3 * 3600 + 59, "2 d 3 h"),
    ],
)
def test_a_length_of_time_claims_no_more_than_it_knows(seconds, words):
    assert duration(seconds) == words
