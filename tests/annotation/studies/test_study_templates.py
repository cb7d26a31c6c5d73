"""Templates of studies: the papers' settings, and texts that no study opens with before they were adapted."""

import tomllib

import pytest
from django.core.management import CommandError, call_command

from annotation.models import IdentityGroup, Study, StudyStatus, TaskKind
from annotation.setup import services as setup
from annotation.studies.errors import StudyRefused
from annotation.studies.services import consents, studies, study_files
from annotation.studies.study_file.default_wordings import WORDINGS
from annotation.studies.study_file.marks import OPENING, find_marks, replace_marks
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.study_templates import registry
from tests import factories

pytestmark = pytest.mark.django_db

PAPER_SETTINGS = {
    # PROTOCOL §2: three annotators of three different origins; all must agree
    "visage_visual_nature": ("visual_nature", ("origin: Asia", "origin: Europe", "origin: North America")),
    # §5: three annotators a page, at least one of whom does not identify as male
    "visage_depiction": ("depiction", ("any", "any", "gender: not male")),
    # §3: three in-region and three out-region annotators
    "seegull_prevalence": ("prevalence", ("in-region",) * 3 + ("out-region",) * 3),
    "seegull_offensiveness": ("offensiveness", ("any",) * 3),  # §4: three annotators
    "biasdora_levels": ("association", ("any",) * 3),  # §11
}


def filled(name: str) -> dict:
    """The document of a template, with a stub source and everything adapted."""
    source, images = factories.source("stub"), factories.image_set("stub")
    for of, region, texts in (
        ("Mexican", "Latin America", ("sombrero", "hat")),
        ("French", "Europe", ("beret", "wine")),
    ):
        factories.group(of, region=region)
        for text in texts:
            if not source.associations.filter(attribute__text=text).exists():
                factories.association(group_name=of, text=text, from_source=source)
        if not images.images.filter(group__name=of).exists():
            factories.image(group_name=of, image_set=images, file=f"{of}.png", sha256="0" * 64)
    document = {"name": "new", "title": "New", "contact": "a@example.org", **registry.document(name)}
    for task in document.get("tasks", []):
        if task["kind"] == TaskKind.DEPICTION:
            task["image_set"] = "stub"
            document["stereotypes"]["source"] = "stub"
        elif task["kind"] == TaskKind.VISUAL_NATURE:
            task["attributes"] = {"source": "stub"}
        else:
            task["associations"] = {"source": "stub"}
            task["gold"] = [{**gold, "group": "Mexican", "attribute": "sombrero"} for gold in task["gold"]]
    if name == "blank":
        document["tasks"] = [{"kind": "visual_nature", "attributes": ["hat"]}]
    return setup.place_checks(document)


def adapted(document: dict) -> dict:
    return replace_marks(document, {mark.text: "what we wrote" for mark in find_marks(document)})


def draft(document: dict) -> Study:
    return studies.apply_file(file=read_study_text(setup.to_toml(document)), by=None).study


def unlike(document: dict) -> dict:
    """With texts of one's own."""
    found = {key: value for key, value in adapted(document).items() if key not in ("care", "translations")}
    return {**found, "consent": {"text": "Ours."}}


@pytest.mark.parametrize("name", sorted(PAPER_SETTINGS))
def test_a_template_has_the_settings_of_its_paper(name):
    kind, strata = PAPER_SETTINGS[name]
    file = read_study_text(setup.to_toml(adapted(filled(name))))
    (task,) = file.tasks
    assert (task.kind, task.strata, task.wording) == (kind, strata, WORDINGS[kind])
    assert (file.visual_rule, file.visual_mean) == (None, None)
    if kind == "depiction":
        # §5 and §13: pages of 5 options with none of the above; §6: 2 out-region votes
        assert (task.page_size, file.stereotype_pool, file.stereotype_threshold) == (5, "out", 2)
    assert len(task.examples) >= 2
    assert {check.purpose for check in task.checks} & {"gold", "attention"}
    assert file.gold_rate == 0.05


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_template_has_its_texts_in_every_language_and_opens_once_adapted(name):
    document = filled(name)
    for table in (document["consent"], document["consent"]["es"], document["consent"]["ar"]):
        assert OPENING in table["text"]
        assert table["content_warning"]
    assert {*document["translations"]} == {"es", "ar"}
    for task in registry.document(name).get("tasks", []):
        assert {*task["translations"]} == {"es", "ar"}
        assert all(len(texts["examples"]) == len(task["examples"]) for texts in task["translations"].values())
    marked = draft(document)
    with pytest.raises(StudyRefused, match="still to be adapted") as refused:
        studies.change_status(study=marked, to="open", by=None, texts_checked=True)
    assert refused.value.key.startswith("consent")
    marked.delete()
    study = draft(adapted(document))
    with pytest.raises(StudyRefused, match=r" consent\.text, .*--texts-checked"):
        studies.change_status(study=study, to="open", by=None)
    assert studies.change_status(study=study, to="open", by=None, texts_checked=True)
    assert find_marks(tomllib.loads(study_files.to_toml(study=study))) == []


def test_texts_of_ones_own_need_no_word_of_having_been_checked():
    study = draft(unlike(filled("visage_visual_nature")))
    assert studies.change_status(study=study, to="open", by=None)


