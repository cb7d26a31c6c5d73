"""Setting a study up in the browser: worked examples, training, gold and attention items, and their rules."""

import tomllib
from html import unescape

import pytest
from django.urls import reverse

from annotation.models import Purpose, Study, Unit
from annotation.setup import services as setup_services
from annotation.setup.forms.base import languages
from annotation.setup.forms.checks import ChecksForm
from annotation.studies.services import studies, study_files
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.studies import world

pytestmark = pytest.mark.django_db
URL = "/setup/whole/checks/"
RATING = {
    "name": "whole",
    "title": "Words",
    "contact": "studies@example.org",
    "consent": {"text": "Please."},
    "tasks": [
        {
            "kind": "visual_nature",
            "attributes": ["hat", "kind", "poor"],
            "translations": {"es": {"wording": "¿Se ve '[attr]'?"}},
        }
    ],
}
GOLD = {
    "visual_nature_check_0_purpose": "gold",
    "visual_nature_check_0_attribute": "hat",
    "visual_nature_check_0_expected": ["Agree", "Strongly agree"],
}

EXAMPLE = {
    "visual_nature_example_0_text": "hat",
    "visual_nature_example_0_answer": "yes",
    "visual_nature_example_0_text_es": "gorro",
    "visual_nature_example_0_answer_es": "sí",
}


@pytest.fixture
def lead(client):
    made = factories.user("maria", lead=True)
    client.force_login(made)
    return made


@pytest.fixture
def begun(lead):
    setup_services.save(user=lead, name="whole", document=RATING)


def kept(lead) -> dict:
    return setup_services.documents(user=lead)["whole"]


def sent_as_shown(page) -> dict:
    """What a browser would send of a page that nobody changed."""
    form = page.context["form"]
    data = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in data.items() if value is not None and value is not False}


def test_every_kind_of_item_and_rule_reaches_the_study(client, begun, lead):
    answer = client.post(
        URL,
        {
            **GOLD,
            "training_pass": "75",
            "gold_rate": "7.5",
            "visual_nature_check_1_purpose": "training",
            "visual_nature_check_1_attribute": "Sombrero",
            "visual_nature_check_1_expected": ["Strongly agree"],
            "visual_nature_check_1_feedback": "One can point at it.",
            "visual_nature_check_2_purpose": "attention",
            "visual_nature_check_2_attribute": "choose unsure here",
            "visual_nature_check_2_expected": ["Unsure"],
            "visual_nature_example_0_text": "hat",
            "visual_nature_example_0_answer": "Strongly agree",
            "visual_nature_example_0_why": "It is an object.",
            "visual_nature_example_0_text_es": "sombrero",
            "visual_nature_example_0_answer_es": "Muy de acuerdo",
        },
    )
    assert answer.url == reverse("setup_step", args=["whole", "consent"]), answer.context["form"].errors
    made = client.post(reverse("setup_step", args=["whole", "open"]), {"make": "1"})
    assert made.status_code == 302, made.context["problems"]

    study = Study.objects.get()
    assert (study.training_pass, study.gold_rate) == (0.75, 0.075)
    units = Unit.objects.exclude(purpose=Purpose.DATA).order_by("position")
    assert [
        (unit.purpose, unit.attribute.text, unit.options.get().expected, unit.feedback) for unit in units
    ] == [
        ("training", "sombrero", [5], "One can point at it."),
        ("gold", "hat", [4, 5], ""),
        ("attention", "choose unsure here", [3], ""),
    ]
    task = study.tasks.get()
    assert task.examples == [{"text": "hat", "answer": "Strongly agree", "why": "It is an object."}]
    assert task.translations["es"]["examples"] == [
        {"text": "sombrero", "answer": "Muy de acuerdo", "why": ""}
    ]


def test_keeping_a_page_that_nobody_changed_changes_nothing(client, lead):
    """A file with every key, read by the pages and written again: the same study."""
    factories.user("noor")
    world.resource()
    world.pictures()
    world.rated()
    file = read_study_text(world.EVERY_KEY)
    document = tomllib.loads(study_files.study_toml(file))
    setup_services.save(user=lead, name="whole", document=document)
    page = client.get(URL)
    assert page.text.count("<legend>Correct answers</legend>") == 3 + 2 + 1 + 2 + 0 + 2 + 1 + 2
    answer = client.post(URL, sent_as_shown(page))
    assert answer.status_code == 302, answer.context["form"].errors
    again = read_study_text(setup_services.to_toml(kept(lead)))
    assert again.tasks == file.tasks
    assert (again.training_pass, again.gold_rate) == (file.training_pass, file.gold_rate)


def test_the_browser_and_the_file_make_the_same_items(client, begun, lead):
    client.post(URL, GOLD)
    toml = client.get(reverse("setup_file", args=["whole"])).text
    client.post(reverse("setup_step", args=["whole", "open"]), {"make": "1"})
    by_browser = study_files.to_study_file(study=Study.objects.get())
    Study.objects.all().delete()
    studies.apply_file(file=read_study_text(toml), by=None)
    assert study_files.to_study_file(study=Study.objects.get()).tasks == by_browser.tasks


