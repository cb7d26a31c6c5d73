"""What a study being set up does with a second ZIP, unclear tables and rules of its own."""

import pytest
from django.urls import reverse

from annotation.catalogue.services import SourceRefused
from annotation.imports.readers import pairs
from annotation.models import AuditEvent, IdentityGroup, Image, ImageSet, Source, StudyStatus, TaskKind
from annotation.setup import services as setup
from generation.uploads.services import study_images
from tests import factories
from tests.generation.uploads.bundles import encoded, pixels, table
from tests.generation.uploads.study_images import begin, send

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(client):
    lead = factories.user("lead", lead=True)
    client.force_login(lead)
    return lead


def test_a_second_zip_goes_into_the_same_set_under_its_licence_only(client, lead):
    begin(client)
    send(client, licence="CC BY 4.0")
    begin(client, title="Other")
    send(client, name="other")  # what somebody uploads to another set of theirs counts for that one
    ImageSet.objects.get(name="other").images.all().delete()
    # its own study shows the set already, and may
    own = factories.study("what-is-shown", status=StudyStatus.DRAFT, leads=[lead])
    factories.task(own, kind=TaskKind.DEPICTION, image_set=ImageSet.objects.get(name="what-is-shown"))
    page = client.get(reverse("study_images", args=["what-is-shown"]))
    assert page.context["form"]["licence"].value() == "CC BY 4.0"
    more = {
        "5.png": encoded(pixels(size=(20, 6))),
        "t.csv": table({"file": "5.png", "group": "French"}),
    }
    refused = send(client, images=more, licence="CC0")
    assert "CC BY 4.0" in refused.context["form"].errors["licence"][0]
    assert Image.objects.count() == 4
    assert send(client, images=more).status_code == 302
    assert ImageSet.objects.get(name="what-is-shown").images.count() == 5


def test_the_form_begins_with_what_was_sent_and_its_lists_are_in_order(client, lead):
    begin(client)
    send(client)
    for name in ("a-2", "a-1"):
        factories.image_set(name), factories.source(name)
    for kind in (ImageSet, Source):  # by their titles, not their names
        kind.objects.filter(name="a-1").update(title="Z")
        kind.objects.filter(name="a-2").update(title="Y")
    form = client.get(reverse("study_images", args=["what-is-shown"])).context["form"]
    assert [form[name].value() for name in ("image_set", "source", "licence")] == [*["what-is-shown"] * 2, ""]
    for name in ("image_set", "source"):
        values = [value for value, _ in form.fields[name].choices]
        assert set(values) == {"", "a-1", "a-2", "what-is-shown"}
        assert (values[0], values.index("a-2") < values.index("a-1")) == ("", True)
    assert ImageSet.objects.get(name="what-is-shown").title == "What is shown?"


def test_groups_of_both_files_are_made_on_the_axis_that_is_named(client, lead):
    begin(client)
    images = {"1.png": encoded(), "t.csv": table({"file": "1.png", "group": "Left-handed"})}
    said = {"attributes": "group,attribute\nLeft-handed,pen\n", "axis": "other", "allow_fewer": "on"}
    assert "images" in send(client, images=images, **said).context["form"].errors
    assert send(client, images=images, **said, new_groups="on").status_code == 302
    assert IdentityGroup.objects.get().axis == "other"


def test_what_the_form_refuses_is_said_once_beside_its_field(client, lead, settings, monkeypatch):
    begin(client)

    def errors(**how):
        return dict(send(client, **how).context["form"].errors)

    assert list(errors(images=None, image_set="nowhere")) == ["image_set"]
    assert list(errors(attributes=None, source="nowhere")) == ["source"]
    assert list(errors(licence="x" * 81)) == ["licence"]
    monkeypatch.setattr(pairs, "MAX_BYTES", 99)
    header = "group,attribute\n"
    assert "attributes" not in errors(attributes=header + "x" * (99 - len(header)), images=None)
    assert errors(attributes=header + "x" * (100 - len(header))) == {
        "attributes": ["The file is larger than 2 MB."]
    }
    monkeypatch.undo()
    settings.UPLOAD_MAX_MB = 0
    [error] = errors()["images"]
    assert "manage.py import_images" in error


@pytest.mark.parametrize("refused", [SourceRefused, setup.SetupRefused])
def test_what_changed_meanwhile_is_said_above_the_form(client, lead, monkeypatch, refused):
    begin(client)

    def refuse(**given):
        raise refused("Somebody was faster.")

    monkeypatch.setattr(study_images, "fill", refuse)
    assert send(client).context["form"].non_field_errors() == ["Somebody was faster."]


