"""What a league compares of the protocols of its studies."""

import pytest

from annotation.models import Purpose, Source, Study
from metrics.league import protocols
from tests import factories
from tests.metrics.league import worlds
from tests.metrics.league.test_league_pages import page, scored

pytestmark = pytest.mark.django_db
EXAMPLE = {"text": "A hat", "answer": "Yes", "why": "It is seen"}


def named(*studies) -> set[str]:
    found = [Study.objects.get(pk=each.pk) for each in studies]
    return {one.name for one in protocols.differences(found, "depiction")}


@pytest.fixture
def pair():
    """Two studies whose protocols differ in nothing."""
    found = [factories.study(name, stereotype_source=factories.source("votes")) for name in "ab"]
    for one in found:
        made = factories.task(one, kind="depiction")
        made.examples = [EXAMPLE]
        made.translations = {"es": {"wording": "¿Se ve?", "examples": [EXAMPLE]}}
        made.save()
        picture = factories.image(image_set=factories.image_set("checks"), index=one.pk)
        unit = factories.page_unit(made, picture=picture, texts=["hat"])
        unit.purpose = Purpose.GOLD
        unit.save()
    Study.objects.update(opened_at=None, status="draft")
    return found


def test_the_content_of_examples_is_compared(pair):
    for part in EXAMPLE:
        pair[1].tasks.update(examples=[{**EXAMPLE, part: "other"}])
        assert "examples" in named(*pair), part
    pair[1].tasks.update(examples=[EXAMPLE])
    assert "examples" not in named(*pair)


def test_translated_wordings_and_examples_are_compared(pair):
    assert "translations" not in named(*pair)
    for other in (
        {"wording": "¿Lo ve?", "examples": [EXAMPLE]},
        {"wording": "¿Se ve?", "examples": [{**EXAMPLE, "why": "otro"}]},
    ):
        pair[1].tasks.update(translations={"es": other})
        assert "translations" in named(*pair)


def test_sources_of_the_same_title_are_told_apart(pair):
    assert "source" not in named(*pair)
    other = factories.source("votes-2")
    Source.objects.update(title="Votes")
    Study.objects.filter(pk=pair[1].pk).update(stereotype_source=other)
    assert "source" in named(*pair)


def test_check_items_are_compared_by_what_they_show_and_want(pair):
    units = [one.tasks.get().units.get() for one in pair]
    assert "checks" in named(*pair)  # other images
    units[1].image = units[0].image
    units[1].save()
    assert not named(*pair)
    units[1].options.filter(position=1).update(expected=[1])
    assert named(*pair) == {"checks"}
    units[0].options.filter(position=1).update(expected=[1])
    units[1].feedback = "Look again"
    units[1].save()
    assert named(*pair) == {"checks"}


def test_a_protocol_that_differs_is_said_before_the_table(client, lead):
    a, b, _ = worlds.three([lead])
    b.tasks.update(wording="Does it show [attr]?", strata=["any", "any", "origin: Asia"])
    Study.objects.filter(pk=b.pk).update(blur_images=True, stereotype_threshold=3)
    scored("a", "b", "c")
    shown = page(client, "a", "b", "c")
    assert shown.index("do not have the same protocol") < shown.index('id="table"')
    warned = shown[shown.index("do not have the same protocol") : shown.index('id="table"')]
    for label in ("Question", "Who answers", "Least number of these votes"):
        assert label in warned
    assert "Images blurred" not in warned
    assert "2 × any, 1 × origin: Asia" in shown
    found = protocols.differences([a, Study.objects.get(name="b")], "depiction")
    different = {one.name: one.matters for one in found}
    assert different == {"wording": True, "strata": True, "threshold": True, "blur": False}