@pytest.mark.parametrize(
    "where",
    [
        lambda document: document.update(title="[[title]]"),
        lambda document: document["tasks"][0].update(instructions="Ask [[whom]]."),
        lambda document: document["tasks"][0]["training"][0].update(feedback="[[why]]"),
        lambda document: document["tasks"][0].update(
            attributes=["hat", "[[an attribute that is clearly offensive]]"]
        ),
        lambda document: document.update(questions=[{"field": "own", "label": "[[what]]"}]),
    ],
)
def test_no_mark_reaches_an_annotator_wherever_it_stands(where):
    document = unlike(filled("visage_visual_nature"))
    where(document)
    study = draft(document)
    with pytest.raises(StudyRefused, match="still to be adapted"):
        studies.change_status(study=study, to="open", by=None, texts_checked=True)
    study.refresh_from_db()
    assert study.status == StudyStatus.DRAFT


def test_the_commands_refuse_too_and_have_a_way_to_say_that_texts_were_checked(tmp_path):
    file = tmp_path / "new.toml"
    file.write_text(setup.to_toml(filled("visage_visual_nature")))
    with pytest.raises(CommandError, match="still to be adapted"):
        call_command("open_study", file, "--texts-checked")
    assert not Study.objects.exists()
    file.write_text(setup.to_toml(adapted(tomllib.loads(file.read_text()))))
    call_command("open_study", file, "--draft")
    with pytest.raises(CommandError, match="texts-checked"):
        call_command("study", "open", "new")
    call_command("study", "open", "new", "--texts-checked")
    assert Study.objects.get().status == StudyStatus.OPEN


def test_a_new_version_of_the_consent_text_has_no_mark_either():
    document = unlike(filled("visage_visual_nature"))
    studies.change_status(study=draft(document), to="open", by=None)
    for language in ({"text": "By [[us]]."}, {"es": {"text": "De [[nosotros]]."}}):
        changed = {**document, "consent": {"text": "By us.", **language}}
        with pytest.raises(StudyRefused, match="still to be adapted"):
            consents.publish(file=read_study_text(setup.to_toml(changed)))


def test_a_suggested_item_that_nobody_adapted_says_so_with_its_place():
    document = filled("seegull_prevalence")
    document["tasks"][0]["gold"] = registry.document("seegull_prevalence")["tasks"][0]["gold"]
    with pytest.raises(StudyRefused, match="Fill it in, or remove the item") as refused:
        draft(document)
    assert refused.value.key == "tasks[1].gold[1]"
    assert setup.find_check_error(file=read_study_text(setup.to_toml(document))) is None, "that can wait"


@pytest.mark.parametrize("name", ["visage_depiction", "seegull_prevalence", "visage_visual_nature"])
def test_a_copy_draws_as_the_study_did_and_takes_its_texts(name):
    document = unlike(filled(name))
    document["recruitment"] = {"completion_code": "C0DE", "self_enrol": False}
    study = draft(document)
    copied = setup.document_of_copy(study)
    (task,), (before,) = copied["tasks"], document["tasks"]
    for key in ("attributes", "associations", "image_set", "strata", "wording", "examples", "translations"):
        assert task.get(key) == before.get(key), key
    assert "shown" not in task
    assert copied["consent"] == document["consent"]
    assert copied["recruitment"] == {"self_enrol": False}
    assert not {"name", "title", "leads"} & set(copied)
    again = draft({**copied, "name": "again", "title": "Again"})
    assert again.slots.count() == study.slots.count() > 0


def test_a_copy_takes_the_translated_texts_but_no_translated_title():
    document = unlike(filled("visage_visual_nature"))
    document["translations"] = {"es": {"title": "Palabras", "description": "Sobre ellas"}}
    copied = setup.document_of_copy(draft(document))
    assert copied["translations"] == {"es": {"description": "Sobre ellas"}}
    document = {**document, "name": "other", "translations": {"es": {"title": "Palabras"}}}
    assert "translations" not in setup.document_of_copy(draft(document))


@pytest.mark.parametrize(
    "where",
    [
        lambda document: document.update(title="A list [[1"),
        lambda document: document["tasks"][0].update(instructions="Not [[attr]], [[id]] or [[]]."),
        lambda document: document["tasks"][0].update(attributes=["hat", "[[of the catalogue]]"]),
    ],
)
def test_brackets_that_mark_nothing_are_left_alone(where):
    document = unlike(filled("visage_visual_nature"))
    where(document)
    assert studies.change_status(study=draft(document), to="open", by=None, texts_checked=True)


@pytest.mark.parametrize("template", ["visage_depiction", "seegull_prevalence"])
@pytest.mark.parametrize("field", ["name", "demonym", "singular", "plural"])
def test_no_mark_reaches_an_annotator_in_the_name_of_a_group(template, field):
    study = draft(unlike(filled(template)))
    group = IdentityGroup.objects.get(name="French")
    setattr(group, field, "a [[an identity group of the resource]]")
    group.save()
    with pytest.raises(StudyRefused, match="still to be adapted") as refused:
        studies.change_status(study=study, to="open", by=None, texts_checked=True)
    assert refused.value.key.startswith("tasks[1].")


@pytest.mark.parametrize(
    ("template", "text", "is_made_from_it"),
    [
        ("By [[us]].", "By a university.", True),
        ("By [[us]].", "By a university", False),
        ("By [[us]].", "So by a university.", False),
        ("By [[us]].", "By a university. And more", False),
        ("By us.", "By us. Write to us.", False),
        ("[[us]], [[where]], [[when]]", "us, here", False),
        ("[[us]], [[where]], [[when]]", "us, here, now", True),
        ("By [[us]] for [[them]].", "By us.", False),
        ("a[[us]]a", "a", False),
    ],
)
def test_a_text_is_a_templates_if_only_its_marks_were_replaced(template, text, is_made_from_it):
    assert registry._is_made_from(text, template) is is_made_from_it
