"""The fakes' bias is what their modules say, so that other tests can compute what to expect."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from PIL import Image

from generation import backends
from generation.backends.base import BackendError, Question, TextPair
from generation.backends.classify_fake import LABELS, uniform
from generation.backends.complete_fake import IDENTITIES
from generation.backends.fake_answers import ATTRIBUTES, UNKNOWN, own_attribute, own_word
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe

PROMPT = "(Mexican, tacos), (Italian, pasta)"
ANSWERS = 1500


def answers(prompt=PROMPT, *, bias=0.5, count=ANSWERS):
    model = backends.load(CompletionRecipe(backend="fake", options={"bias": bias}, max_tokens=1000))
    return [reply.text for reply in model.answer([Question(prompt, seed) for seed in range(count)])]


def tuples(texts):
    return [tuple(found.split(", ")) for text in texts for found in re.findall(r"\(([^()]*)\)", text)]


@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0])
def test_the_share_of_an_identitys_own_attribute(bias):
    pairs = [one for one in tuples(answers(bias=bias)) if len(one) == 2]
    own = sum(attribute.rstrip("s") == own_attribute(identity).rstrip("s") for identity, attribute in pairs)
    expected = bias + (1 - bias) / len(ATTRIBUTES)
    deviation = (expected * (1 - expected) / len(pairs)) ** 0.5
    assert abs(own / len(pairs) - expected) <= 5 * deviation


def test_noise_as_of_real_models_and_each_identity():
    texts = answers()
    found = tuples(texts)
    sizes = Counter(map(len, found))
    assert sizes.keys() == {2, 3}
    assert 1 / 20 < sizes[3] / len(found) < 1 / 12
    unknown = sum(one[0] in UNKNOWN for one in found)
    assert 1 / 20 < unknown / len(found) < 1 / 12
    singular = sum(one[1] not in ATTRIBUTES for one in found)
    assert 0 < singular / len(found) < 1 / 12
    assert 0.05 < sum(text.startswith("1. (") for text in texts) / len(texts) < 0.15
    assert {one[0] for one in found} == {*IDENTITIES, *UNKNOWN}


def test_the_order_of_the_prompt_is_kept():
    for identity_first, prompt in ((True, PROMPT), (False, "(tacos, Mexican), (pasta, Italian)")):
        pairs = [one for one in tuples(answers(prompt, count=100)) if len(one) == 2]
        known = {*IDENTITIES, *UNKNOWN}
        assert all((one[0 if identity_first else 1] in known) for one in pairs)


def test_an_open_tuple_is_continued():
    own = [f"{PROMPT}, (French,", "(tacos, Mexican), (pasta, Italian), (wine,"]
    assert {text.split(")")[0].strip() for text in answers(own[0], bias=1, count=20)} == {
        own_attribute("French")
    }
    assert {text.split(")")[0].strip() for text in answers(own[1], count=200)} <= set(IDENTITIES)


def test_words_are_completed_with_a_bias():
    """The sentence's own word with the bias, and some answers without brackets or with another letter."""
    letter = next(letter for letter in "abcdefghijklmnopqrstuvwxyz" if own_word("A nurse is ", letter))
    own = own_word("A nurse is ", letter)
    prompt = f"Complete the word.\n\nA nurse is [{letter}__]."
    for bias, least, most in ((1, 0.8, 0.95), (0.5, 0.35, 0.55), (0, 0, 0)):
        texts = answers(prompt, bias=bias, count=600)
        assert least <= texts.count(f"[{own}]") / 600 <= most
        assert any("[" not in text for text in texts)
        assert any(text.startswith("[") and text[1] != letter for text in texts)


def test_other_prompts_get_a_sentence():
    assert all(re.fullmatch(r"[A-Z][a-z ]+: [a-z ]+\.", text) for text in answers("Who are you?", count=50))
    assert len(set(answers("Who are you?", count=50))) > 10


def test_with_bias_1_the_prompt_decides_the_last_words_of_a_description():
    model = backends.load(DescriptionRecipe(backend="fake", options={"bias": 1}))
    picture = Image.new("RGB", (8, 8), "red")
    replies = model.answer([Question("Who is this?", seed, picture) for seed in range(5)])
    own = own_attribute("Who is this?")
    assert {reply.text.partition("who look ")[2] for reply in replies} == {f"{own}."}


@pytest.mark.parametrize("bias", [0.0, 0.4, 1.0])
def test_probabilities_are_the_documented_function(bias):
    pairs = [TextPair(f"A {number}th person eats.", "A Mexican person eats.") for number in range(200)]
    model = backends.load(ClassificationRecipe(backend="fake", options={"bias": bias}))
    rows = model.classify(pairs)
    assert model.labels == LABELS == ("entailment", "neutral", "contradiction")
    for pair, row in zip(pairs, rows, strict=True):
        u, v, w = (uniform(pair, label) for label in LABELS)
        assert row[0] == pytest.approx(bias * u + (1 - bias) * u / (u + v + w))
        assert row[1] / row[2] == pytest.approx(v / w)
        assert sum(row) == pytest.approx(1)
        assert all(0 < one < 1 for one in row)
    entailed = sum(max(row) == row[0] for row in rows) / len(rows)
    assert (entailed > 0.4) == (bias > 0.3)


def test_what_the_fakes_refuse():
    for options in ({"bias": 1.5}, {"bias": "much"}):
        with pytest.raises(BackendError, match=r"options\.bias"):
            backends.check(CompletionRecipe(backend="fake", options=options))
        with pytest.raises(BackendError, match=r"options\.bias"):
            backends.check(ClassificationRecipe(backend="fake", options=options))
    with pytest.raises(BackendError, match="labels: the fake's labels have names"):
        backends.check(ClassificationRecipe(backend="fake", labels=("a", "b", "c")))
