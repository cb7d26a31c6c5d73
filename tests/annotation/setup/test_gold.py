"""Gold items that a lead makes by looking at the images of a study (setup/views/gold.py)."""

import tomllib

import pytest
from django.urls import reverse

from annotation.annotate.services import trying
from annotation.models import Image, Option, Purpose, Source
from annotation.setup import services as setup
from annotation.setup.queries import gold_candidates, plan_of_images, suggestions
from annotation.studies.services import study_files
from annotation.studies.study_file.marks import find_marks, replace_marks
from annotation.studies.study_templates import registry
from tests import factories

pytestmark = pytest.mark.django_db

WORDS = {"Mexican": ("sombrero", "poor"), "French": ("beret", "wine")}
EACH = 6
"""Images of a group; twelve are two pages."""


@pytest.fixture
def lead(client):
    lead = factories.user("lead", lead=True)
    client.force_login(lead)
    return lead


@pytest.fixture
def begun(lead) -> dict:
    """The study 'new' from the template, with its images and its attributes."""
    source, images = factories.source("votes"), factories.image_set("pictures")
    for group, texts in WORDS.items():
        for text in texts:
            factories.association(group_name=group, text=text, out_votes=(2, 0, 0), from_source=source)
        for index in range(1, EACH + 1):
            factories.image(
                group_name=group, image_set=images, index=index, file=f"{group}{index}.png", sha256="0" * 64
            )
    document = registry.document("visage_depiction")
    document |= {"title": "New", "contact": "a@example.org", "quality": {"gold_rate": 0.5}}
    document["stereotypes"]["source"] = "votes"
    document["tasks"][0]["image_set"] = "pictures"
    document = setup.place_checks(document)
    setup.save(user=lead, name="new", document=document)
    return document


def gold(client, *, page: int = 1, said=None):
    url = f"{reverse('setup_gold', args=['new'])}?page={page}"
    shown = client.get(url)
    return shown if said is None else client.post(url, looked_at(shown) | said)


def looked_at(answer) -> dict:
    """What the page sends of each of its images besides the ticks."""
    return dict(card["seen"] for card in answer.context["form"].cards())


def named(group: str, index: int, **ticked) -> dict:
    pk = Image.objects.get(group__name=group, index=index).pk
    return {f"image_{pk}_{part}": value for part, value in ticked.items()}


def saved(lead) -> dict:
    return setup.documents(user=lead)["new"]["tasks"][0]


def offered(answer) -> list[Image]:
    return list(answer.context["form"].texts)


def test_images_of_every_group_are_offered_in_turn_with_what_the_study_shows(client, lead, begun):
    first, second = gold(client), gold(client, page=2)
    assert [len(offered(each)) for each in (first, second)] == [8, 4]
    assert len({image.pk for image in offered(first) + offered(second)}) == 2 * EACH
    groups = [image.group.name for image in offered(first)]
    assert all({*groups[at : at + 2]} == {*WORDS} for at in range(0, 8, 2))
    every = {text for texts in WORDS.values() for text in texts}
    assert all({*texts} == every for texts in first.context["form"].texts.values())


