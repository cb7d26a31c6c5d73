"""From a ZIP of images and a CSV to an open study of what they depict, by a lead in the browser."""

import pytest
from django.urls import reverse

from annotation.models import (
    Association,
    Image,
    ImageSet,
    Invitation,
    Option,
    OptionRole,
    Source,
    Study,
    StudyStatus,
    Unit,
)
from annotation.setup import services as setup
from annotation.studies.study_file.marks import OPENING
from tests import factories
from tests.annotation.api.calls import Program
from tests.generation.uploads.bundles import encoded
from tests.generation.uploads.study_images import begin, form_data, send

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(client):
    lead = factories.user("lead", lead=True)
    client.force_login(lead)
    return lead


def test_a_lead_comes_from_a_zip_and_a_csv_to_an_open_study_in_at_most_five_pages(client, lead):
    seen = []

    def get(url):
        seen.append(url.partition("?")[0])
        answer = client.get(url)
        assert answer.status_code == 200
        return answer

    start = get(reverse("setup"))
    assert start.context["new"]["template"].value() == "visage_depiction"
    images = get(begin(client).url)
    gold = get(send(client).url)
    assert "4 images added" in gold.text
    consent = get(client.post(seen[-1], form_data(gold)).url)
    assert consent.text.count("To adapt") > 3
    data = form_data(consent)
    fills = consent.context["form"].fills
    data |= {name: f"our {number}" for number, name in enumerate(fills)}
    review = client.post(seen[-1], {**data, "review": "1"}).url
    assert not review.endswith("consent/")
    opening = get(review)
    assert opening.context["problems"] == []
    assert opening.context["marks"] == []
    assert client.post(review, {"make": "1"}).status_code == 302
    refused = client.post(review, {"open": "1"})
    assert refused.status_code == 422
    assert "tick below" in refused.text
    assert Study.objects.get().status == StudyStatus.DRAFT
    after = client.post(review, {"open": "1", "texts_checked": "1"})
    assert Study.objects.get().status == StudyStatus.OPEN
    assert len(dict.fromkeys(seen)) == 5
    assert images.context["form"].fields
    page = client.get(after.url)
    assert "What comes next" in page.text
    assert Invitation.objects.get().code in page.text


def test_what_is_shown_is_drawn_as_the_tables_say(client, lead):
    begin(client)
    assert send(client).status_code == 302
    document = setup.documents(user=lead)["what-is-shown"]
    assert document["stereotypes"] == {"source": "what-is-shown", "pool": "out", "threshold": 1}
    assert [(each["group"], each["image"]) for each in document["tasks"][0]["attention"]] == [
        ("French", 1),
        ("Mexican", 1),
    ]
    assert Source.objects.get().origin.endswith("One out-region vote: its lead's.")
    votes = Association.objects.values_list("attribute__text", "out_stereotypical")
    assert dict(votes) == {"sombrero": 1, "guitar": 1, "hat": 0, "beret": 1, "wine": 1}
    study = setup.save_draft(user=lead, name="what-is-shown", document=document, may_name_leads=False).study
    shown = Option.objects.filter(unit__in=Unit.objects.filter(task__study=study, purpose="data"))
    of_mexican = shown.filter(unit__image__group__name="Mexican").values_list("attribute__text", "role")
    assert {text for text, role in of_mexican if role == OptionRole.STEREOTYPICAL} == {"sombrero", "guitar"}
    assert {text for text, role in of_mexican if role == OptionRole.RANDOM} == {"beret", "wine"}
    # 'hat' is said of Mexican people too, so it may stand for the French ones only
    assert ("hat", OptionRole.RANDOM) not in of_mexican


def test_what_is_here_already_can_be_chosen_instead(client, lead):
    source, images = factories.source("votes"), factories.image_set("pictures")
    for group, text in (("Mexican", "sombrero"), ("French", "beret")):
        factories.association(group_name=group, text=text, out_votes=(2, 1, 0), from_source=source)
        factories.image(group_name=group, image_set=images)
    begin(client)
    assert send(client, images=None, attributes=None, image_set="pictures", source="votes").status_code == 302
    document = setup.documents(user=lead)["what-is-shown"]
    assert document["stereotypes"] == {"source": "votes", "pool": "out", "threshold": 2}
    assert document["tasks"][0]["image_set"] == "pictures"


def test_what_is_refused_says_why_beside_its_field_and_keeps_nothing(client, lead):
    begin(client)
    before = setup.documents(user=lead)
    for how, field, why in (
        ({"images": None}, "images", "Choose a ZIP"),
        ({"attributes": None}, "attributes", "Choose a CSV"),
        ({"images": {"1.png": encoded()}}, "images", "no CSV file"),
        (
            {"attributes": "group,attribute,stereotypical\nMexican,hat,maybe\n"},
            "attributes",
            "neither yes nor",
        ),
        ({"attributes": "attribute\nhat\n"}, "attributes", "no column"),
        ({"attributes": "group,attribute\nMartian,hat\n"}, "attributes", "Row 2, column group"),
        ({"attributes": "group,attribute,stereotypical\nMexican,hat,no\n"}, "attributes", "No group of the"),
        ({"attributes": "group,attribute\nMexican,hat\n"}, "allow_fewer", "Too few attributes"),
    ):
        answer = send(client, **how)
        assert answer.status_code == 422
        assert why in " ".join(answer.context["form"].errors[field])
        assert not ImageSet.objects.exists()
        assert not Source.objects.exists()
        assert not Image.objects.exists()
        assert setup.documents(user=lead) == before


