"""The demonstration's drawings and their plan: pure, without a database."""

from dataclasses import replace
from functools import cache
from io import BytesIO

import pytest
from PIL import Image, ImageChops

from annotation.demo import plan, scenario
from annotation.demo.picture import ZONES, draw, fits

STORY = scenario.load()


def opened(sample):
    return Image.open(BytesIO(sample.png))


@cache
def with_nothing(seed):
    """What every attribute changes."""
    return opened(draw(attributes=frozenset(), seed=seed))


@pytest.mark.parametrize("seed", [5, 8])
@pytest.mark.parametrize("attribute", sorted(ZONES))
def test_the_true_box_of_an_attribute_is_where_drawing_it_changes_the_picture(attribute, seed):
    drawn = draw(attributes=frozenset({attribute}), seed=seed)
    ((name, extent),) = drawn.boxes.items()
    assert name == attribute
    changed = ImageChops.difference(with_nothing(seed), opened(drawn)).getbbox()
    if attribute == "thin":  # a narrower figure also changes what stands beside it
        x0, y0, x1, y1 = extent
        assert changed[0] < x0 < x1 < changed[2]
        assert changed[1] < y0 < y1 <= changed[3]
    else:
        assert extent == pytest.approx(changed, abs=4)


def test_the_same_seed_draws_the_same_picture():
    attributes = frozenset({"sombrero", "guitar"})
    assert draw(attributes=attributes, seed=3).png == draw(attributes=attributes, seed=3).png
    assert draw(attributes=attributes, seed=3).png != draw(attributes=attributes, seed=4).png


def test_a_picture_has_the_size_that_stable_diffusion_gives():
    assert opened(draw(attributes=frozenset(), seed=1)).size == (512, 512)


def test_two_hats_do_not_fit_on_one_head():
    assert not fits({"beret", "sombrero"})
    with pytest.raises(ValueError, match="do not fit"):
        draw(attributes=frozenset({"beret", "sombrero"}), seed=1)


def test_what_cannot_be_drawn_is_refused_by_name():
    with pytest.raises(ValueError, match="'kind' cannot be drawn"):
        draw(attributes=frozenset({"kind"}), seed=1)


def test_everything_visual_can_be_drawn():
    assert set(STORY.visual()) <= ZONES.keys()


def test_forty_attributes_are_named_and_every_vote_is_on_one_of_them():
    assert len(STORY.attributes) == 40
    assert {text for group in STORY.groups for text in group.votes} <= STORY.attributes.keys()
    assert all(group.offence.keys() <= group.votes.keys() for group in STORY.groups)


def test_every_association_has_the_votes_of_three_annotators_in_each_pool():
    for group in STORY.groups:
        for counts in group.votes.values():
            assert (sum(counts[:3]), sum(counts[3:])) == (3, 3)


def test_the_groups_cover_all_eight_regions():
    assert len({group.region for group in STORY.groups}) == 8


@pytest.mark.parametrize("made", plan.make(STORY), ids=lambda made: made.group)
def test_as_many_random_as_stereotypical_attributes_are_shown_and_none_is_associated(made):
    group = next(item for item in STORY.groups if item.name == made.group)
    assert len(made.random) == len(set(made.random)) == len(made.stereotypical) > 1
    assert not set(made.random) & group.votes.keys()
    for picture in made.pictures:
        shown = [text for page in picture.pages for text in page]
        assert sorted(shown) == sorted({*made.stereotypical, *made.random})
        assert all(len(page) == 4 for page in picture.pages)


@pytest.mark.parametrize("made", plan.make(STORY), ids=lambda made: made.group)
def test_exactly_as_many_cells_are_drawn_as_the_level_says(made):
    level = STORY.levels[next(item.level for item in STORY.groups if item.name == made.group)]
    drawn = [text for picture in made.pictures for text in picture.drawn]
    assert sum(text in made.stereotypical for text in drawn) == level.drawn_stereotypical
    assert sum(text in made.random for text in drawn) == level.drawn_random
    assert all(fits(picture.drawn) for picture in made.pictures)


def test_a_level_that_cannot_be_drawn_says_which_number_to_lower():
    crowded = scenario.Level(drawn_stereotypical=20, drawn_random=20, false_stereotypical=0, false_random=0)
    with pytest.raises(ValueError, match=r"'Mexican'.*Lower drawn_stereotypical"):
        plan.make(
            replace(
                STORY,
                levels={"strong": crowded},
                groups=[group for group in STORY.groups if group.name == "Mexican"],
            )
        )


def test_the_source_is_marked_as_simulated():
    assert "simulated" in STORY.source["origin"]
