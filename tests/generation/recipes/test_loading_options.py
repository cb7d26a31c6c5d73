"""How a model is loaded is part of its recipe, and older recipes keep their hash."""

import pytest

from generation.recipes.checks import RecipeRefused
from generation.recipes.display import recipe_rows
from generation.recipes.loras import Lora, parse
from generation.recipes.recipes import (
    CaptionRecipe,
    ImageRecipe,
    as_json,
    digest,
    from_json,
)

STORED = {
    "kind": "images",
    "version": 1,
    "backend": "diffusers",
    "model": "CompVis/stable-diffusion-v1-4",
    "revision": "",
    "scheduler": "",
    "steps": 50,
    "guidance": 7.5,
    "width": 512,
    "height": 512,
    "dtype": "float32",
    "compiled": False,
    "safety": "record",
    "negative_prompt": "",
    "prompt_sets": ["detection"],
    "images_per_prompt": 5,
    "seed": 0,
}
OPTIONS = (
    {"variant": "fp16"},
    {"lora": ("someone/style",)},
    {"lora": ("someone/style", "/loras/ink.safetensors@0.5")},
    {"quantisation": "bitsandbytes_4bit"},
    {"offload": "model"},
)


def test_a_recipe_without_the_options_is_stored_and_hashed_as_before_there_were_any():
    recipe = from_json(STORED)
    assert (recipe.variant, recipe.lora, recipe.quantisation, recipe.offload) == ("", (), "", "")
    assert as_json(recipe) == STORED
    assert digest(recipe, image_set="x").startswith("d78ee6445ee411fb4e8f252ac64a9967")


def test_each_option_is_in_the_hash_and_comes_back_from_what_is_stored():
    recipes = [ImageRecipe(dtype="bfloat16", **options) for options in OPTIONS]
    assert [from_json(as_json(recipe)) for recipe in recipes] == recipes
    plain = digest(ImageRecipe(dtype="bfloat16"), image_set="x")
    assert len({plain, *(digest(recipe, image_set="x") for recipe in recipes)}) == 1 + len(OPTIONS)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"quantisation": "gguf"}, "quantisation"),
        ({"quantisation": "bitsandbytes_8bit", "dtype": "float32"}, "dtype"),
        ({"quantisation": "torchao_int8", "dtype": "float16"}, "dtype"),
        ({"offload": "disk"}, "offload"),
        ({"offload": "model", "compiled": True}, "compiled"),
        ({"lora": ("a/b", "@0.5")}, "lora"),
        ({"lora": ("a/b@11",)}, "lora"),
        ({"lora": ("a/b@nan",)}, "lora"),
        ({"lora": ("a/b@-inf",)}, "lora"),
    ],
)
def test_options_that_do_not_go_together_are_refused_by_name(options, field):
    with pytest.raises(RecipeRefused, match=f"recipe: {field}: "):
        ImageRecipe(**options)


@pytest.mark.parametrize(
    ("text", "lora"),
    [
        ("someone/style", Lora("someone/style", "pytorch_lora_weights.safetensors", 1.0)),
        ("someone/style:ink.safetensors@0.8", Lora("someone/style", "ink.safetensors", 0.8)),
        (
            "/loras/ink.safetensors@-1",
            Lora("/loras/ink.safetensors", "pytorch_lora_weights.safetensors", -1.0),
        ),
        ("/at@home:a.safetensors", Lora("/at@home", "a.safetensors", 1.0)),
        (" a/b ", Lora("a/b", "pytorch_lora_weights.safetensors", 1.0)),
        (" a/b:ink.safetensors @ 2 ", Lora("a/b", "ink.safetensors", 2.0)),
        ("C:/loras/ink", Lora("C:/loras/ink", "pytorch_lora_weights.safetensors", 1.0)),
    ],
)
def test_a_lora_is_written_as_source_file_and_scale(text, lora):
    assert parse(text) == lora


def test_the_names_of_files_are_shown_as_they_are():
    stored = as_json(ImageRecipe(lora=("me/my_style:a_b.safetensors",), prompt_sets=("non_stereotypical",)))
    rows = dict(recipe_rows(stored))
    assert rows["lora"] == "me/my_style:a_b.safetensors"
    assert rows["prompt sets"] == "non stereotypical"
    assert rows["offload"] == "–"


def test_values_are_shown_in_words():
    rows = dict(recipe_rows(as_json(ImageRecipe(steps=None, repeatable=True))))
    assert (rows["steps"], rows["repeatable"], rows["compiled"]) == ("the model’s own", "yes", "no")
    assert (rows["lora"], rows["seed"]) == ("–", 0)
    assert not {"kind", "version"} & set(rows)
    rows = dict(recipe_rows(as_json(CaptionRecipe(options={"beams": 4, "top_k": 50}))))
    assert rows["options"] == "beams=4, top_k=50"
    imported = {"kind": "images", "backend": "imported", "model": "m"}
    assert recipe_rows(imported) == [("backend", "imported"), ("model", "m")]
