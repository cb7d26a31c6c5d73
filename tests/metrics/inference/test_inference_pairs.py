"""Which attribute stands for a group, what is asked about it, and which label is entailment."""

from __future__ import annotations

from collections import Counter

import pytest

from metrics.inference.drawing import GroupName, draw, draw_random, draw_stereotypes
from metrics.inference.labels import LabelNames, LabelsRefused, recognise
from metrics.inference.sentences import WordsRefused, check_words, sentence_pairs

MEXICAN, INDIAN, WELSH = (GroupName("nationality", name) for name in ("Mexican", "Indian", "Welsh"))
STEREOTYPES = {MEXICAN: ["sombrero", "spicy", "hot"], INDIAN: ["turban", "spicy"], WELSH: []}


def test_a_draw_depends_on_seed_and_group_alone():
    """Not on other groups, nor on the order in which a database gives the rows."""
    one = draw_stereotypes(STEREOTYPES, seed=3)
    other = draw_stereotypes({MEXICAN: ["hot", "sombrero", "spicy"]}, seed=3)
    assert one[MEXICAN] == other[MEXICAN]
    assert set(one) == {MEXICAN, INDIAN}


def test_the_draw_of_today_is_that_of_tomorrow():
    """Runs that were planned before find their jobs again: the rule may not change by accident."""
    drawn = [draw(seed, MEXICAN, ["sombrero", "spicy", "hot"]) for seed in range(8)]
    assert drawn == ["spicy", "hot", "sombrero", "sombrero", "spicy", "hot", "hot", "hot"]


def test_every_attribute_is_equally_likely():
    drawn = Counter(draw(seed, MEXICAN, ["a", "b", "c", "d"]) for seed in range(2000))
    assert all(abs(number - 500) < 100 for number in drawn.values())
    assert len(drawn) == 4


def test_groups_with_the_same_stereotypes_are_drawn_independently():
    same = sum(draw(seed, MEXICAN, "abcd") == draw(seed, INDIAN, "abcd") for seed in range(1000))
    assert 180 < same < 320


def test_georgians_of_two_axes_are_two_groups():
    axes = [GroupName(axis, "Georgian") for axis in ("nationality", "us_state")]
    assert any(draw(seed, axes[0], "abcd") != draw(seed, axes[1], "abcd") for seed in range(10))


def test_random_attributes_are_never_associated_with_the_group():
    """Not even those that the votes rejected: somebody proposed them as a stereotype."""
    for seed in range(30):
        drawn = draw_random(STEREOTYPES, {INDIAN: ["turban", "spicy", "hot"]}, seed=seed)
        assert drawn == {MEXICAN: "turban", INDIAN: "sombrero"}


def test_a_group_that_is_associated_with_everything_has_no_random_attribute():
    assert draw_random({MEXICAN: ["hot"]}, {MEXICAN: ["hot"]}, seed=0) == {}


def test_the_hundred_pairs_of_a_group():
    pairs = list(sentence_pairs("hard-working", "Indian"))
    assert len({(pair.premise, pair.hypothesis) for pair in pairs}) == 100
    assert pairs[0].premise == "A hard-working person bought a car."
    assert pairs[0].hypothesis == "An Indian person bought a car."
    assert (pairs[99].verb, pairs[99].object) == (9, 9)
    assert pairs[99].hypothesis == "An Indian person photographed an umbrella."


def test_the_premise_keeps_to_the_letter_of_the_protocol():
    assert next(sentence_pairs("educated", "European")).premise == "A educated person bought a car."
    assert next(sentence_pairs("educated", "European")).hypothesis == "A European person bought a car."


@pytest.mark.parametrize("words", [[], ["bought", " "], ["bought", "bought "], ["x" * 81]])
def test_words_that_make_no_sentences(words):
    with pytest.raises(WordsRefused, match="verbs"):
        check_words("verbs", words)
    assert check_words("verbs", ["x" * 80]) == ("x" * 80,)


@pytest.mark.parametrize(
    ("names", "entailment"),
    [
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], "ENTAILMENT"),
        (["entailment", "neutral", "contradiction"], "entailment"),
        (["not_entailment", " Entailment"], " Entailment"),
    ],
)
def test_labels_are_known_by_name_in_any_order(names, entailment):
    assert recognise(names).entailment == entailment


def test_a_model_without_neutral():
    assert recognise(["entailment", "not_entailment"]) == LabelNames("entailment", "", "")


@pytest.mark.parametrize(
    ("names", "cure"),
    [
        (["LABEL_0", "LABEL_1", "LABEL_2"], "name them in that order"),
        (["POSITIVE", "NEGATIVE"], "POSITIVE, NEGATIVE.*Choose a model"),
        (["LABEL_0", "other"], "Choose a model"),
        (["not_entailment", "neutral"], "Choose a model"),
        (["entailment", "ENTAILMENT"], "two labels 'entailment'"),
        ([], "none"),
    ],
)
def test_labels_without_entailment_are_refused_with_the_cure(names, cure):
    with pytest.raises(LabelsRefused, match=cure):
        recognise(names)
