"""When a computed number equals a printed one."""

import math

import pytest

from metrics.reproduction import comparison
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


def test_what_is_undefined_has_no_quotient_and_is_in_no_mean():
    assert [comparison._quotient(*pair) for pair in ((0, 2), (3, 2), (1, 0), (None, 2), (1, None))] == [
        *(0.0, 1.5, None, None, None)
    ]
    assert [comparison._mean(values) for values in ([1.0, None, 0.0], [None], [])] == [0.5, None, None]
    assert [comparison._two_decimals(value) for value in (None, math.inf, 1.5)] == [
        "undefined",
        "N/A",
        "1.50",
    ]
