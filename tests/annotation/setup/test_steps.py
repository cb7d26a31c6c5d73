"""What the pages of the wizard share: the list of steps, fields that must be adapted, and two windows."""

from html import unescape

import pytest
from django import forms
from django.template.loader import render_to_string
from django.urls import reverse

from annotation.setup import services as setup
from annotation.studies.study_file.votes import find_too_few_votes
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
    return unescape(page.partition('name="shown" value="')[2].partition('"')[0])


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


def test_what_is_judged_lacks_its_contact_until_there_is_one(client, lead):
    name = begin(client, "visage_visual_nature")
    step = reverse("setup_step", args=[name, "consent"])
    assert ("source", False, False) in steps_of(client.get(step))
    setup.save(user=lead, name=name, document={**setup.documents(user=lead)[name], "contact": ""})
    assert ("source", False, True) in steps_of(client.get(step))


def test_consent_is_missing_until_there_is_a_text(client, lead):
    name = begin(client, "visage_visual_nature")
    step = reverse("setup_step", args=[name, "source"])
    assert ("consent", False, False) in steps_of(client.get(step))
    document = setup.documents(user=lead)[name]
    del document["consent"]
    setup.save(user=lead, name=name, document=document)
    assert ("consent", False, True) in steps_of(client.get(step))


def test_double_brackets_elsewhere_are_no_place_to_adapt():
    class TestFile(forms.Form):
        content = forms.CharField(initial="[[test]]")

    assert "To adapt" not in render_to_string(
        "annotation/setup/_field.html", {"field": TestFile()["content"]}
    )


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
    send(other, {**EVERY_PAGE[other][0], "session_cap": "40", "completion_code": "F1RST"})
    status, _page, saved = send(step, data | first, shown=seen)
    assert status == 302, "another page may change"
    assert send(step, data | first, shown=seen)[0] == 302, "nothing is lost if it is sent twice"
    status, page, after = send(step, data | second, shown=seen)
    assert (status, after) == (422, saved)
    assert "This page was changed in another window" in page
    assert "marked below" not in page
    if step in ("source", "tasks", "consent"):
        (value,) = first.values()
        assert f"In another window this was changed to: {value}" in page
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


def rule_and_quotas(rule: dict, *quotas: str, kind: str = "prevalence") -> dict:
    return {"stereotypes": rule, "tasks": [{"kind": "depiction"}, {"kind": kind, "strata": [*quotas]}]}


@pytest.mark.parametrize(
    ("document", "there"),
    [
        (rule_and_quotas({"threshold": 99}, "any", "any"), 2),
        (rule_and_quotas({"threshold": 3}), None),
        (rule_and_quotas({"threshold": 4}), 3),
        (rule_and_quotas({}, "any", "any"), None),
        (rule_and_quotas({}, "in-region", "IN-region and gender: not male", "any"), 1),
        (rule_and_quotas({"pool": "in"}, "in-region", "in-region", "out-region"), None),
        (rule_and_quotas({"pool": "in", "threshold": 1}, "out-region", "out-region"), 0),
        (rule_and_quotas({"threshold": 99}, "any", kind="association"), None),
        ({"tasks": [{"kind": "prevalence", "overlap": 1}]}, 1),
        ({}, None),
    ],
)
def test_fewer_votes_that_count_than_the_rule_needs_are_found(document, there):
    found = find_too_few_votes(document)
    assert (found and found.details["there"]) == there


@pytest.mark.parametrize(
    ("pool", "threshold", "elsewhere"), [("in", 2, True), ("in", 3, False), ("out", 2, False)]
)
def test_out_region_annotators_live_where_north_american_groups_do(pool, threshold, elsewhere):
    quotas = ("out-region", "out-region") if pool == "in" else ("in-region", "in-region")
    found = find_too_few_votes(rule_and_quotas({"pool": pool, "threshold": threshold}, *quotas))
    assert ("outside North America" in str(found)) == elsewhere


def test_the_last_page_warns_of_votes_that_are_too_few_and_links_to_their_fields(client, lead):
    name = begin(client, "seegull_prevalence")
    address = reverse("setup_step", args=[name, "open"])
    assert "No association can become a stereotype" not in client.get(address).text
    document = setup.documents(user=lead)[name]
    setup.save(user=lead, name=name, document={**document, "stereotypes": {"threshold": 99}})
    warning = client.get(address).text.partition('<p class="notice notice-warning">')[2].partition("</p>")[0]
    assert "can get from the annotators whose votes count (3). No association can become" in warning
    for step, field in (("source", "threshold"), ("source", "pool"), ("tasks", "prevalence_strata")):
        assert f'href="/setup/{name}/{step}/#id_{field}"' in warning


def test_the_last_page_says_what_is_wrong_on_each_page(client, lead):
    name = begin(client, "blank")
    document: dict = {
        "title": "-",
        "contact": "-",
        "tasks": [{"kind": "visual_nature", "attributes": ["hat"]}],
        "quality": {"gold_rate": 0.1},
        "recruitment": {"completion_url": "example.org"},
    }
    setup.save(user=lead, name=name, document=document)
    address = reverse("setup_step", args=[name, "open"])
    for shown in (client.get(address), client.post(address, {"make": "1"})):
        problems = shown.context["problems"]
        assert [each["step"] for each in problems] == ["consent", "checks", "recruitment"]
        assert all(each["text"] in shown.text for each in problems)


def test_what_is_judged_can_be_saved_before_there_are_images(client, lead):
    name = begin(client, "visage_depiction")
    source = reverse("setup_step", args=[name, "source"])
    form = client.get(source).context["form"]
    data = {each.html_name: each.value() for each in form if each.value() not in (None, False)}
    answer = client.post(source, {**data, "title": "What is seen?", "contact": "us@example.org"})
    assert answer.url == reverse("study_images", args=[name])
    last = reverse("setup_step", args=[name, "open"])
    shown = client.get(last)
    assert "“Image set”" in shown.context["problems"][0]["text"]
    assert ("images", False, True) in steps_of(shown)
    assert client.post(last, {"make": "1"}).status_code == 422