def test_ticked_images_are_items_of_the_study_its_files_its_copy_and_its_trial(client, lead, begun):
    shown = offered(gold(client))
    one, two, three = ((image.group.name, image.index) for image in shown[:3])
    said = (
        named(*one, shown=["wine", "sombrero"], doubt=["poor"])
        | named(*two, none="on")
        | named(*three, shown=["beret"], practice="on")
    )
    after = gold(client, said=said)
    assert after.url == reverse("setup_step", args=["new", "consent"])
    task = saved(lead)
    assert [(item["group"], item["image"], {*item["expected"]}) for item in task["gold"]] == [
        (*one, {"sombrero", "wine"}),
        (*two, set()),
    ]
    assert {*task["gold"][0]["shown"]} == {"sombrero", "wine", "beret"}
    assert task["training"][0]["feedback"] == "The image shows: beret."

    document = replace_marks(
        setup.documents(user=lead)["new"], {mark.text: "ours" for mark in find_marks(begun)}
    )
    study = setup.save_draft(user=lead, name="new", document=document, may_name_leads=False).study
    right = Option.objects.filter(unit__task__study=study, unit__purpose=Purpose.GOLD, expected=[1])
    assert {(each.unit.image.group.name, each.attribute and each.attribute.text) for each in right} == {
        (one[0], "sombrero"),
        (one[0], "wine"),
        (two[0], None),
    }
    in_file = tomllib.loads(study_files.to_toml(study=study))["tasks"][0]
    copied = setup.document_of_copy(study)["tasks"][0]
    for items in (in_file, copied):
        for purpose, number in (("gold", 2), ("training", 1)):
            assert [item["image"] for item in items[purpose]] == [item["image"] for item in task[purpose]]
            assert len(items[purpose]) == number
    tried = trying.next_items(trying.Trial(study=study, user_id=lead.pk), after=None, wanted=20).items
    assert [item.purpose for item in tried].count(Purpose.GOLD) == 2
    assert tried[0].purpose == Purpose.TRAINING


def test_items_are_shown_again_changed_and_removed_and_others_are_left_alone(client, lead, begun):
    image, other = offered(gold(client))[:2]
    typed = {"group": "French", "image": 99, "shown": ["wine"], "expected": ["wine"]}
    own = {
        "group": image.group.name,
        "image": image.index,
        "shown": ["moon", "wine"],
        "expected": ["moon"],
        "feedback": "The moon is at the top.",
    }
    begun["tasks"][0] |= {"training": [own], "gold": []}
    setup.save(user=lead, name="new", document=begun)
    here = (image.group.name, image.index)
    form = gold(client).context["form"]
    parts = ("shown", "doubt", "none", "practice")
    initial = {part: form[f"image_{image.pk}_{part}"].value() for part in parts}
    assert initial["shown"] == ["moon"]
    assert {"moon", "wine"}.isdisjoint(initial["doubt"])
    assert (len(initial["doubt"]), initial["none"], initial["practice"]) == (2, False, True)
    sent = named(*here, shown=["moon"], doubt=initial["doubt"], practice="on")
    gold(client, said=sent | named(other.group.name, other.index, none="on"))
    assert saved(lead)["training"] == [own]
    assert len(saved(lead)["gold"]) == 1

    gold(client, said=named(*here, shown=["wine"]))
    assert "training" not in saved(lead)
    assert [(item["image"], item["expected"]) for item in saved(lead)["gold"]] == [(image.index, ["wine"])]

    gold(client, said=named(*here, none="on", practice="on"))
    assert saved(lead)["training"][0]["feedback"] == "The image shows none of these."

    begun["tasks"][0]["gold"] = [typed]
    begun["tasks"][0].pop("training", None)
    setup.save(user=lead, name="new", document=begun)
    refused = gold(client, said=named(*here, shown=["wine"]))
    assert "no image 99 of the group" in refused.context["form"].non_field_errors()[0]
    # who makes no item here is not stopped by it
    assert gold(client, said={}).status_code == 302
    assert saved(lead)["gold"] == [typed]


@pytest.mark.parametrize(
    ("ticked", "why"),
    [
        ({"shown": ["beret"], "none": "on"}, "Choose either"),
        ({"shown": ["beret"], "doubt": ["beret"]}, "ticked twice, choose one: beret"),
        ({"doubt": ["beret"]}, "Tick what the image shows"),
        ({"practice": "on"}, "Tick what the image shows"),
        ({"doubt": ["beret", "wine", "sombrero", "poor"]}, "Tick what the image shows"),
        ({"none": "on", "doubt": ["beret", "wine", "sombrero", "poor"]}, "Leave at least one"),
    ],
)
def test_unclear_ticks_are_refused_beside_the_image(client, lead, begun, ticked, why):
    image = offered(gold(client))[0]
    answer = gold(client, said=named(image.group.name, image.index, **ticked))
    assert answer.status_code == 422
    assert why in answer.context["form"].errors[f"image_{image.pk}_shown"][0]
    assert f'<a href="#id_image_{image.pk}_shown">{image.group.name}, image {image.index}</a>' in answer.text
    assert "gold" not in saved(lead)


