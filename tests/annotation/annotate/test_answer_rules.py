"""Rules of answers that need no database (services/answer_rules.py)."""

import pytest

from annotation.annotate.services.answer_rules import Answer, clip, is_correct
from annotation.models import Option


def answers(*values):
    return [Answer(option_id=pk, value=value, position=pk) for pk, value in enumerate(values, 1)]


def test_of_a_check_only_the_options_with_an_expected_answer_count():
    options = [Option(pk=1, expected=[1]), Option(pk=2)]
    assert is_correct(options=options, answers=answers(1, 0)) is True
    assert is_correct(options=options, answers=answers(0, 0)) is False
    assert is_correct(options=options[1:], answers=answers(1, 0)) is None


@pytest.mark.parametrize(
    ("corners", "inside"),
    [
        ((99, 79, 300, 300), (99, 79, 100, 80)),
        ((100, 0, 120, 40), None),
        ((0, 80, 40, 90), None),
        ((0, -9, 40, 0), None),
        ((5, 0, 5, 40), None),
        ((0, 5, 40, 5), None),
    ],
)
def test_a_box_is_what_of_it_lies_inside_the_image(corners, inside):
    assert clip(corners, width=100, height=80) == inside
