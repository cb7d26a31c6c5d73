"""Which image of a series a job is, and what a recipe of images from images needs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from generation.recipes.checks import RecipeRefused
from generation.recipes.prompts import own_prompt
from generation.recipes.recipes import ImageRecipe, as_json, digest, from_json, with_absent
from generation.recipes.series import (
    SeriesPlace,
    numbers_from,
    parse_series,
    seed_number,
    series_number,
    series_place,
    series_text,
)

RECIPE = ImageRecipe(
    prompt_sets=("from_images",), initial="faces", strengths=(0.25, 0.5, 1.0), images_per_prompt=2
)


def test_numbers_count_initial_images_then_samples_then_strengths():
    counted = list(itertools.product((1, 2, 3), (1, 2), RECIPE.strengths))
    for number, (index, sample, strength) in enumerate(counted, start=1):
        place = SeriesPlace(index, sample, strength)
        assert series_place(RECIPE, number) == place == series_place(as_json(RECIPE), number)
        assert series_number(RECIPE, place) == number == series_number(as_json(RECIPE), place)
    assert list(numbers_from(RECIPE, 2)) == [7, 8, 9, 10, 11, 12]


def test_one_series_has_one_seed_and_no_two_series_share_it():
    of_series = {}
    for number in range(1, 19):
        place = series_place(RECIPE, number)
        of_series.setdefault((place.initial_index, place.sample), set()).add(seed_number(RECIPE, number))
    assert sorted(of_series.values(), key=min) == [{one} for one in range(1, 7)]
    assert [seed_number(ImageRecipe(), number) for number in (1, 2, 9)] == [1, 2, 9]


@pytest.mark.parametrize(("recipe", "number"), [(ImageRecipe(), 1), (as_json(ImageRecipe()), 1), (RECIPE, 0)])
def test_what_is_no_series_has_no_place(recipe, number):
    with pytest.raises(ValueError, match="no image of a series"):
        series_place(recipe, number)


@pytest.mark.parametrize("place", [(0, 1, 0.5), (1, 0, 0.5), (1, 3, 0.5), (1, 1, 0.3)])
def test_a_place_outside_the_recipe_has_no_number(place):
    with pytest.raises(ValueError):  # noqa: PT011 - the message is Python's for a strength
        series_number(RECIPE, SeriesPlace(*place))


def test_a_stored_recipe_comes_back_and_others_keep_their_hash():
    assert from_json(as_json(RECIPE)) == RECIPE
    assert "strengths" not in as_json(ImageRecipe())
    assert with_absent(as_json(ImageRecipe()))["initial"] == ""
    other = replace(RECIPE, strengths=(0.25, 0.5))
    assert digest(other, image_set="s") != digest(RECIPE, image_set="s")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"initial": ""}, "initial: name the set"),
        ({"strengths": ()}, "strengths: give at least one"),
        ({"prompt_sets": ("detection",)}, "prompt_sets: images from initial images have the prompt set"),
        ({"prompt_sets": ("detection", "from_images")}, "prompt_sets: images from images are planned alone"),
        ({"strengths": (0.0, 0.5)}, "strengths: choose above 0"),
        ({"strengths": (0.5, 1.01)}, "strengths: choose above 0"),
        ({"strengths": (float("nan"),)}, "strengths: choose above 0"),
        ({"strengths": (0.5, 0.5)}, "strengths: give each once"),
        ({"strengths": (0.5, 0.2)}, "strengths: give each once, from the lowest"),
        ({"strengths": tuple(each / 51 for each in range(1, 52)), "steps": 1000}, "at most 50"),
        ({"steps": 3}, r"strengths: 0.25 of 3 steps is less than one step: choose at least 0.34"),
    ],
)
def test_what_a_recipe_refuses(changed, told):
    with pytest.raises(RecipeRefused, match=told):
        replace(RECIPE, **changed)


def test_strengths_need_initial_images():
    with pytest.raises(RecipeRefused, match="strengths: leave them empty"):
        ImageRecipe(strengths=(0.5,))


def test_strengths_as_people_write_them():
    assert parse_series(" 0.2,0.4; 0.8\n1 ") == (0.2, 0.4, 0.8, 1.0)
    assert parse_series(" , ") == ()
    assert parse_series(series_text(RECIPE.strengths)) == RECIPE.strengths
    with pytest.raises(ValueError, match="'half' is not a number"):
        parse_series("0.2, half")


def test_a_prompt_of_ones_own_names_the_group_with_its_article():
    assert own_prompt(" a photo of {group} person ", "Indian").text == "a photo of an Indian person"
    assert own_prompt("an American person", "Indian").text == "an American person"
    for text, told in (("  ", "empty"), ("a {name}", "braces"), ("{group", "braces"), ("group}", "braces")):
        with pytest.raises(ValueError, match=told):
            own_prompt(text, "Indian")
