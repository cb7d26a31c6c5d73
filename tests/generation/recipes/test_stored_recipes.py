"""Recipes of earlier versions mean what they meant, under the hash that they have."""

import pytest

from generation.recipes.checks import RecipeRefused
from generation.recipes.display import recipe_rows
from generation.recipes.recipes import (
    CaptionRecipe,
    EmbeddingRecipe,
    ImageRecipe,
    as_json,
    digest,
    from_json,
    with_absent,
)

# As they were stored, and hashed with the image set "set", before `repeatable`.
IMAGES = {
    "kind": "images", "version": 1, "backend": "diffusers", "model": "CompVis/stable-diffusion-v1-4",
    "revision": "", "scheduler": "", "steps": 50, "guidance": 7.5, "width": 512, "height": 512,
    "dtype": "float32", "compiled": False, "safety": "record", "negative_prompt": "",
    "prompt_sets": ["detection"], "images_per_prompt": 5, "seed": 0,
}  # fmt: skip
CAPTIONS = {
    "kind": "captions", "version": 1, "backend": "visage", "model": "m", "revision": "", "count": 50,
    "dtype": "float32", "seed": 0, "options": {},
}  # fmt: skip
EMBEDDINGS = {
    "kind": "embeddings", "version": 1, "backend": "open_clip", "model": "ViT-B-32", "pretrained": "openai",
    "dtype": "float32",
}  # fmt: skip
HASHES = [
    (IMAGES, "6c5d59e9cf7b41540dbf9b1c6a24206c4fe5299672b90bf9a740a4d934dcd953"),
    (CAPTIONS, "d3d36c2dece484c850b0d86b3fb46e73c42302e24c3e08949f9118bd68a9a752"),
    (EMBEDDINGS, "ef30ac1573dd5633db1227def84051e18a2735ef3427f8525fca45037bb0b72e"),
]


@pytest.mark.parametrize(("stored", "hashed"), HASHES)
def test_an_earlier_recipe_keeps_its_hash_and_its_repeatable_settings(stored, hashed):
    recipe = from_json(stored)
    assert (recipe.dtype, recipe.repeatable) == ("float32", True)
    assert as_json(recipe) == stored
    assert digest(recipe, image_set="set") == hashed
    assert digest(recipe, image_set="set", name="again") != hashed
    assert with_absent(stored)["repeatable"] is True
    assert ("repeatable", "yes") in recipe_rows(stored)


@pytest.mark.parametrize("recipe", [ImageRecipe(), CaptionRecipe(), EmbeddingRecipe()])
def test_a_new_recipe_is_fast_and_says_so(recipe):
    stored = as_json(recipe)
    assert (stored["dtype"], stored["repeatable"]) == ("auto", False)
    assert from_json(stored) == recipe


@pytest.mark.parametrize("kind", [ImageRecipe, CaptionRecipe, EmbeddingRecipe])
def test_number_types(kind):
    with pytest.raises(RecipeRefused, match="dtype: auto, float32, float16 or bfloat16"):
        kind(dtype="int8")
