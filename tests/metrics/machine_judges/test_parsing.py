"""Hostile answers: nothing raises, nothing outside the options is chosen, only the form is accepted."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.machine_judges.parsing import LETTERS, LONGEST, MOST_BOXES, Problem, read_choice, read_selection

OPTIONS, NONE = 5, 4
SIZE = {"boxes": "pixels", "width": 640, "height": 480}
E, U, O, N, C, B = (  # noqa: E741 - the letters of the problems
    Problem.EMPTY,
    Problem.UNREADABLE,
    Problem.OUTSIDE,
    Problem.NOTHING,
    Problem.CONTRADICTORY,
    Problem.BOX,
)
HUGE = "9" * 5000
"""More digits than Python turns into a number."""

NO_OBJECT = [
    ("", E),
    (" \n\t\u2003", E),
    ("\x00", U),
    ("null", U),
    ("[]", U),
    ("17", U),
    ("NaN", U),
    (HUGE, U),
    ("[" * 5000, U),
    ('{"a":' * 5000, U),
    ("[" * 9000 + "]" * 9000, U),
    ("{", U),
    ('{"answer": "A", "chosen": ["A"]', U),
    ('{"answer": "A", "chosen": ["A"]} ', None),  # white space around it is no text
    ('{"answer": "A", "chosen": ["A"]}{"answer": "A"}', U),
    ('{"answer": "A", "chosen": ["A"]}\n{"answer": "A", "chosen": ["A"]}', U),
    ('[{"answer": "A", "chosen": ["A"]}]', U),
    ('The answer is {"answer": "A", "chosen": ["A"]}', U),
    ('{"answer": "A", "chosen": ["A"]} because it is a hat', U),
    ('{"answer": "A", "chosen": ["A"]}\x00', U),
    ('\ufeff{"answer": "A", "chosen": ["A"]}', U),
    ("{'answer': 'A', 'chosen': ['A']}", U),
    ('{"answer": "A", "chosen": ["A"],}', U),
    ('{"answer": "A", "chosen": ["A"]} // a hat', U),
    ('{"answer": "A", "answer": "A", "chosen": ["A"], "chosen": ["A"]}', U),
    ('{"answer": "A", "chosen": ["A"], "x": {"y": 1, "y": 2}}', U),
    ('{"answer": "A", "chosen": ["A"], "x": NaN}', U),
    ('{"answer": "A", "chosen": ["A"], "x": -Infinity}', U),
    ('{"answer": "A", "chosen": ["A"], "x": ' + HUGE + "}", U),
    ('{"answer": "A", "chosen": ["A"], "x": "' + "y" * LONGEST + '"}', U),
    ('{"answer": "A", "chosen": ["A"], "reason": "a hat"}', None),
    ('```json\n{"answer": "A", "chosen": ["A"]}\n```', None),
    ('```\n{"answer": "A", "chosen": ["A"]}\n```', None),
    ('```JSON\n\n{"answer": "A", "chosen": ["A"]}\n\n```', None),
    ('```python\n{"answer": "A", "chosen": ["A"]}\n```', U),
    ('```json\n{"answer": "A", "chosen": ["A"]}', U),
    ('Here:\n```json\n{"answer": "A", "chosen": ["A"]}\n```', U),
    ('```json\n```json\n{"answer": "A", "chosen": ["A"]}\n```\n```', U),
    ('```json\n{"answer": "A", "chosen": ["A"]}\n```\n```json\n{"answer": "B", "chosen": ["B"]}\n```', U),
    ("```" + "\n" * 15_000, U),
    ("```\n" + " \n" * 9000 + "x", U),
    ('{"\\ud800": "\\udfff", "answer": "A", "chosen": ["A"]}', None),  # what it does not ask for may be odd
    ("\ud800", U),
    ("x" * 1_000_000, U),
    (" " * 1_000_000, U),
    ("[" * 1_000_000, U),
    ('{"Answer": "A", "Chosen": ["A"]}', U),
    ("{}", U),
]


@pytest.mark.parametrize(("text", "problem"), NO_OBJECT, ids=range(len(NO_OBJECT)))
def test_only_one_object_in_the_form_is_read(text, problem):
    choice, selection = read_choice(text, OPTIONS), read_selection(text, OPTIONS, none=NONE)
    if problem is None:
        assert choice == 0
        assert selection.chosen == {0}
    else:
        assert (choice, selection) == (problem, problem)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("E", 4),
        ("e", 4),
        (" b. ", 1),
        ("(C)", 2),
        ("F", O),
        ("Z", O),
        ("Ａ", O),  # full width
        ("А", O),  # Cyrillic
        ("Α", O),  # Greek
        ("K", O),  # the sign of the kelvin
        ("ſ", O),  # the long s
        ("A\u0301", O),
        ("A\u200b", O),
        ("\x00A", O),
        ("A\nB", O),
        ("AB", O),
        ("A, B", O),
        ("A) hat", O),
        ("((A))", O),
        ("", O),
        ("\ud800", O),
        ("Strongly agree", O),
        (0, U),
        (1.0, U),
        (True, U),
        (None, U),
        (["A"], U),
        ({"A": "A"}, U),
        ([[]], U),
    ],
)
def test_a_choice_is_one_letter_of_the_options(answer, expected):
    assert read_choice(json.dumps({"answer": answer}), OPTIONS) == expected
    chosen = read_selection(json.dumps({"chosen": [answer]}), OPTIONS, none=NONE)
    if isinstance(expected, Problem):
        # an object in the list stands for an option with its place
        assert chosen == (U if isinstance(answer, dict) else expected)
    else:
        assert chosen.chosen == {expected}


@pytest.mark.parametrize(
    ("text", "expected"), [("A", 0), ("(e)", 4), ("b)", 1), ("F.", O), ("A B", U), ("Ａ", U)]
)
def test_a_letter_may_stand_alone_for_a_choice(text, expected):
    assert read_choice(text, OPTIONS) == expected
    assert isinstance(read_selection(text, OPTIONS, none=NONE), Problem)


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ([], N),
        ("A", U),
        ({"A": True}, U),
        (None, U),
        (True, U),
        (["A", "A"], C),
        (["A", "a."], C),
        (["E", "E"], C),
        (["A", "E"], C),
        (["A", "F"], O),
        ([["A"]], U),
        ([["A"], "B"], U),
        ([[["A", "B"]]], U),
        (["A"] * 500, C),
        ([{"option": ["A"]}], U),
        ([{"option": {"option": "A"}}], U),
        ([{"letter": "A"}], U),
    ],
    ids=lambda case: str(case)[:30],
)
def test_a_selection_is_a_list_of_different_letters(chosen, problem):
    text = json.dumps({"chosen": chosen})
    assert read_selection(text, OPTIONS, none=NONE) == problem
    assert read_selection(text, OPTIONS, none=NONE, **SIZE) in {problem, B}


@pytest.mark.parametrize(
    "place",
    [
        "{}",
        '{"boxes": []}',
        '{"boxes": null}',
        '{"boxes": {}}',
        '{"boxes": "1,2,3,4"}',
        '{"boxes": [1, 2, 3, 4]}',
        '{"boxes": [[]]}',
        '{"boxes": [[1, 2, 3]]}',
        '{"boxes": [[1, 2, 3, 4, 5]]}',
        '{"boxes": [[[1, 2, 3, 4]]]}',
        '{"boxes": [[1, 2, 3, "4"]]}',
        '{"boxes": [[1, 2, 3, true]]}',
        '{"boxes": [[1, 2, 3, null]]}',
        '{"boxes": [[1, 2, 3, NaN]]}',
        '{"boxes": [[1, 2, 3, Infinity]]}',
        '{"boxes": [[1, 2, 3, 1e400]]}',
        '{"boxes": [[1, 2, 3, 1e300]]}',
        '{"boxes": [[1, 2, 3, ' + "9" * 400 + "]]}",
        '{"boxes": [[1, 2, 3, 4], [1, 2, 3]]}',
        '{"boxes": ' + json.dumps([[1, 2, 3, 4]] * (MOST_BOXES + 1)) + "}",
        '{"whole_image": false}',
        '{"whole_image": 1}',
        '{"whole_image": "true"}',
        '{"whole_image": null, "boxes": [[1, 2, 3, 4]]}',
        '{"boxes": [[1, 2, 3, 4]], "whole_image": []}',
    ],
)
def test_what_is_no_place_is_a_problem(place):
    option = '{"option": "A", ' + place[1:] if place != "{}" else '{"option": "A"}'
    found = read_selection('{"chosen": [' + option + "]}", OPTIONS, none=NONE, **SIZE)
    assert found in {B, U}
    assert read_selection('{"chosen": ["A"]}', OPTIONS, none=NONE, **SIZE) == B


def test_a_place_is_read_in_the_units_that_were_asked_for():
    box = (
        '{"chosen": [{"option": "B", "boxes": [[0, 500, 1000.0, -5]]}, {"option": "C", "whole_image": true}]}'
    )
    found = read_selection(box, OPTIONS, none=NONE, **{**SIZE, "boxes": "thousandths"})
    assert found.boxes == {1: ((0.0, 240.0, 640.0, -2.4),)}
    assert (found.chosen, found.whole) == ({1, 2}, {2})
    assert read_selection(box, OPTIONS, none=NONE, **SIZE).boxes == {1: ((0.0, 500.0, 1000.0, -5.0),)}
    # where no places are asked for they are nothing, and none of the above has none
    assert read_selection(box, OPTIONS, none=NONE).boxes == {}
    assert read_selection('{"chosen": ["E"]}', OPTIONS, none=NONE, **SIZE).chosen == {NONE}


words = st.sampled_from(
    [
        *LETTERS,
        *'{}[]":,`\n ',
        *("answer", "chosen", "option", "boxes", "whole_image", '"answer": ', '{"chosen": ["A"', "```json\n"),
        *("NaN", "Infinity", "-", "1e999", "true", "null", "\\ud800", "\\u0000", "\x00", "\ud800", "Ａ"),
    ]
)
keys = st.sampled_from(["answer", "chosen", "option", "boxes", "whole_image"]) | st.text(max_size=3)
letters = st.sampled_from([*LETTERS, "a", "(B)", "c."])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | letters
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
answers = st.one_of(
    st.text(),
    st.lists(words, max_size=30).map("".join),
    trees.map(json.dumps),
    trees.map(lambda tree: json.dumps({"answer": tree, "chosen": tree})),
    st.lists(letters | st.fixed_dictionaries({"option": letters, "boxes": trees})).map(
        lambda chosen: json.dumps({"chosen": chosen})
    ),
)


@settings(max_examples=300)
@given(answers, st.integers(1, 26), st.sampled_from(["none", "pixels", "thousandths"]), st.data())
def test_nothing_raises_and_nothing_outside_the_options_is_chosen(text, options, boxes, data):
    none = data.draw(st.integers(-1, options - 1))
    choice = read_choice(text, options)
    assert isinstance(choice, Problem) or (type(choice) is int and 0 <= choice < options)
    found = read_selection(text, options, none=none, boxes=boxes, width=640, height=480)
    if isinstance(found, Problem):
        return
    assert found.chosen
    assert found.chosen <= set(range(options))
    assert none not in found.chosen or found.chosen == {none}
    assert set(found.boxes) | found.whole <= found.chosen - {none}
    if boxes != "none":
        assert found.chosen - {none} <= set(found.boxes) | found.whole
    corners = [corner for each in found.boxes.values() for box in each for corner in box]
    assert all(isinstance(corner, int | float) and math.isfinite(corner) for corner in corners)


@settings(max_examples=100)
@given(st.sets(st.integers(0, 3), min_size=1), st.data())
def test_the_form_is_read_as_it_was_meant(places, data):
    order = data.draw(st.permutations(sorted(places)))
    text = json.dumps(
        {"chosen": [LETTERS[place] for place in order]}, indent=data.draw(st.none() | st.just(2))
    )
    assert read_selection(text, OPTIONS, none=NONE).chosen == places
    assert read_choice(json.dumps({"answer": LETTERS[order[0]]}), OPTIONS) == order[0]
