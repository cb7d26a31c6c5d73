"""What the pages of the wizard say of a study that is not whole: they name fields, never a file's keys."""

import ast
import re
import tomllib
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings
from django.utils.html import strip_tags

import annotation
from annotation.models import Image, ProfileField
from annotation.setup import services as setup_services
from annotation.setup.forms.base import KINDS
from annotation.setup.views.errors import STEPS, WizardErrors
from annotation.studies.errors import StudyFileError, StudyRefused
from annotation.studies.services import studies
from annotation.studies.study_file.reading import read_study_text
from tests import factories
from tests.annotation.studies import test_study_file, test_units, world

pytestmark = pytest.mark.django_db

OF_A_FILE = re.compile(
    r"\[\[|\[(?!attr\]|id\])[a-z_.\d]+\]|\btables?\b|\bkeys?\b|TOML|docs/|`|\b[a-z]+(?:_[a-z]+)+\b|= \[",
    re.IGNORECASE,
)
"""What only a study file knows: [tables], keys, its format and its documentation."""
HEAD = {"name": "whole", "title": "Words", "contact": "-"}
RATING = {"kind": "visual_nature", "attributes": ["hat", "kind"]}


def what_studies_name() -> None:
    world.resource()
    world.pictures()
    world.rated()
    factories.source("empty")
    factories.image_set("bare")
    factories.study("unasked")
    factories.rating_study(name="unanswered")


@pytest.fixture(scope="module", autouse=True)
def _named(once):
    once(what_studies_name)


@pytest.fixture
def lead(client):
    made = factories.user("lead", lead=True)
    client.force_login(made)
    return made


def of_a_file(text: str) -> list[str]:
    """The words of a page's text that only a study file knows. Fields of the profile are called by name."""
    return [word for word in OF_A_FILE.findall(text) if word not in ProfileField.values]


def shown(html: str) -> str:
    """What a page says to a reader, without what is about study files: the file itself, the link and the form
    for one."""
    main = html[html.index("<main") : html.index("</main>")]
    about_files = (
        r"<pre.*?</pre>|<a [^>]*download>.*?</a>|<section[^>]*from-file.*?</section>|<code.*?</code>"
    )
    return unescape(strip_tags(re.sub(about_files, "", main, flags=re.DOTALL)))


def opened(client, lead, document, action="make"):
    """The last page, once somebody tried to make or open the study of `document`."""
    setup_services.save(user=lead, name="whole", document=document)
    return client.post("/setup/whole/open/", {action: "1"})


def follow(client, html: str) -> list[str]:
    """The labels that stand where the links of a message lead to."""
    labels = []
    for url, anchor in re.findall(r'<a href="([^"#]+)#([^"]*)">', html):
        page = client.get(url).text
        assert f'id="{anchor}"' in page, (url, anchor)
        (label,) = re.findall(
            rf'<label [^>]*for="{anchor}">(.*?)</label>|id="{anchor}"[^>]*>\s*<legend>(.*?)<', page
        )
        labels.append(strip_tags("".join(label).partition(' <span class="muted')[0]))
    return labels


@pytest.mark.parametrize(
    ("document", "says", "labels"),
    [
        ({}, "Add the consent text.", ["Consent text"]),
        (
            {"tasks": [RATING], "consent": {"text": "-"}, "contact": ""},
            "Add “Contact” on the page “What is judged”.",
            ["Contact"],
        ),
        (
            {"tasks": [RATING], "consent": {"text": "-"}, "visual_rule": 4},
            "“An attribute is visual if at least this many agree” on the page “What is judged”: '4' is more "
            "than the number of answers that an item gets (3). Lower it, or add lines to “Quotas, one line "
            "per answer” "
            "(visual nature of an attribute) on the page “How it is asked”.",
            ["An attribute is visual if at least this many agree", "Quotas, one line per answer"],
        ),
        (
            {"tasks": [RATING], "consent": {"text": "-"}, "quality": {"gold_rate": 0.1}},
            "“Gold items and attention checks per hundred items” on the page “Examples and checks”: "
            "Gold items and attention checks are to be mixed in, but no task has any. Add some, or leave "
            "this empty.",
            ["Gold items and attention checks per hundred items"],
        ),
        (
            {
                "tasks": [{**RATING, "gold": [{"attribute": "hat", "expected": ["Perhaps"]}]}],
                "consent": {"text": "-"},
            },
            "“Correct answers” (visual nature of an attribute) on the page “Examples and checks”: "
            "'Perhaps' is not an answer here. Choose from: Strongly agree",
            ["Correct answers"],
        ),
    ],
)
def test_the_last_page_names_the_page_and_the_field_and_leads_to_it(client, lead, document, says, labels):
    answer = opened(client, lead, {**HEAD, **document})
    assert answer.status_code == 422
    assert "Not ready to open" in answer.text
    assert says in " ".join(shown(answer.text).split())
    assert of_a_file(shown(answer.text)) == []
    assert follow(client, answer.context["problems"][0]["text"]) == labels


