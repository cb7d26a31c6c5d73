"""Texts to embed, as people write them."""

from __future__ import annotations

import pytest

from generation.plans.askings import Asking, shortened
from generation.plans.errors import PlanRefused
from generation.plans.texts import askings_of_texts, read_texts


def test_a_text_a_line_each_once_and_in_their_order():
    assert read_texts(["\ufeffwe", "", " they ", "we"]) == ("we", "they")
    assert read_texts(["x" * 500]) == ("x" * 500,)


@pytest.mark.parametrize("wrong", ["x" * 501, "a\0b"])
def test_a_line_that_cannot_be_embedded_is_named(wrong):
    with pytest.raises(PlanRefused, match=r"^Line 2: .* cannot be embedded\. Write 1 to 500 characters\."):
        read_texts(["we", wrong])


def test_a_text_is_asked_once_under_a_key_that_a_job_can_hold():
    long = "x" * 300
    assert askings_of_texts(["we", long, "we"]) == (Asking("we", "we"), Asking(shortened(long), long))