@pytest.mark.parametrize(
    "how",
    ["by somebody else", "of another name", "grown since", "shown in another study", "about to be shown"],
)
def test_a_set_that_is_not_this_studys_alone_gets_no_more_images(client, lead, how):
    begin(client)
    send(client)
    images = ImageSet.objects.get()
    if how == "by somebody else":
        AuditEvent.objects.update(by=factories.user("somebody"))
    elif how == "of another name":
        document = setup.documents(user=lead)["what-is-shown"]
        document["tasks"][0]["image_set"] = "another"
        setup.save(user=lead, name="what-is-shown", document=document)
        ImageSet.objects.update(name="another")
        AuditEvent.objects.filter(details__set="what-is-shown").update(
            details={"set": "another", "created": 4}
        )
    elif how == "grown since":
        factories.image(group_name="Mexican", image_set=images, index=5)
    elif how == "shown in another study":
        factories.task(factories.study("other"), kind=TaskKind.DEPICTION, image_set=images)
    else:
        begin(client, title="Other")
        send(client, images=None, name="other", image_set=images.name)
    before = images.images.count()
    assert send(client).status_code == 302
    assert images.images.count() == before
    made = setup.documents(user=lead)["what-is-shown"]["tasks"][0]["image_set"]
    assert made == ("what-is-shown" if how == "of another name" else "what-is-shown-2")


HEADER = "group,attribute,stereotypical"


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        (",,,\n,,,\n", "there are no rows"),
        ("group,attribute,in_stereotypical,in_nonstereotypical,in_unsure\nMexican,hat,,,\n", "are empty"),
        (
            "group,word\nMexican,hat\n",
            "The first row has: group, word. The first row names the columns: identity",
        ),
        (
            "group,attribute,stereotype\nMexican,hat,yes\n",
            "no use for the column 'stereotype'. Remove or rename",
        ),
        (f"{HEADER},stereotypical\nMexican,hat,yes,no\n", "two columns 'stereotypical'. Remove one"),
    ],
)
def test_an_unclear_table_of_attributes_is_refused(client, lead, attributes, why):
    begin(client)
    answer = send(client, attributes=attributes)
    assert answer.status_code == 422
    assert why in answer.context["form"].errors["attributes"][0]


def test_every_wrong_row_of_the_attributes_is_named_with_what_to_do(client, lead):
    begin(client)
    wrong = (
        f"{HEADER}\nMexican,hat,maybe\nMexican,big, blue hat,yes\n\nFrench,beret\n"
        "Mexican,sombrero,yes\nmexican,Sombrero,no\nXqz,hat,yes\nFrench,wine,\nFrench,,yes\n"
    )
    cells = "Put a text with a separator in quotation marks, and leave no value out."
    assert send(client, attributes=wrong).context["form"].errors["attributes"] == [
        "Row 2, column stereotypical: 'maybe' is neither yes nor no. Write yes or no.",
        f"Row 3: 4 values where the header has 3. {cells}",
        f"Row 5: 2 values where the header has 3. {cells}",
        "Row 7, column stereotypical: 'mexican, sombrero' is in row 6 too, with the other answer. "
        "Keep one of the two rows.",
        "Row 8, column group: there is no identity 'Xqz' on the axis Nationality. Correct it, or let "
        "unknown identities be created.",
        "Row 9, column stereotypical: the cell is empty. Write yes or no.",
        "Row 10, column attribute: the cell is empty. Fill it in, or remove the line.",
    ]
    many = HEADER + "\nMexican,hat,maybe" * 21
    told = send(client, attributes=many).context["form"].errors["attributes"]
    assert (len(told), told[-1]) == (21, "and 1 more.")
    only = send(client, attributes=f"{HEADER}\nMexican,hat,maybe\n").context["form"].errors["attributes"]
    assert only == ["Row 2, column stereotypical: 'maybe' is neither yes nor no. Write yes or no."]
    votes = "group,attribute,in_stereotypical,in_nonstereotypical,in_unsure\nMexican,hat,two,1,0\n"
    assert send(client, attributes=votes).context["form"].errors["attributes"] == [
        "Row 2, column in_stereotypical: 'two' is not a number of votes. Write whole numbers from 0 up in "
        "all three columns, or leave all empty."
    ]


