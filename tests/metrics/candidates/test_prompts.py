"""Prompts for candidates (PROTOCOL §14)."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.candidates.prompts import Prompts, PromptsRefused, PromptVariant, Seed, combination_at

SEEDS = tuple(Seed(f"I{number}", f"a{number}") for number in range(1, 101))


def test_100_seeds_give_9900_prompts_each_pair_in_both_orders():
    prompts = list(Prompts(SEEDS, PromptVariant.IDENTITY_ATTRIBUTE))
    texts = {prompt.text for prompt in prompts}
    assert len(prompts) == len(texts) == len({prompt.key for prompt in prompts}) == 9900
    assert texts == {
        f"({a.identity}, {a.attribute}), ({b.identity}, {b.attribute})"
        for a, b in itertools.permutations(SEEDS, 2)
    }


@pytest.mark.parametrize(
    ("variant", "text"),
    [
        (PromptVariant.IDENTITY_ATTRIBUTE, "(I1, a1), (I2, a2)"),
        (PromptVariant.ATTRIBUTE_IDENTITY, "(a1, I1), (a2, I2)"),
        (PromptVariant.TARGET_IDENTITY, "(I1, a1), (I2, a2), (I3,"),
        (PromptVariant.TARGET_ATTRIBUTE, "(a1, I1), (a2, I2), (a3,"),
    ],
)
def test_each_variant_is_written_as_the_protocol_says(variant, text):
    prompts = list(Prompts(SEEDS[:3], variant))
    assert prompts[0].text == text
    assert len(prompts) == 6


def test_a_target_is_none_of_the_pairs_shown_and_the_same_in_both_orders():
    prompts = list(Prompts(SEEDS[:5], PromptVariant.TARGET_IDENTITY, n=3))
    targets = set()
    for forward, reverse in zip(prompts[::2], prompts[1::2], strict=True):
        *shown, target = forward.key.split("-")
        assert reverse.key.split("-") == [*shown[::-1], target]
        assert target not in shown
        assert forward.text.endswith(f", (I{target},")
        targets.add(target)
    assert len(targets) > 2
    assert list(Prompts(SEEDS[:5], PromptVariant.TARGET_IDENTITY, n=3, sample_seed=1)) != prompts


@pytest.mark.parametrize("n", [1, 2, 3])
def test_n_pairs_are_asked_as_listed_and_reversed_and_one_pair_once(n):
    prompts = list(Prompts(SEEDS[:5], PromptVariant.ATTRIBUTE_IDENTITY, n=n))
    choices = [tuple(map(str, choice)) for choice in itertools.combinations(range(1, 6), n)]
    orders = [*choices, *(choice[::-1] for choice in choices if n > 1)]
    assert sorted(prompt.key for prompt in prompts) == sorted("-".join(order) for order in orders)
    assert len(prompts) == len(Prompts(SEEDS[:5], PromptVariant.ATTRIBUTE_IDENTITY, n=n))


@given(st.integers(1, 8), st.integers(1, 4))
def test_a_choice_has_the_number_that_itertools_gives_it(size, n):
    for rank, choice in enumerate(itertools.combinations(range(size), n)):
        assert combination_at(rank, size=size, n=n) == choice


@pytest.mark.parametrize("sample", [1, 7, 44, 45])
def test_a_sample_has_its_size_no_choice_twice_and_its_seed_repeats_it(sample):
    def keys(seed):
        prompts = Prompts(SEEDS[:10], PromptVariant.IDENTITY_ATTRIBUTE, sample=sample, sample_seed=seed)
        found = [prompt.key for prompt in prompts]
        assert len(found) == len(prompts) == len(set(found)) == 2 * sample
        return found

    assert keys(3) == keys(3)
    if sample == 7:
        assert keys(3) != keys(4)


def test_a_seed_draws_the_same_prompts_as_ever():
    """A run is found again by its recipe, which has the seed and not what was drawn with it."""
    drawn = [
        Prompts(SEEDS[:6], PromptVariant.TARGET_IDENTITY, sample=sample, sample_seed=1) for sample in (6, 8)
    ]
    assert [[prompt.key for prompt in prompts][::2] for prompts in drawn] == [
        ["1-5-2", "1-6-4", "2-4-3", "2-6-4", "4-5-2", "5-6-4"],
        ["1-2-6", "1-5-2", "1-6-4", "2-4-3", "2-6-4", "3-6-4", "4-5-2", "5-6-4"],
    ]


def test_a_sample_of_more_choices_than_memory_holds_is_drawn_at_once():
    seeds = SEEDS * 100
    prompts = Prompts(seeds, PromptVariant.IDENTITY_ATTRIBUTE, n=10, sample=3)
    assert prompts.choices > 2**64
    assert len({prompt.key for prompt in prompts}) == 6


@pytest.mark.parametrize(
    ("seeds", "variant", "chosen", "says"),
    [
        (1, PromptVariant.IDENTITY_ATTRIBUTE, {"n": 1}, "at least 2"),
        (2, PromptVariant.TARGET_IDENTITY, {}, "one more as the target need at least 3"),
        (3, PromptVariant.IDENTITY_ATTRIBUTE, {"n": 4}, "at least 4"),
        (3, PromptVariant.IDENTITY_ATTRIBUTE, {"n": 0}, "1 to 10 pairs"),
        (12, PromptVariant.IDENTITY_ATTRIBUTE, {"n": 11}, "1 to 10 pairs"),
        (3, PromptVariant.IDENTITY_ATTRIBUTE, {"sample": 4}, "choose 1 to 3"),
        (3, PromptVariant.IDENTITY_ATTRIBUTE, {"sample": 0}, "choose 1 to 3"),
    ],
)
def test_settings_without_prompts_are_refused_with_the_cure(seeds, variant, chosen, says):
    with pytest.raises(PromptsRefused, match=says):
        Prompts(SEEDS[:seeds], variant, **chosen)
