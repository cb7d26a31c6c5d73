"""The fakes as machine judges: of the skill that is planted, in every form and language of a prompt."""

from __future__ import annotations

from io import BytesIO

import pytest
from django.utils import translation
from PIL import Image

from annotation.demo import picture
from generation import backends
from generation.backends import fake_judge
from generation.backends.base import BackendError, Question
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from metrics.agreement.stats.boxes import iou
from metrics.machine_judges import parsing, prompts

SHOWN = ("sombrero", "guitar", "beach", "turban", "")
SAMPLE = picture.draw(attributes=frozenset({"sombrero", "guitar"}), seed=3, group="Mexican", region="Here")
DRAWN = Image.open(BytesIO(SAMPLE.png)).convert("RGB")
PLAIN = Image.new("RGB", (400, 200), "#808080")


def asked(boxes="none", language="en", image=DRAWN):
    with translation.override(language):
        return prompts.image_prompt(
            [], statement="Select.", options=SHOWN, boxes=boxes, width=image.width, height=image.height
        )


def selections(count=400, *, image=DRAWN, boxes="none", language="en", temperature=1.0, **options):
    model = backends.load(
        DescriptionRecipe(backend="fake", options=options, temperature=temperature, max_tokens=400)
    )
    prompt = asked(boxes, language, image)
    replies = model.answer([Question(prompt, seed, image) for seed in range(count)])
    return [
        parsing.read_selection(reply.text, 5, none=4, boxes=boxes, width=image.width, height=image.height)
        for reply in replies
    ]


def readable(found):
    return [each for each in found if isinstance(each, parsing.Selection)]


@pytest.mark.parametrize(
    ("options", "skill"),
    [({}, 0.9), ({"skill": 1.0}, 1.0), ({"weak_in": "Here"}, 0.5), ({"weak_in": "There"}, 0.9)],
)
def test_it_says_what_was_drawn_as_often_as_its_skill(options, skill):
    found = readable(selections(**options))
    for place, name in enumerate(SHOWN[:4]):
        right = sum((place in each.chosen) == (name in SAMPLE.boxes) for each in found) / len(found)
        assert abs(right - skill) <= 4.5 * (skill * (1 - skill) / len(found)) ** 0.5


def test_a_few_answers_are_in_another_form():
    found = selections(1200)
    assert 0.25 < (len(found) - len(readable(found))) * fake_judge.UNUSABLE / len(found) < 2
    assert {each for each in found if isinstance(each, parsing.Problem)} == {
        parsing.Problem.UNREADABLE,
        parsing.Problem.OUTSIDE,
    }


@pytest.mark.parametrize("boxes", ["pixels", "thousandths"])
@pytest.mark.parametrize("language", ["en", "es", "ar"])
def test_boxes_lie_around_what_was_drawn(boxes, language):
    found = readable(selections(60, boxes=boxes, language=language, skill=1.0))
    assert len(found) > 50
    for each in found:
        assert each.chosen == {0, 1}
        for place, name in enumerate(SHOWN[:2]):
            [corners] = each.boxes[place]
            assert iou([corners], [SAMPLE.boxes[name]])[0] > 0.6


def test_about_other_images_it_tosses_coins_and_says_where():
    found = readable(selections(image=PLAIN, boxes="thousandths", skill=1.0))
    assert 0.4 < sum(0 in each.chosen for each in found) / len(found) < 0.6
    for each in found:
        for x0, y0, x1, y1 in (corners for boxes in each.boxes.values() for corners in boxes):
            assert 0 <= x0 < x1 <= PLAIN.width
            assert 0 <= y0 < y1 <= PLAIN.height


def test_at_temperature_0_it_answers_the_same_whatever_the_seed():
    (cold,) = {str(each) for each in selections(20, temperature=0.0)}
    assert len({str(each) for each in selections(20)}) > 1
    assert cold == str(selections(1, temperature=0.0)[0])


def rated(statement, variant, *, bias, count=1, language="en"):
    with translation.override(language):
        guide = "A. Read this.\nB. And this."
        prompt = guide + prompts.rating_prompt([], kind="visual_nature", statement=statement, variant=variant)
    model = backends.load(CompletionRecipe(backend="fake", options={"bias": bias}))
    found = [
        parsing.read_choice(reply.text, 5)
        for reply in model.answer([Question(prompt, seed) for seed in range(count)])
    ]
    places = [each for each in found if not isinstance(each, parsing.Problem)]
    return [4 - place if variant == "order" else place for place in places]


@pytest.mark.parametrize("language", ["en", "ar"])
def test_with_bias_1_the_item_decides_whatever_the_order_of_the_labels(language):
    own = []
    for number in range(30):
        given = {
            place
            for variant in ("base", "order")
            for place in rated(f"Item {number}.", variant, bias=1, count=5, language=language)
        }
        assert len(given) == 1
        own += given
    assert len(set(own)) == 5


def test_without_bias_every_label_is_as_likely():
    found = rated("Item.", "base", bias=0, count=1000)
    assert all(0.15 < found.count(place) / len(found) < 0.25 for place in range(5))


def test_what_it_is_not_asked_as_a_judge_it_answers_as_before():
    for prompt in ("Is this a hat?", 'Answer {"answer": "LETTER"}', "A. one\nB. two"):
        assert fake_judge.rating(prompt, 1, 0.5) is None
        assert fake_judge.selection(prompt, DRAWN, 1, fake_judge.JudgeOptions()) is None


def test_an_impossible_skill_is_refused():
    for name in ("skill", "weak_skill"):
        with pytest.raises(BackendError, match=rf"options\.{name}: choose 0 to 1"):
            backends.check(DescriptionRecipe(backend="fake", options={name: 1.5}))
