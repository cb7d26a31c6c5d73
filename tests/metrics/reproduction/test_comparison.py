"""When a computed number equals a printed one."""

import math

import pytest

from metrics.reproduction.comparison import DIFFERS, EQUAL, TRUNCATED, compare


@pytest.mark.parametrize(
    ("printed", "computed", "shown", "result"),
    [
        ("0.13", 0.125, "0.13", EQUAL),
        ("0.12", 0.129, "0.13", TRUNCATED),
        ("0.12", 0.111, "0.11", DIFFERS),
        ("1.5", None, "undefined", DIFFERS),
        ("N/A", math.inf, "N/A", EQUAL),
        ("1.5", math.inf, "N/A", DIFFERS),
        ("N/A", 1.5, "1.50", DIFFERS),
    ],
)
def test_a_number_is_rounded_as_it_was_printed(printed, computed, shown, result):
    assert compare(printed, computed) == (shown, result)
