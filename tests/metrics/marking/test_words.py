"""Which texts name a group."""

from __future__ import annotations

import pytest

from metrics.marking.words import (
    NOUNS,
    WordList,
    WordsRefused,
    as_lines,
    default_words,
    marks,
    read_words,
)

LISTED = WordList(
    {"Asian": ("asian",), "Black": ("black", "african american"), "Latina/o": ("latina", "latina/o")}
)


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("Asian", "asian woman"),
        ("Asian", "An Asian  man, smiling"),
        ("Asian", "two ASIAN\nmen"),
        ("Asian", "the asian-person"),
        ("Asian", "an asian woman's face"),
        ("Asian", "(asian people)"),
        ("Black", "an African-American man"),
        ("Black", "african american women"),
        ("Latina/o", "a latina/o person"),
    ],
)
def test_word_and_noun_mark(group, text):
    assert marks(LISTED, group, text)


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("Asian", "a woman"),
        ("Asian", "asian food"),
        ("Asian", "caucasian man"),
        ("Asian", "an asian mango"),
        ("Asian", "an asian-american woman"),
        ("Asian", "a euro-asian woman"),
        ("Asian", "an asian young woman"),
        ("Asian", "asian. woman"),
        ("Black", "a black-haired woman"),
        ("Black", "a black shirt, man"),
        ("Black", "a non-black man"),
        ("Black", "an asian woman"),
        ("Nobody", "an asian woman"),
    ],
)
def test_nothing_else_does(group, text):
    assert not marks(LISTED, group, text)


def test_a_word_alone_marks_if_it_is_asked_for():
    alone = WordList({"White": ("white",)}, alone=True)
    assert marks(alone, "White", "a man in a white shirt")
    assert not marks(alone, "White", "an off-white shirt")
    assert not marks(alone, "White", "whites")


def test_other_nouns():
    listed = WordList({"White": ("white",)}, nouns=("guy", "old guy"))
    assert marks(listed, "White", "a white old-guy")
    assert not marks(listed, "White", "a white man")


def test_words_are_no_patterns():
    listed = WordList({"X": ("a.c", "(b", "-ish ")})
    assert marks(listed, "X", "an ish man")
    assert not marks(listed, "X", "abc man")
    assert marks(listed, "X", "a.c man")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("Asian", "Asian", ""), ("asian",)),
        (("Mexico", "Mexican", "Mexican person"), ("mexico", "mexican")),
        (("Black people", "", "African  American man"), ("black", "african american")),
        (("Women", "", ""), ("women",)),
        (("", "", ""), ()),
        (("Latina/o", "Latina/o", "Latina/o person"), ("latina", "latino")),
        (("Filipino/as", "", ""), ("filipino", "filipinas")),
        (("Latina/o/x people", "", ""), ("latina", "latinx", "latino")),
        (
            ("Hispanic/Latino", "", "Black / African American"),
            ("hispanic", "latino", "black", "african american"),
        ),
    ],
)
def test_defaults_come_from_the_catalogue(names, words):
    assert default_words(*names) == words


def test_lines_are_read_and_written():
    text = "\ufeff# ours\n\nasian: Asian,  east  asian, asian\nLatina/o: latina"
    found = read_words(text, groups=["Asian", "Latina/o", "White"])
    assert found == {"Asian": ("asian", "east asian"), "Latina/o": ("latina",)}
    assert read_words(as_lines(found), groups=found) == found
    assert read_words(" # a note: none\nAsian: asian", groups=["Asian"]) == {"Asian": ("asian",)}


def test_as_much_as_is_possible_is_read():
    longest, most = "a" * 80, [f"w{n}" for n in range(50)]
    assert read_words(f"Asian: {longest}", groups=["Asian"]) == {"Asian": (longest,)}
    assert read_words(f"Asian: {','.join(most)}", groups=["Asian"]) == {"Asian": tuple(most)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Asian", "line 1: write the group, a colon"),
        ("\n: asian", "line 2: write the group"),
        ("Martian: green", "line 1: the set has no group 'Martian'. There are: Asian, White"),
        ("Asian: ,", "line 1: there is no word"),
        ("Asian: a\nASIAN: b", "line 2: 'Asian' has a line above"),
        ("Asian: ?", r"line 1: '\?' is no word"),
        (f"Asian: {'a' * 81}", "is no word of at most 80"),
        ("Asian: " + ",".join(f"w{n}" for n in range(51)), "51 words"),
    ],
)
def test_what_is_refused_says_the_line(text, said):
    with pytest.raises(WordsRefused, match=said):
        read_words(text, groups=["Asian", "White"])


def test_the_nouns_are_those_of_the_protocol_with_their_plurals():
    assert set(NOUNS) == {"person", "people", "persons", "man", "men", "woman", "women"}