def test_nothing_chosen_to_be_judged_leads_to_the_part_of_the_page_that_asks(client, lead):
    answer = opened(client, lead, {**HEAD, "consent": {"text": "-"}})
    said = answer.context["problems"][0]["text"]
    assert strip_tags(said) == "The page “What is judged”: Choose at least one kind of judgement."
    assert 'href="/setup/whole/source/#judged"' in said
    assert 'id="judged"' in client.get("/setup/whole/source/").text


def test_a_field_of_another_page_is_named_and_led_to_beside_the_field_that_is_filled_in(client, lead):
    document = {**HEAD, "tasks": [RATING], "consent": {"text": "-"}, "visual_rule": 3}
    setup_services.save(user=lead, name="whole", document=document)
    answer = client.post(
        "/setup/whole/tasks/", {"visual_nature_strata": "any\nany", "visual_nature_seed": "0"}
    )
    (said,) = answer.context["form"].errors["visual_nature_strata"]
    assert unescape(strip_tags(said)) == (
        "“An attribute is visual if at least this many agree” on the page “What is judged”: '3' is more "
        "than the number of answers that an item gets (2). Lower it, or add lines to “Quotas, one line "
        "per answer” (visual nature of an attribute)."
    )
    assert said in answer.text, "the link is a link on the page"
    assert follow(client, said) == ["An attribute is visual if at least this many agree"]


def test_an_error_stands_beside_its_field_also_when_a_page_is_filled_in_for_the_first_time(client, lead):
    setup_services.save(user=lead, name="whole", document=HEAD)
    sent = {"pool": "out", "threshold": "2", "visual_nature_on": "on", "visual_nature_words": "hat\nHat"}
    answer = client.post("/setup/whole/source/", {**HEAD, **sent})
    errors = answer.context["form"].errors
    assert {name: unescape(said) for name, (said,) in errors.items()} == {
        "visual_nature_words": "'hat' appears twice. Remove one."
    }


def every_fault_of_a_file() -> list[tuple[str, str, str]]:
    """(study file, what to replace, by what) of every fault that the tests of study files know."""
    faults = []
    for test, text in (
        (test_study_file.test_a_fault_is_one_clear_error, test_study_file.WHOLE),
        (test_study_file.test_a_fault_in_the_other_tables_is_one_clear_error, test_study_file.MORE),
        (
            test_study_file.test_a_character_that_no_database_and_no_path_can_hold_is_refused,
            test_study_file.WHOLE,
        ),
    ):
        faults += [(text, old, new) for old, new, _says in test.pytestmark[0].args[1]]
    return faults


def test_no_fault_of_a_study_file_is_told_in_its_terms_by_the_pages(lead):
    told = set()
    for text, old, new in every_fault_of_a_file():
        with pytest.raises(StudyFileError) as fault:
            read_study_text(text.replace(old, new))
        if not fault.value.key:  # no TOML at all, which only a file can be
            continue
        said = unescape(strip_tags(WizardErrors("a", tomllib.loads(text)).for_page(fault.value)["text"]))
        assert of_a_file(said) == [], fault.value
        assert not re.search(r"[.\[]", fault.value.key) or fault.value.key not in said
        names_a_page = any(str(label) in said for label in STEPS.values())
        assert names_a_page or said == "Add the consent text.", said
        told.add(said)
    assert len(told) > 60


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [case[:3] for case in test_units.test_what_a_task_names_must_be_there.pytestmark[0].args[1]]
    + [
        (world.PREVALENCE, '"votes"', '"votes", pairs = [["French", "square"]]'),
        (world.DEPICTION, '"seen"', '["hat"]'),
        (world.DEPICTION, '"seen"', '["sombrero", "poncho", "kind"]'),
        (world.DEPICTION + test_units.GOLD_PAGE, "image = 1", "image = 9"),
        (world.PREVALENCE + test_units.GOLD, '"beret"', '"square"'),
        (world.PREVALENCE + test_units.GOLD, "Unsure", "Perhaps"),
        (test_units.RATING, "kind =", f'strata = ["origin: {"A" * 130}"]\nkind ='),
        (test_units.RATING, "kind =", 'strata = ["orgin: Asia"]\nkind ='),
        (test_units.RATING, "[[tasks]]", '[[questions]]\nfield = "origin"\nlabel = "From?"\n[[tasks]]'),
        (test_units.RATING, '["hat", "kind"]', '{ source = "empty" }'),
        (test_units.RATING, '["hat", "kind"]', '{ source = "votes", limit = 99 }'),
    ],
)
def test_what_a_study_names_and_is_not_there_is_told_by_page_and_field(client, lead, task, old, new):
    assert old in task
    document = tomllib.loads(world.HEAD + task.replace(old, new))
    answer = opened(client, lead, document)
    assert answer.status_code == 422
    assert of_a_file(shown(answer.text)) == []
    said = answer.context["problems"][0]["text"]
    assert follow(client, said)
    assert "on the page “" in said