def test_in_region_votes_alone_make_stereotypes(client, lead):
    begin(client)
    votes = (
        "group,attribute,in_stereotypical,in_nonstereotypical,in_unsure\n"
        "Mexican,sombrero,2,1,0\nMexican,hat,1,2,0\nFrench,beret,3,0,0\n"
    )
    assert send(client, attributes=votes).status_code == 302
    document = setup.documents(user=lead)["what-is-shown"]
    assert document["stereotypes"] == {"source": "what-is-shown", "pool": "in", "threshold": 2}
    assert Source.objects.get().origin == "Uploaded with the study 'what-is-shown'."


@pytest.mark.parametrize(("visual", "kept"), [(["sombrero", "beret"], True), (["castle"], False)])
def test_a_copied_rule_of_visual_attributes_is_kept_if_it_can_apply(client, lead, visual, kept):
    begin(client)
    document = setup.documents(user=lead)["what-is-shown"]
    document["tasks"][0]["attributes"] = {"visual": visual}
    setup.save(user=lead, name="what-is-shown", document=document)
    answer = send(client)
    task = setup.documents(user=lead)["what-is-shown"]["tasks"][0]
    assert task["attributes"] == {"visual": visual if kept else "none"}
    said = "keeps its rule" if kept else "Every attribute counts as visual now"
    assert said in client.get(answer.url).text


def test_the_images_are_those_of_the_task_about_images(client, lead):
    begin(client)
    document = setup.documents(user=lead)["what-is-shown"]
    document["tasks"].insert(0, {"kind": "visual_nature", "attributes": ["sombrero"]})
    setup.save(user=lead, name="what-is-shown", document=document)
    assert send(client).status_code == 302
    other, task = setup.documents(user=lead)["what-is-shown"]["tasks"]
    assert (other.get("image_set"), task["image_set"]) == (None, "what-is-shown")


def test_an_incomplete_study_can_be_given_its_images(client, lead):
    begin(client)
    document = setup.documents(user=lead)["what-is-shown"]
    page = {"group": "French", "image": 2, "shown": ["beret"]}
    document["tasks"][0] |= {"page_size": 1, "shown": [page]}
    setup.save(user=lead, name="what-is-shown", document=document)
    assert send(client).status_code == 302
    assert "shown" not in setup.documents(user=lead)["what-is-shown"]["tasks"][0]


@pytest.mark.parametrize(
    ("groups", "kept", "said"),
    [
        (["Mexican", "Welsh"], ["Mexican"], "these groups alone, as before: Mexican"),
        (["Welsh"], None, "none of the groups that the study was limited to"),
        (["French", "Mexican"], ["French", "Mexican"], ""),
    ],
)
def test_a_copied_draw_keeps_its_groups_as_far_as_the_images_show_them(client, lead, groups, kept, said):
    begin(client)
    document = setup.documents(user=lead)["what-is-shown"]
    document["tasks"][0]["attributes"] = {"groups": groups, "allow_fewer": True}
    factories.image(group_name="Welsh", image_set=factories.image_set("another"))
    setup.save(user=lead, name="what-is-shown", document=document)
    assert client.get(reverse("study_images", args=["what-is-shown"])).context["form"]["allow_fewer"].value()
    answer = send(client, allow_fewer="on")
    task = setup.documents(user=lead)["what-is-shown"]["tasks"][0]
    assert task["attributes"].get("groups") == kept
    assert task["attributes"]["visual"] == "none"
    shown = client.get(answer.url).text
    assert said in shown
    assert ("groups" in task["attributes"]) == bool(kept)
    assert said or "as before" not in shown


def test_items_about_other_images_are_removed_when_the_images_are_replaced(client, lead):
    begin(client)
    send(client)
    document = setup.documents(user=lead)["what-is-shown"]
    page = {"group": "French", "image": 2, "shown": ["beret"], "expected": ["beret"]}
    document["tasks"][0] |= {"gold": [page], "training": [page]}
    setup.save(user=lead, name="what-is-shown", document=document)
    others = factories.image_set("others")
    for group in ("Mexican", "French"):
        for index in (7, 8):
            factories.image(group_name=group, image_set=others, index=index)
    # the same images again
    send(client, images=None, attributes=None, image_set="what-is-shown", source="what-is-shown")
    assert setup.documents(user=lead)["what-is-shown"]["tasks"][0]["gold"] == [page]
    answer = send(client, images=None, attributes=None, image_set="others", source="what-is-shown")
    task = setup.documents(user=lead)["what-is-shown"]["tasks"][0]
    assert not {"gold", "training"} & set(task)
    assert "2 items with a known answer were about the images of before" in client.get(answer.url).text
    placed = [(check["group"], check["image"]) for check in task["attention"]]
    assert placed == [("French", 7), ("Mexican", 7)]
