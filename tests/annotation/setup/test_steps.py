"""The list of steps on top of every page of the wizard, and fields that must be adapted."""

import pytest
from django.urls import reverse

from annotation.setup import services as setup
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(client):
    lead = factories.user("lead", lead=True)
    client.force_login(lead)
    return lead


def begin(client, template: str) -> str:
    """The name of a study begun from a template."""
    client.post(reverse("setup"), {"template": template, "title": template, "contact": "a@example.org"})
    return template


def steps_of(shown) -> list[tuple[str, bool, bool]]:
    return [(each["key"], each["here"], each["missing"]) for each in shown.context["steps"]]


def test_a_study_of_images_has_a_step_for_them_that_says_whether_they_are_missing(client, lead):
    name = begin(client, "visage_depiction")
    images = reverse("study_images", args=[name])
    source = reverse("setup_step", args=[name, "source"])
    shown = client.get(images)
    assert steps_of(shown)[:3] == [("source", False, False), ("images", True, True), ("tasks", False, False)]
    page = shown.text
    assert page.index(f'href="{source}"') < page.index(f'href="{images}" aria-current="step"')
    document = setup.documents(user=lead)[name]
    document["tasks"][0]["image_set"], document["stereotypes"]["source"] = "ours", "our-table"
    setup.save(user=lead, name=name, document=document)
    assert ("images", False, False) in steps_of(client.get(source))


def test_a_study_without_images_has_no_step_for_them(client, lead):
    name = begin(client, "visage_visual_nature")
    shown = client.get(reverse("setup_step", args=[name, "source"]))
    assert [key for key, *_ in steps_of(shown)][:2] == ["source", "tasks"]


def test_a_text_to_adapt_is_not_called_optional(client, lead):
    name = begin(client, "visage_depiction")
    page = client.get(reverse("setup_step", args=[name, "consent"])).text
    labels = [line for line in page.splitlines() if "<label" in line and "To adapt</span>" in line]
    assert labels
    assert [line for line in labels if "optional" in line] == []
