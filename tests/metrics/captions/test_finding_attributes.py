"""Attributes in captions: whole words, lower case, lemmas, phrases (PROTOCOL §8)."""

import re

import numpy as np
import pytest
import simplemma
from hypothesis import given
from hypothesis import strategies as st

from metrics.captions.stats.term_finder import lemmas, term_finder


def found(attributes, text) -> list[str]:
    return [attributes[number] for number in term_finder(attributes).find(text)]


@pytest.mark.parametrize(
    ("attribute", "caption", "times"),
    [
        ("hat", "a man in a hat", 1),
        ("hat", "Hats, and a HAT!", 2),
        ("hat", "what a chat", 0),
        ("hats", "a man in a hat", 1),
        ("poor", "poorly lit", 0),
        ("dark skin", "a woman with dark skin", 1),
        ("dark skin", "skin dark as night", 0),
        ("dark skin", "dark, beautiful skin", 0),
        ("dark-skinned", "a dark skinned man", 1),
        ("colourful clothes", "in colourful clothes and more colourful clothes", 2),
        ("t-shirt", "a T-shirt", 1),
        ("t-shirt", "a shirt", 0),
        ("child", "the children's toys", 1),
        ("american", "African Americans in a street", 1),
        ("indian", "Two Indians", 1),
        ("woman", "The women’s saris", 1),
        ("naïve", "a naïve painting", 1),
        ("long hair", "long hair", 1),
        ("long hair", "a long", 0),
        ("ha ha", "ha ha ha", 2),
    ],
)
def test_what_is_found_and_what_is_not(attribute, caption, times):
    assert found([attribute], caption) == [attribute] * times


def test_an_attribute_within_another_is_found_too_and_same_lemmas_all_are():
    attributes = ["skin", "dark skin", "hat", "hats"]
    assert found(attributes, "dark skin, hats") == ["dark skin", "skin", "hat", "hats"]


def test_an_attribute_given_twice_is_refused():
    with pytest.raises(ValueError, match="'hat' is given twice"):
        term_finder(["hat", "cap", "hat"])


def test_nothing_is_found_in_nothing_and_no_words_are_nowhere():
    assert found(["hat", "!?", ""], "") == []
    assert found(["!?", ""], "what!? a hat") == []
    assert term_finder([]).find("a hat") == []
    assert lemmas(" - ' ") == ()


words = st.lists(st.sampled_from(["hat", "hats", "dark", "skin", "man", "men", "a"]), max_size=9)


@given(words, words)
def test_what_is_found_in_two_texts_is_found_in_both_put_together(first, second):
    """Apart from phrases that only the joint makes, which a word between them prevents."""
    search = term_finder(["hat", "dark skin", "skin", "man"])
    one, two = " ".join(first), " ".join(second)
    assert search.find(f"{one} and {two}") == search.find(one) + search.find(two)


@given(words)
def test_case_and_marks_do_not_matter(text):
    search = term_finder(["hat", "dark skin", "skin", "man"])
    plain = search.find(" ".join(text))
    assert search.find(", ".join(text).upper() + "!") == plain


@given(words)
def test_lemmas_are_those_of_simplemma_word_by_word(text):
    expected = tuple(simplemma.lemmatize(word, lang="en") for word in text)
    assert lemmas(" ".join(text)) == expected
    assert lemmas(" ".join(reversed(text))) == expected[::-1]


def slow(attributes, text):
    """One attribute at a time, by a regular expression over the lemmas put into one text."""
    line = " ".join(simplemma.lemmatize(word, lang="en").lower() for word in text.lower().split())
    times = []
    for attribute in attributes:
        phrase = " ".join(simplemma.lemmatize(word, lang="en").lower() for word in attribute.split())
        times.append(len(re.findall(rf"(?<!\S)(?={re.escape(phrase)}(?!\S))", line)))
    return times


def test_the_same_as_one_attribute_at_a_time():
    rng = np.random.default_rng(3)
    known = [
        "man",
        "woman",
        "women",
        "old",
        "young",
        "hat",
        "hats",
        "red",
        "dark",
        "skin",
        "skins",
        "smiling",
    ]
    attributes = [
        "man",
        "woman",
        "old",
        "hat",
        "red hat",
        "dark skin",
        "skin",
        "young man",
        "red hat old",
        "smile",
    ]
    search = term_finder(attributes)
    total = 0
    for _ in range(300):
        text = " ".join(rng.choice(known, size=12))
        times = np.bincount(search.find(text), minlength=len(attributes)).tolist()
        assert times == slow(attributes, text)
        total += sum(times)
    assert total > 500