@pytest.mark.parametrize(
    ("data", "field", "says"),
    [
        ({**GOLD, "visual_nature_check_0_attribute": ""}, "check_0_attribute", "Write the attribute"),
        ({**GOLD, "visual_nature_check_0_expected": []}, "check_0_expected", "at least one correct answer"),
        ({**GOLD, "visual_nature_check_0_expected": ["Maybe"]}, "check_0_expected", "Maybe"),
        ({**GOLD, "visual_nature_check_0_feedback": "Right!"}, "check_0_feedback", "Only training items"),
        (
            {
                **GOLD,
                "visual_nature_check_0_purpose": "attention",
                "visual_nature_check_0_feedback": "Right!",
            },
            "check_0_feedback",
            "Only training items",
        ),
        ({"visual_nature_example_1_why": "x"}, "example_1_text", "Write the example"),
        ({"visual_nature_example_1_text": "x"}, "example_1_answer", "Write the answer"),
        (
            {
                "visual_nature_example_0_text": "a",
                "visual_nature_example_0_answer": "b",
                "visual_nature_example_0_text_es": "á",
            },
            "example_0_answer_es",
            "Add “Answer”",
        ),
        ({"gold_rate": "60", **GOLD}, "gold_rate", "less than or equal to 50"),
        ({"gold_rate": "5"}, "gold_rate", "no task has any"),
        ({"training_pass": "101"}, "training_pass", "less than or equal to 100"),
        ({"training_pass": "50", **GOLD}, "training_pass", "no task has any"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_kept(client, begun, lead, data, field, says):
    answer = client.post(URL, data)
    assert answer.status_code == 422
    name = field if field in ("gold_rate", "training_pass") else f"visual_nature_{field}"
    assert says in str(answer.context["form"].errors[name])
    assert kept(lead) == RATING


@pytest.mark.parametrize("correct", ["Agree", "Disagree"])
def test_another_correct_answer_replaces_that_of_before(client, begun, lead, correct):
    for chosen in ("Strongly agree", correct):
        client.post(URL, {**GOLD, "visual_nature_check_0_expected": [chosen]})
    assert kept(lead)["tasks"][0]["gold"][0]["expected"] == [correct]


@pytest.mark.parametrize("before", [[4, "Agree"], ["Agree", "Perhaps"]])
def test_what_says_the_same_twice_or_nothing_is_not_written_again(client, begun, lead, before):
    gold = [{"attribute": "hat", "expected": before}]
    document = {**RATING, "tasks": [{**RATING["tasks"][0], "gold": gold}]}
    setup_services.save(user=lead, name="whole", document=document)
    answer = client.post(URL, sent_as_shown(client.get(URL)))
    assert answer.status_code == 302, answer.context["form"].errors
    assert kept(lead)["tasks"][0]["gold"][0]["expected"] == ["Agree"]


def test_some_examples_translated_and_others_not_is_pointed_at(client, begun):
    examples = {
        f"visual_nature_example_{number}_{part}": "x" for number in (0, 1) for part in ("text", "answer")
    }
    translated = {f"visual_nature_example_0_{part}_es": "y" for part in ("text", "answer")}
    answer = client.post(URL, {**examples, **translated})
    assert answer.status_code == 422
    assert "1 of the 2 examples" in str(answer.context["form"].errors["visual_nature_example_0_text_es"])


def test_an_item_is_taken_out_and_one_that_is_emptied_is_too(client, begun, lead):
    client.post(URL, {**GOLD, "visual_nature_check_1_attribute": "kind",
                      "visual_nature_check_1_expected": ["Disagree"]})  # fmt: skip
    assert [each["attribute"] for each in kept(lead)["tasks"][0]["training"]] == ["kind"]
    page = client.get(URL)
    assert page.text.count("Remove this item") == 2, "only rows that are kept can be taken out"
    data = sent_as_shown(page)
    # training items stand first
    assert data["visual_nature_check_0_attribute"] == "kind"
    client.post(URL, {**data, "visual_nature_check_1_out": "on"})
    assert "gold" not in kept(lead)["tasks"][0]
    client.post(URL, {})
    assert not {"training", "gold", "attention"} & kept(lead)["tasks"][0].keys()


def test_associations_and_images_are_chosen_from_the_study(client, lead):
    world.resource()
    world.pictures()
    world.rated()
    text = world.HEAD + world.PREVALENCE + world.DEPICTION
    setup_services.save(user=lead, name="whole", document=tomllib.loads(text))
    page = client.get(URL).text
    assert '<datalist id="prevalence-groups"><option value="French">' in page
    assert '<option value="prayer flag">' in page
    checks = {
        "prevalence_check_0_purpose": "gold",
        "prevalence_check_0_group": "French",
        "prevalence_check_0_attribute": "beret",
        "prevalence_check_0_expected": ["Stereotypical"],
        "depiction_check_0_purpose": "gold",
        "depiction_check_0_group": "Mexican",
        "depiction_check_0_image": "2",
        "depiction_check_0_shown": "Sombrero\n\nberet",
        "depiction_check_0_expected": "sombrero",
    }
    wrong = {
        "prevalence_check_0_attribute": ("sombrero", "'French' with 'sombrero'", "attribute"),
        "depiction_check_0_image": ("9", "has no image 9", "group"),
        "depiction_check_0_expected": ("hat", "lists attributes that are not in", "expected"),
        "depiction_check_0_shown": ("beret\nBeret", "different attributes", "shown"),
    }  # fmt: skip
    for name, (value, says, part) in wrong.items():
        answer = client.post(URL, {**checks, name: value})
        assert answer.status_code == 422
        assert says in unescape(answer.context["form"].errors[f"{name.rpartition('_')[0]}_{part}"][0])
    answer = client.post(URL, {**checks, "depiction_check_0_image": "0"})
    assert len(answer.context["form"].errors["depiction_check_0_image"]) == 1, "nothing is missing"
    assert client.post(URL, checks).status_code == 302
    made = client.post(reverse("setup_step", args=["whole", "open"]), {"make": "1"})
    assert made.status_code == 302, made.context["problems"]
    page_unit, pair = Unit.objects.filter(purpose=Purpose.GOLD).order_by("task__kind")
    assert (pair.association.group.name, pair.options.get().expected) == ("French", [1])
    assert page_unit.image.index == 2
    right = dict(page_unit.options.values_list("attribute__text", "expected"))
    assert right == {"sombrero": [1], "beret": [0], None: [0]}


def test_a_mistake_of_the_file_is_led_back_to_this_page(client, begun, lead):
    gold = [{"attribute": "hat", "expected": ["Perhaps"]}]
    setup_services.save(
        user=lead, name="whole", document={**RATING, "tasks": [{**RATING["tasks"][0], "gold": gold}]}
    )
    answer = client.post(reverse("setup_step", args=["whole", "open"]), {"make": "1"})
    assert answer.status_code == 422
    assert answer.context["problems"][0]["step"] == "checks"


@pytest.mark.parametrize("step", ["source", "tasks"])
def test_the_other_pages_leave_examples_and_items_alone(client, begun, lead, step):
    client.post(URL, {**GOLD, **EXAMPLE, "gold_rate": "5"})
    before = kept(lead)
    answer = client.post(
        f"/setup/whole/{step}/", sent_as_shown(client.get(f"/setup/whole/{step}/")) | {"stay": "1"}
    )
    assert answer.status_code == 302, answer.context["form"].errors
    task = kept(lead)["tasks"][0]
    assert task["translations"]["es"]["examples"] == [{"text": "gorro", "answer": "sí"}]
    assert (task["gold"], task["examples"]) == (before["tasks"][0]["gold"], before["tasks"][0]["examples"])
    assert kept(lead)["quality"] == {"gold_rate": 0.05}


def test_without_its_wording_a_language_has_no_examples_either(client, begun, lead):
    client.post(URL, EXAMPLE)
    page = client.get("/setup/whole/tasks/")
    client.post("/setup/whole/tasks/", {**sent_as_shown(page), "visual_nature_wording_es": ""})
    assert "translations" not in kept(lead)["tasks"][0]


def test_more_than_a_page_can_hold_is_left_to_the_file(client, lead):
    many = [{"attribute": f"word {number}", "expected": ["Agree"]} for number in range(150)]
    document = {**RATING, "tasks": [{**RATING["tasks"][0], "gold": many}]}
    setup_services.save(user=lead, name="whole", document=document)
    page = client.get(URL)
    assert "too many examples and items for one page" in page.text
    assert client.post(URL, {"gold_rate": "5"}).status_code == 302
    assert kept(lead)["tasks"][0]["gold"] == many
    assert kept(lead)["quality"] == {"gold_rate": 0.05}


def test_a_page_never_asks_for_more_than_a_form_may_send(begun, settings):
    task = {"kind": "visual_nature", "attributes": ["hat"]}
    for number in range(200):
        document = {"tasks": [{**task, "gold": [{"attribute": "a", "expected": ["Agree"]}] * number}]}
        form = ChecksForm(document)
        # every one of the five labels may be chosen
        assert len(form.fields) + 4 * number < settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
    assert form.too_many
    room = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS - ChecksForm.MOST_FIELDS
    assert room >= 100, "for what the estimate does not count"


def test_as_many_fields_as_are_allowed_are_not_too_many(begun, monkeypatch):
    document = {"tasks": [{"kind": "visual_nature", "attributes": ["hat"]}]}
    fields = 2 * 3 * (1 + len(languages())) + 2 * 11
    for most, too_many in ((fields, False), (fields - 1, True)):
        monkeypatch.setattr(ChecksForm, "MOST_FIELDS", most)
        assert ChecksForm(document).too_many is too_many