def test_a_page_of_words_or_images_that_have_changed_since_says_so_and_changes_no_item(client, lead, begun):
    before = gold(client)
    image, other = offered(before)[:2]
    said = looked_at(before) | named(image.group.name, image.index, none="on")
    url = reverse("setup_gold", args=["new"])
    words = {name: f"{texts} | moon" for name, texts in looked_at(before).items()}
    changed = client.post(url, said | words)
    assert "have changed. Look at it again." in changed.context["form"].errors[f"image_{image.pk}_shown"][0]
    gone = client.post(url, said | {"image_999999_seen": "moon"})
    assert "The images of this study have changed" in gone.context["form"].non_field_errors()[0]
    assert "gold" not in saved(lead)
    assert client.post(url, said).status_code == 302
    unseen = named(other.group.name, other.index, none="on") | {
        f"image_{other.pk}_seen": looked_at(before)[f"image_{other.pk}_seen"]
    }
    client.post(url, unseen)
    assert len(saved(lead)["gold"]) == 2, "that of the image that was not on the page stays"


def test_who_ticks_nothing_is_told_that_no_item_was_made(client, lead, begun):
    def said_after(ticks: dict) -> list[str]:
        return [str(message) for message in client.get(gold(client, said=ticks).url).context["messages"]]

    image = offered(gold(client))[0]
    assert [text[:20] for text in said_after({})] == ["No image was ticked,"]
    ticked = named(image.group.name, image.index, none="on")
    # made, kept as it was, and removed
    assert [text[:6] for ticks in (ticked, ticked, {}) for text in said_after(ticks)] == ["Saved."] * 3


def test_gold_items_are_mixed_in_also_where_the_study_names_no_rate(client, lead, begun):
    del begun["quality"]["gold_rate"]
    setup.save(user=lead, name="new", document=begun)
    image = offered(gold(client))[0]
    gold(client, said=named(image.group.name, image.index, none="on"))
    assert setup.documents(user=lead)["new"]["quality"]["gold_rate"] == 0.05


def test_an_attention_check_of_ones_own_does_not_move_to_other_images(lead, begun):
    placed = [(check["group"], check["image"]) for check in begun["tasks"][0]["attention"]]
    assert placed == [("French", 1), ("Mexican", 1)], "the first images of the set, of all groups"
    group = placed[0][0]
    own = {"group": group, "image": 3, "shown": ["sombrero", "wine"], "expected": []}
    begun["tasks"][0]["attention"].append(own)
    after = {**begun, "tasks": [{**begun["tasks"][0], "image_set": "others"}]}
    freed, note = setup.free_checks(after, before=begun)
    assert [check["shown"][0] for check in freed["tasks"][0]["attention"]] == [
        "printed tax form",
        "circuit board",
    ]
    assert note.startswith("1 item with")


