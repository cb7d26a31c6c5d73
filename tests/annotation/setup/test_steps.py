"""What the pages of the wizard share: the list of steps, fields that must be adapted, and two windows."""

import pytest
from django.urls import reverse

from annotation.setup import services as setup
from tests import factories
from tests.annotation.setup.test_wizard import CONSENT, RECRUITMENT, SOURCE, TASKS

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


def shown_by(page: str) -> str:
    return page.partition('name="shown" value="')[2].partition('"')[0]


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


CHECKS = {
    "visual_nature_check_0_attribute": "kind",
    "visual_nature_check_0_expected": "Agree",
    "visual_nature_check_5_purpose": "training",  # an empty row
}
QUESTION = {"question_field_0": "religion", "question_label_0": "Your religion"}
EVERY_PAGE = {
    "source": (SOURCE, {"title": "Another title"}, {"description": "Words"}),
    "tasks": (TASKS, {"visual_nature_seed": "8"}, {"visual_nature_wording": "Is it [attr]?"}),
    "checks": (CHECKS, {"training_pass": "60"}, {"visual_nature_check_0_feedback": "Look again."}),
    "consent": (CONSENT, {"text": "You rate images."}, {"content_warning": "Slurs"}),
    "recruitment": (RECRUITMENT, QUESTION, {"completion_code": "C0DE"}),
}


@pytest.mark.parametrize("step", EVERY_PAGE)
def test_a_change_in_another_window_is_replaced_only_by_who_knows_of_it(client, lead, step):
    name = begin(client, "blank")
    data, first, second = EVERY_PAGE[step]

    def send(step: str, data: dict, **seen):
        answer = client.post(reverse("setup_step", args=[name, step]), {**data, **seen})
        return answer.status_code, answer.text, setup.documents(user=lead)[name]

    for each, (usual, *_changes) in EVERY_PAGE.items():
        assert send(each, usual)[0] == 302
    seen = shown_by(client.get(reverse("setup_step", args=[name, step])).text)
    other = "consent" if step == "recruitment" else "recruitment"
    send(other, {**EVERY_PAGE[other][0], "session_cap": "40", "completion_code": "0THER"})
    status, _page, saved = send(step, data | first, shown=seen)
    assert status == 302, "another page may change"
    assert send(step, data | first, shown=seen)[0] == 302, "nothing is lost if it is sent twice"
    status, page, after = send(step, data | second, shown=seen)
    assert (status, after) == (422, saved)
    assert "This page was changed in another window" in page
    assert "marked below" not in page
    status, page, after = send(step, data | second, shown=shown_by(page))
    assert status == 302
    assert after != saved


def test_above_a_page_with_errors_is_a_link_to_each_marked_field(client, lead):
    name = begin(client, "blank")
    page = client.post(reverse("setup_step", args=[name, "source"]), {**SOURCE, "title": ""}).text
    assert "Please correct the fields marked below." in page
    assert '<a href="#id_title">Title</a>' in page
    row = {"question_label_1": "Your religion"}
    page = client.post(reverse("setup_step", args=[name, "recruitment"]), {**RECRUITMENT, **row}).text
    assert '<a href="#question_field_1">Please check the questions.</a>' in page
