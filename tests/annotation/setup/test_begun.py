"""A study that is being set up: what its pages suggest and show of it, how much is kept, and who leads it."""

import json

import pytest

from annotation.models import Study, StudyStatus
from annotation.setup import queries
from annotation.setup import services as setup
from annotation.studies.study_templates import registry
from tests import factories
from tests.annotation.setup.test_api import DOCUMENT

pytestmark = pytest.mark.django_db
SOURCE = {"stereotypes": {"source": "votes"}}


@pytest.fixture
def lead():
    return factories.user("lead", lead=True)


@pytest.fixture
def task() -> dict:
    """Of a study that shows an image of each of two groups, each with an attribute of its own."""
    source, images = factories.source("votes"), factories.image_set("pictures")
    for group, text in (("Mexican", "sombrero"), ("French", "beret")):
        factories.association(group_name=group, text=text, out_votes=(2, 0, 0), from_source=source)
    for group in ("French", "Mexican"):
        factories.image(group_name=group, image_set=images, file=f"{group}.png", sha256="0" * 64)
    return {"kind": "depiction", "image_set": "pictures", "attributes": {"visual": "none"}}


def test_of_chosen_groups_alone_something_is_suggested(task):
    task["attributes"]["groups"] = ["French"]
    factories.association(group_name="Nepali", text="hat", from_source=factories.source("votes"))
    assert queries.suggestions(task, document=SOURCE) == {"groups": ["French"], "attributes": ["beret"]}


def test_an_image_of_several_pages_is_offered_once_with_its_first(task):
    found = queries.gold_candidates({**SOURCE, "tasks": [{**task, "page_size": 2}]})
    assert len({image for image, _ in found}) == len(found) == 2
    assert {len(texts) for _, texts in found} == {1}


@pytest.mark.parametrize(("page_size", "shown"), [(2, 1), (3, 2)])
def test_a_preview_has_as_many_attributes_as_a_page_and_the_group_of_its_image(task, page_size, shown):
    sample = queries.sample({**task, "page_size": page_size}, document=SOURCE)
    assert (len(sample["options"]), sample["identity"]) == (shown, "French")


@pytest.mark.parametrize(
    "chosen", [{"groups": ["French"]}, {"pairs": [["french", "beret"], ["Mexican", "sombrero"]]}]
)
def test_a_preview_is_of_what_was_chosen(task, chosen):
    what = {"source": "votes", **chosen}
    sample = queries.sample({"kind": "prevalence", "associations": what}, document={})
    assert (sample["identity"], sample["attribute"]) == ("French", "beret")


def test_a_preview_of_images_is_of_a_chosen_group(task):
    task["attributes"]["groups"] = ["Mexican"]
    assert queries.sample(task, document=SOURCE)["identity"] == "Mexican"


def test_what_is_begun_already_can_be_saved_again_however_many_there_are(lead, monkeypatch):
    monkeypatch.setattr(setup, "MOST_DRAFTS", 1)
    largest = {"title": "x"}
    monkeypatch.setattr(setup, "LARGEST_BYTES", len(json.dumps(largest)))
    for document in ({}, largest):
        setup.save(user=lead, name="one", document=document)
    with pytest.raises(setup.SetupRefused, match="too large"):
        setup.save(user=lead, name="one", document={"title": "xx"})
    assert setup.documents(user=lead) == {"one": largest}


def test_a_lead_keeps_the_others_or_some_of_them_and_names_no_more(lead):
    admin = factories.user("admin", admin=True)
    for name in ("maria", "noor"):
        factories.user(name)

    def led(by, **given) -> list[str]:
        document = {**DOCUMENT, **given}
        setup.save_draft(user=by, name="words", document=document, may_name_leads=by == admin)
        return sorted(Study.objects.get().leads.values_list("username", flat=True))

    assert led(admin, leads=["lead", "maria"]) == ["admin", "lead", "maria"]
    assert led(lead) == ["admin", "lead", "maria"]
    assert led(lead, leads=["lead", "maria"]) == ["lead", "maria"]
    with pytest.raises(setup.SetupRefused, match="only an administrator"):
        led(lead, leads=["lead", "noor"])


def test_opening_twice_opens_once_and_leaves_nothing_to_be_set_up(lead):
    setup.save(user=lead, name="words", document=DOCUMENT)
    for status in (StudyStatus.OPEN, StudyStatus.PAUSED):
        made = setup.save_draft(
            user=lead, name="words", document=DOCUMENT, may_name_leads=False, opening=True, texts_checked=True
        )
        assert made.study.status == status
        assert not setup.documents(user=lead)
        Study.objects.update(status=StudyStatus.PAUSED)


def test_suggested_checks_are_put_on_the_first_images(task):
    factories.image(index=2, image_set=factories.image_set("pictures"))
    document = registry.document("visage_depiction")
    document["tasks"][0]["image_set"] = "pictures"
    placed = setup.place_checks(document)["tasks"][0]["attention"]
    assert [(check["group"], check["image"]) for check in placed] == [("French", 1), ("Mexican", 1)]


def test_only_items_about_images_of_before_are_removed(task):
    suggested = registry.document("visage_depiction")["tasks"][0]["attention"][0]
    item = {**suggested, "group": "French", "image": 1}
    after = {"tasks": [{**task, "gold": [item], "attention": [item]}]}
    first = {"tasks": [{**task, "image_set": ""}]}
    assert setup.free_checks(after, before=first) == (after, "")
    freed, note = setup.free_checks(after, before={"tasks": [{**task, "image_set": "others"}]})
    assert "gold" not in freed["tasks"][0]
    assert len(freed["tasks"][0]["attention"]) == 1
    assert note.startswith("1 item with")