def test_regions_that_are_not_known_are_told_by_page_and_field(client, lead):
    group = factories.group("French")
    group.region = ""
    group.save()
    said = opened(client, lead, tomllib.loads(world.HEAD + world.PREVALENCE)).context["problems"][0]
    assert of_a_file(unescape(strip_tags(said["text"]))) == []
    assert follow(client, said["text"]) == [
        "Quotas, one line per answer",
        "Only these identity groups, one per line",
    ]


def test_what_keeps_a_whole_study_from_opening_is_told_by_page_and_field(client, lead):
    Image.objects.update(file="")
    document = tomllib.loads(world.HEAD + world.DEPICTION)
    answer = opened(client, lead, document, action="open")
    assert "have no file, the first is French 1" in answer.context["problems"][0]["text"]
    assert of_a_file(shown(answer.text)) == []
    assert follow(client, answer.context["problems"][0]["text"]) == ["Image set"]


def test_what_keeps_a_draft_from_opening_is_told_by_page_and_field():
    bare = factories.study("bare", training_pass=0.5)
    for lacking, added in (
        ("tasks", lambda: factories.attribute_unit(factories.task(bare))),
        ("consent.text", lambda: factories.consent_text(bare)),
        ("quality.training_pass", lambda: None),
    ):
        with pytest.raises(StudyRefused) as refused:
            studies.change_status(study=bare, to="open", by=None)
        assert lacking in refused.value.details.values()
        assert of_a_file(strip_tags(WizardErrors("bare", {}).for_page(refused.value)["text"])) == []
        added()


@pytest.mark.parametrize("language", [code for code, _name in settings.LANGUAGES])
def test_no_page_of_the_wizard_speaks_of_a_files_keys(client, lead, language):
    tasks = [
        {**RATING, "examples": [{"text": "hat", "answer": "yes"}]},
        {"kind": "prevalence", "associations": {"source": "votes", "pairs": [["a: b", "kind"]]}},
        {"kind": "offensiveness", "associations": {"source": "votes"}},
        {"kind": "depiction", "image_set": "pictures", "attributes": {"visual": "none"}},
        {"kind": "association", "associations": {"source": "votes"}},
    ]
    assert {task["kind"] for task in tasks} == set(KINDS)
    setup_services.save(user=lead, name="whole", document={**HEAD, "tasks": tasks})
    for url in ("/setup/", *(f"/setup/whole/{step}/" for step in STEPS)):
        answer = client.get(url, headers={"accept-language": language})
        assert of_a_file(shown(answer.text)) == [], url


RAISED_FOR_STUDIES = ("studies/study_file/*.py", "studies/units/*.py", "studies/services/study_plan.py")
OF_NO_STUDY = [
    "{path}: {error}",
    "cannot be read ({error.strerror}). Give the path of a TOML file.",
    "is not UTF-8 (byte {error.start}). Save it as UTF-8.",
    "is not valid TOML: {error}. See docs/studies.md.",
]
"""What is wrong with a file that cannot be read at all: the wizard has none."""


def raised_for_studies():
    """Each `raise` of what may be wrong with a study: the argument that pages show."""
    for path in (path for glob in RAISED_FOR_STUDIES for path in Path(annotation.__file__).parent.glob(glob)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                call = node.exc
                name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
                page_message = [each.value for each in call.keywords if each.arg == "page_message"]
                if name in ("StudyFileError", "StudyRefused"):
                    yield (page_message or call.args)[0]
                elif name == "error":  # of a table: key, value, words
                    yield (page_message or call.args[2:])[0]
                elif name == "missing" and page_message:  # else "Add ..."
                    yield page_message[0]


def test_every_error_that_the_wizard_may_show_has_words_for_it():
    """They are marked for translation, and hold nothing that only a study file knows."""
    found, unmarked = [], []
    for words in raised_for_studies():
        marks = [each for each in ast.walk(words) if isinstance(each, ast.Call)]
        texts = [each.args[0].value for each in marks if isinstance(each.args[0], ast.Constant)]
        found += texts
        if not texts:
            unmarked.append(ast.unparse(words).strip("f'"))
    assert len(found) > 50
    assert [text for text in found if of_a_file(re.sub(r"%\(\w+\)[sd]", "", text))] == []
    assert unmarked == OF_NO_STUDY