def test_too_few_random_attributes_can_be_allowed(client, lead):
    begin(client)
    assert send(client, attributes="group,attribute\nMexican,hat\n", allow_fewer="on").status_code == 302
    task = setup.documents(user=lead)["what-is-shown"]["tasks"][0]
    assert task["attributes"] == {"visual": "none", "allow_fewer": True}


def test_another_teams_set_of_the_same_name_is_left_alone(client, lead):
    factories.image_set("what-is-shown")
    factories.source("what-is-shown")
    begin(client)
    assert send(client).status_code == 302
    document = setup.documents(user=lead)["what-is-shown"]
    assert document["tasks"][0]["image_set"] == "what-is-shown-2"
    assert document["stereotypes"]["source"] == "what-is-shown-2"


def test_the_page_is_for_the_leads_own_study_of_images(client, lead):
    begin(client)
    begin(client, template="seegull_prevalence", title="Known?")
    assert client.get(reverse("study_images", args=["known"])).status_code == 404
    client.force_login(factories.user("other", lead=True))
    assert client.get(reverse("study_images", args=["what-is-shown"])).status_code == 404
    client.force_login(factories.user("nobody"))
    assert send(client).status_code == 404


def test_steps_count_the_places_to_adapt_and_the_last_page_links_to_them(client, lead):
    answer = begin(client, template="seegull_prevalence", title="Known?")
    shown = client.get(answer.url)
    marks = {each["key"]: each["marks"] for each in shown.context["steps"]}
    assert marks == {"source": 0, "tasks": 0, "checks": 2, "consent": 12, "recruitment": 0, "open": 0}
    review = client.get(reverse("setup_step", args=["known", "open"]))
    assert len(review.context["marks"]) == 14
    for link, mark in review.context["marks"]:
        url, _hash, anchor = link.split('"')[1].partition("#")
        assert f'id="{anchor}"' in client.get(url).text, link
        assert OPENING in mark


def test_pages_of_a_template_can_be_saved_before_it_is_chosen_what_is_judged(client, lead):
    for template in ("visage_depiction", "seegull_prevalence", "visage_visual_nature", "biasdora_levels"):
        begin(client, template=template, title=template)
        for step in ("tasks", "checks"):
            url = reverse("setup_step", args=[template.replace("_", "-"), step])
            url = reverse("setup_step", args=[template, step])
            before = setup.documents(user=lead)[template]
            answer = client.post(url, form_data(client.get(url)))
            assert answer.status_code == 302, answer.context["form"].errors
            assert setup.documents(user=lead)[template] == before, step


def test_the_api_opens_a_templates_study_once_its_texts_are_adapted_and_checked(client, lead):
    begin(client)
    send(client)
    document = setup.documents(user=lead)["what-is-shown"]
    setup.save_draft(user=lead, name="what-is-shown", document=document, may_name_leads=False)
    program = Program(type(lead).objects.get(pk=lead.pk))
    marked = program.post("studies/what-is-shown/status", {"status": "open", "texts_checked": True})
    assert marked.status_code == 409
    assert "still to be adapted" in marked.json()["detail"]
    consent = client.get(reverse("setup_step", args=["what-is-shown", "consent"]))
    fills = dict.fromkeys(consent.context["form"].fills, "ours")
    client.post(reverse("setup_step", args=["what-is-shown", "consent"]), form_data(consent) | fills)
    client.post(reverse("setup_step", args=["what-is-shown", "open"]), {"make": "1"})
    unchecked = program.post("studies/what-is-shown/status", {"status": "open"})
    assert unchecked.status_code == 409
    assert "texts_checked" in unchecked.json()["detail"]
    opened = program.post("studies/what-is-shown/status", {"status": "open", "texts_checked": True})
    assert opened.status_code == 200


def test_a_copy_of_a_closed_study_begins_on_its_last_page(client, lead):
    study = factories.study("old", status=StudyStatus.CLOSED, leads=[lead], title="Old")
    factories.consent_text(study)
    factories.attribute_unit(factories.task(study), "hat")
    factories.study("theirs", title="Theirs")
    assert "Theirs" not in client.get(reverse("setup")).text
    answer = begin(client, template="copy", copy_of="old", title="New one")
    assert answer.url == reverse("setup_step", args=["new-one", "open"])
    document = setup.documents(user=lead)["new-one"]
    assert document["consent"]["text"] == "What taking part means."
    assert document["tasks"][0]["attributes"] == ["hat"]
    assert begin(client, template="copy", copy_of="theirs", title="No").status_code == 422
    assert begin(client, template="copy", copy_of="", title="No").status_code == 422
