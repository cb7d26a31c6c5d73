"""What a file of embedding tests may say, and what is refused in one, with its place and the cure."""

import re

import pytest
import tomli_w

from metrics.embedding_tests.test_file import TestFileRefused, as_toml_data, parse
from tests.metrics.embedding_tests.stored import EAT, RANKING, SC_EAT

HEAD = {"set": "faces", "encoder": "their-clip"}
FULL = {
    **HEAD,
    "test": [EAT, SC_EAT],
    "ranking": {**RANKING, "top": 7, "variables": "iat.csv", "prompts": {"Ohio": "of the Buckeye State"}},
}


def read(**changes):
    return parse(tomli_w.dumps({**FULL, **changes}))


def without(fields, name):
    return {key: value for key, value in fields.items() if key != name}


def test_a_file_is_written_as_it_was_read():
    assert parse(tomli_w.dumps(as_toml_data(read()))) == read()
    assert read().texts == ("we", "us", "they", "them", "someone who is patriotic")


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (without(EAT, "kind"), "test 1 ('We'): kind is None. Write one of"),
        ({"name": 5, "kind": "x"}, "test 1: kind is 'x'"),
        ({"name": " ", "kind": "x"}, "test 1: kind is 'x'"),
        ({"kind": "x"}, "test 1: kind is 'x'"),
        (without(EAT, "b"), "test 1 ('We'): b is missing"),
        (without(SC_EAT, "target"), "target is missing"),
        ({**EAT, "c": "x"}, "test 1 ('We'): unknown field 'c'"),
        ({**SC_EAT, "x": "x"}, "unknown field 'x'"),
        ({**EAT, "name": " "}, "test 1: name must be a text of 1 to 500"),
        ({**EAT, "a": [" "]}, "a must be a text"),
        ({**EAT, "a": ["w" * 501]}, "a must be a text"),
        ({**EAT, "a": ["w\0"]}, "a must be a text"),
        ({**EAT, "a": [5]}, "a must be a text"),
        ({**EAT, "a": []}, "a is empty"),
        ({**EAT, "a": ["we", "us", "we "]}, "a has 'we' twice"),
        ({**EAT, "y": ["Asian", "White"]}, "the group 'White' is on both sides"),
        ({**SC_EAT, "b": "White"}, "the group 'White' is on both sides"),
    ],
)
def test_a_wrong_test_is_refused_with_its_number_and_name(test, said):
    with pytest.raises(TestFileRefused, match=re.escape(said)):
        read(test=[test])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt": "x"}, "prompt names no region"),
        ({"other": 1}, "ranking: unknown field 'other'"),
        ({"prompts": 5}, "prompts is a table"),
        ({"prompts": {"Ohio": ""}}, "ranking, prompts: Ohio must be a text"),
        ({"variables": ""}, "variables must be a text"),
        *(
            ({"drawings": wrong}, "ranking: drawings must be a whole number from 1 to 100000")
            for wrong in (0, 100_001, True, 1.5, "1")
        ),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"top": 10**6 + 1}, "top must be a whole number from 0 to 1000000"),
    ],
)
def test_a_wrong_ranking_is_refused(changes, said):
    with pytest.raises(TestFileRefused, match=re.escape(said)):
        read(ranking={**RANKING, **changes})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (without(FULL, "set"), "the file: set is missing"),
        ({**FULL, "tests": 1}, "the file: unknown field 'tests'"),
        (HEAD, "neither a [[test]] nor a [ranking]"),
        ({**HEAD, "test": 5}, "write each test below a line [[test]]"),
        ({**HEAD, "test": EAT}, "write each test below a line [[test]]"),
        ({**HEAD, "test": [EAT, 5]}, "write each test below a line [[test]]"),
        ({**HEAD, "test": [EAT] * 501}, "has 501 tests; at most 500"),
        ({**HEAD, "test": [EAT, SC_EAT, EAT]}, "Two tests are called 'We'"),
        ({**HEAD, "ranking": 5}, "write it below a line [ranking]"),
        ({**HEAD, "ranking": without(RANKING, "prompt")}, "ranking: prompt is missing"),
    ],
)
def test_a_wrong_file_is_refused(data, said):
    with pytest.raises(TestFileRefused, match=re.escape(said)):
        parse(tomli_w.dumps(data))


def test_the_largest_and_smallest_are_read():
    most = [{**EAT, "name": f"We {number}"} for number in range(500)]
    most[0]["a"] = [" " + "w" * 499]
    ends = {"drawings": 1, "seed": 0, "top": 0}, {"drawings": 100_000, "seed": 2**63 - 1, "top": 10**6}
    for numbers in ends:
        found = read(test=most, ranking={**RANKING, **numbers})
        assert len(found.tests) == 500
        assert found.tests[0].a == ("w" * 499,)
        assert {name: getattr(found.ranking, name) for name in numbers} == numbers
    alone = read(test=[])
    assert (alone.tests, alone.ranking.prompt_of("Ohio")) == ((), "of the Buckeye State")
    assert alone.ranking.prompt_of("Utah") == "someone in Utah"