def test_the_page_goes_on_to_more_images_to_the_last_page_or_says_what_is_missing(client, lead, begun):
    assert gold(client, said={"more": "1"}).url.endswith("/gold/?page=2")
    review = reverse("setup_step", args=["new", "open"])
    assert gold(client, page=2, said={"review": "1"}).url == review
    assert "No gold items yet" in client.get(review).text
    image = offered(gold(client))[0]
    gold(client, said=named(image.group.name, image.index, none="on"))
    shown = client.get(review).text
    assert "No gold items yet" not in shown
    assert "More gold items" in shown

    begun["tasks"][0]["attributes"]["visual"] = "nowhere"
    setup.save(user=lead, name="new", document=begun)
    lacking = gold(client).context["lacking"]
    assert "nowhere" in lacking["text"]
    assert reverse("setup_step", args=["new", "source"]) in lacking["text"]
    del begun["tasks"][0]["image_set"]
    setup.save(user=lead, name="new", document=begun)
    assert reverse("study_images", args=["new"]) in gold(client).text
    Image.objects.update(file="", sha256="")
    begun["tasks"][0] |= {"image_set": "pictures", "attributes": {"visual": "none"}}
    setup.save(user=lead, name="new", document=begun)
    assert "no image to look at" in gold(client).text


def test_other_images_are_chosen_without_the_items_about_those_of_before(client, lead, begun):
    image = offered(gold(client))[0]
    gold(client, said=named(image.group.name, image.index, none="on"))
    others = factories.image_set("others")
    for group in WORDS:
        factories.image(group_name=group, image_set=others, index=image.index)
    url = reverse("setup_step", args=["new", "source"])
    form = client.get(url).context["form"]
    sent = {field.html_name: field.value() for field in form if field.value() not in (None, False)}
    assert client.post(url, sent | {"stay": "1"}).status_code == 302
    assert len(saved(lead)["gold"]) == 1
    after = client.post(url, sent | {"depiction_image_set": "others", "stay": "1"})
    assert "gold" not in saved(lead)
    assert "1 item with a known answer was about" in client.get(after.url).text


def test_a_study_without_images_has_no_such_page(client, lead):
    setup.save(user=lead, name="new", document={"tasks": [{"kind": "visual_nature", "attributes": ["hat"]}]})
    assert gold(client).status_code == 404


def test_checks_of_an_image_task_are_offered_the_groups_of_its_images(begun):
    factories.association(group_name="Nepali", text="hat", from_source=Source.objects.get(name="votes"))
    offered = suggestions(begun["tasks"][0], document=begun)
    assert list(offered["groups"]) == ["French", "Mexican"]
    assert list(offered["attributes"]) == ["beret", "hat", "poor", "sombrero", "wine"]


def test_checks_of_some_groups_are_offered_those_and_their_attributes(begun):
    task = {**begun["tasks"][0], "attributes": {"source": "votes", "groups": ["French"]}}
    assert suggestions(task, document=begun) == {"groups": ["French"], "attributes": ["beret", "wine"]}


def test_an_image_of_several_pages_is_offered_once(begun):
    begun["tasks"][0]["page_size"] = 3
    assert {unit.page for unit in plan_of_images(begun).units()} >= {1, 2}
    assert len(gold_candidates(begun)) == len(WORDS) * EACH


def test_an_item_keeps_its_place_until_it_is_for_something_else(client, lead, begun):
    one, two = ((image.group.name, image.index) for image in offered(gold(client))[:2])

    def kept(purpose):
        return [(item["group"], item["image"]) for item in saved(lead)[purpose]]

    gold(client, said=named(*one, none="on") | named(*two, none="on"))
    changed = named(*one, shown=["beret"]) | named(*two, none="on")
    gold(client, said=changed)
    assert kept("gold") == [one, two]
    gold(client, said=changed | named(*two, practice="on"))
    assert (kept("gold"), kept("training")) == ([one], [two])


def test_items_to_practise_alone_are_mixed_in_nowhere(client, lead, begun):
    del begun["quality"]
    setup.save(user=lead, name="new", document=begun)
    image = offered(gold(client))[0]
    gold(client, said=named(image.group.name, image.index, none="on", practice="on"))
    assert len(saved(lead)["training"]) == 1
    assert "gold_rate" not in setup.documents(user=lead)["new"].get("quality", {})


def test_after_the_last_images_come_no_more(client, lead, begun):
    consent = reverse("setup_step", args=["new", "consent"])
    assert gold(client, page=2, said={"more": "1"}).url == consent
