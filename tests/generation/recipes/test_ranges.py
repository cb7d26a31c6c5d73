"""The ends of each range of a recipe and of its limits belong to it; one step further is refused by name."""

import pytest

from generation.recipes.askings import MOST_TIMES, MOST_TOKENS, ClassificationRecipe, CompletionRecipe
from generation.recipes.checks import SEED_BITS, RecipeRefused
from generation.recipes.limits import MOST_IN_FLIGHT, Limits
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe, as_json, from_json
from generation.recipes.series import MOST_STRENGTHS

FROM_IMAGES = {"prompt_sets": ("from_images",), "initial": "faces"}
PRICES = {"price_in": 1, "price_out": 1}


def strengths(number):
    return tuple((each + 1) / number for each in range(number))


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (ImageRecipe, {"images_per_prompt": 1, "steps": 1, "guidance": 0, "width": 8, "height": 8}),
        (ImageRecipe, {"images_per_prompt": 1000, "steps": 1000, "guidance": 100, "width": 4096}),
        (ImageRecipe, {"height": 4096, "seed": 0, "safety": "off"}),
        (ImageRecipe, {"steps": None, "guidance": None, "seed": 2**SEED_BITS - 1, "safety": "block"}),
        (ImageRecipe, {"quantisation": "torchao_int8", "dtype": "bfloat16"}),
        (ImageRecipe, {"quantisation": "bitsandbytes_4bit", "dtype": "float16"}),
        (ImageRecipe, {"compiled": True}),
        (ImageRecipe, {"lora": ("a/b@10", "a/b@-10")}),
        (ImageRecipe, {**FROM_IMAGES, "strengths": (0.02,), "steps": 50}),
        (ImageRecipe, {**FROM_IMAGES, "strengths": (0.001,), "steps": None}),
        (ImageRecipe, {**FROM_IMAGES, "strengths": strengths(MOST_STRENGTHS), "steps": 50}),
        (CaptionRecipe, {"count": 1}),
        (CaptionRecipe, {"count": 1000}),
        (CompletionRecipe, {"temperature": 0, "max_tokens": 1, "times": 1}),
        (CompletionRecipe, {"temperature": 2, "max_tokens": MOST_TOKENS, "times": MOST_TIMES}),
        (CompletionRecipe, {"stop": ("a", "b", "c", "d"), "chat": False}),
        (ClassificationRecipe, {"labels": ("a", "b")}),
        (Limits, {"in_flight": 1, "tokens": 1, "price_in": 0, "price_out": 0}),
        (Limits, {"in_flight": MOST_IN_FLIGHT, "cost": 0.01, **PRICES}),
    ],
)
def test_the_ends_of_a_range_are_allowed(kind, fields):
    made = kind(**fields)
    assert {name: getattr(made, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (ImageRecipe, "prompt_sets", ()),
        (ImageRecipe, "prompt_sets", ("detection", "detections")),
        (ImageRecipe, "images_per_prompt", 0),
        (ImageRecipe, "images_per_prompt", 1001),
        (ImageRecipe, "steps", 0),
        (ImageRecipe, "steps", 1001),
        (ImageRecipe, "guidance", -0.5),
        (ImageRecipe, "guidance", 100.5),
        (ImageRecipe, "width", 0),
        (ImageRecipe, "width", 4104),
        (ImageRecipe, "height", 513),
        (ImageRecipe, "safety", "on"),
        (ImageRecipe, "seed", -1),
        (ImageRecipe, "seed", 2**SEED_BITS),
        (ImageRecipe, "model", " "),
        (CaptionRecipe, "count", 0),
        (CaptionRecipe, "count", 1001),
        (EmbeddingRecipe, "model", " "),
        (CompletionRecipe, "temperature", -0.1),
        (CompletionRecipe, "temperature", 2.1),
        (CompletionRecipe, "top_p", 1.1),
        (CompletionRecipe, "max_tokens", MOST_TOKENS + 1),
        (CompletionRecipe, "times", MOST_TIMES + 1),
        (CompletionRecipe, "stop", ("a", "b", "c", "d", "e")),
        (ClassificationRecipe, "labels", ("a", "b", "a")),
        (ClassificationRecipe, "dtype", "int8"),
        (Limits, "in_flight", MOST_IN_FLIGHT + 1),
    ],
)
def test_what_is_beyond_a_range_is_refused_by_name(kind, field, value):
    with pytest.raises(RecipeRefused, match=f"recipe: {field}: "):
        kind(**{field: value})


@pytest.mark.parametrize(
    ("backend", "cure"),
    [
        ("open_clip", "name an architecture or local-dir:/folder"),
        ("transformers", "give a hub id or a local"),
    ],
)
def test_an_encoder_without_a_name_is_told_what_its_backend_calls_one(backend, cure):
    with pytest.raises(RecipeRefused, match=f"recipe: model: {cure}"):
        EmbeddingRecipe(backend=backend, model="")


@pytest.mark.parametrize(
    "fields",
    [{"steps": 50, "strengths": (0.019,)}, {"strengths": strengths(MOST_STRENGTHS + 1), "steps": 999}],
)
def test_less_than_one_step_and_too_many_strengths_are_refused(fields):
    with pytest.raises(RecipeRefused, match="recipe: strengths: "):
        ImageRecipe(**FROM_IMAGES, **fields)


def test_a_limit_of_nothing_is_no_limit_of_costs():
    with pytest.raises(RecipeRefused, match="recipe: cost_limit: choose more than 0"):
        Limits(cost=0, **PRICES)


@pytest.mark.parametrize("prices", [{}, {"price_in": 1}, {"price_out": 1}])
def test_tokens_have_a_price_only_where_both_prices_are_known(prices):
    assert Limits(**prices).price(1000, 1000) is None


def test_tokens_of_prompts_and_of_answers_have_each_their_price():
    assert Limits(price_in=1, price_out=2).price(1000, 500) == pytest.approx((1000 + 1000) / 1e6)


@pytest.mark.parametrize("wrong", [{"kind": "films"}, {"version": 0}])
def test_a_stored_recipe_of_another_kind_or_version_is_refused_by_name(wrong):
    with pytest.raises(RecipeRefused, match=f"recipe: {next(iter(wrong))}: "):
        from_json({**as_json(ImageRecipe()), **wrong})
