"""Pages of the wizard that nobody changed change nothing: what a file says is never lost by looking at it."""

import re
import tomllib
from html import unescape

import pytest

from annotation.setup import services as setup_services
from annotation.setup.forms.people import ConsentForm, RecruitmentForm
from annotation.setup.forms.source import SourceForm
from annotation.studies.errors import StudyFileError
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.study_file.table import Table
from annotation.studies.study_file.writing import study_toml
from tests import factories
from tests.annotation.studies import world

pytestmark = pytest.mark.django_db

PAGES = ("source", "tasks", "checks", "consent", "recruitment")
DRAWN = world.HEAD + world.DEPICTION
LISTED = DRAWN.replace('{ visual = "seen" }', '{ visual = ["hat", "poor"] }')
SHOWN = (
    world.HEAD
    + """
[[tasks]]
kind = "depiction"
image_set = "pictures"
[[tasks.shown]]
group = "French"
stereotypical = ["beret", "chic"]
random = ["hat", "poor"]
[[tasks.shown]]
group = "Mexican"
stereotypical = ["sombrero"]
random = ["short"]
"""
)
PAIRS = (
    world.HEAD
    + """
[[tasks]]
kind = "prevalence"
associations = { source = "votes", pairs = [["French", "beret"], ["Nepali", "poor"]] }
[[tasks]]
kind = "offensiveness"
associations = { source = "votes", pairs = [["French", "chic"]] }
"""
)
LIKE_A_LINE = PAIRS.replace('["Nepali", "poor"]', '["Nepali: all", "poor"]').replace("French", "a: b")
BY_SOURCE = (
    world.HEAD
    + """
[[tasks]]
kind = "visual_nature"
attributes = { source = "votes", limit = 2 }
"""
)
DRAWN_BY_NUMBER = "[[tasks]]\nkind = 'visual_nature'\nattributes = {{source = 'a', limit = {}}}"
OTHERWISE_SAID = {
    "visual_rule = 2": "visual_mean = 3.67",
    'expected = ["Agree", "Strongly agree"]': "expected = [5, 4]",
    "0.75": "0.333333333",
    "= 0.1\n": "= 0.0123456789\n",
    "= 20\n": "= 32767\n",
    "= 200\n": "= 2147483647\n",
    "threshold = 1": "threshold = 32767",
    "https://app.prolific.com": "http://crowd",
    "It is": "one\\ntwo",
    "One can point": "x" * 1001,
}
"""What stands in the file with every key -> what may stand there as well, and is harder to keep."""


def otherwise_said() -> str:
    text = world.EVERY_KEY
    for said, other in OTHERWISE_SAID.items():
        assert said in text
        text = text.replace(said, other)
    return text


FILES = {
    "every key": world.EVERY_KEY,
    "every key, otherwise said": otherwise_said(),
    "no resource": BY_SOURCE.replace('source = "votes"\n\n', 'pool = "in"\nthreshold = 3\n'),
    "as rated": DRAWN,
    "listed": LISTED,
    "every attribute": DRAWN.replace('"seen"', '"none"'),
    "shown": SHOWN,
    "pairs": PAIRS,
    "pairs that a page cannot tell apart": LIKE_A_LINE,
    "by source": BY_SOURCE,
    "in another order": DRAWN + BY_SOURCE.replace(world.HEAD, ""),
}  # fmt: skip


def maria():
    """An administrator, and what the files name."""
    made = factories.user("maria")
    made.is_superuser = True
    made.save()
    factories.user("noor")
    world.resource()
    world.pictures()
    world.rated()
    return made


@pytest.fixture(scope="module")
def made(once):
    return once(maria)


@pytest.fixture
def lead(db, made, tmp_path, client):
    lead = made.copied(tmp_path)
    client.force_login(lead)
    return lead


def begun(lead, text: str) -> str:
    """The file as it is written, which is set up."""
    written = study_toml(read_study_text(text))
    setup_services.save(user=lead, name="whole", document=tomllib.loads(written))
    return written


def kept(lead) -> dict:
    return setup_services.documents(user=lead)["whole"]


def sent_by_browser(page) -> dict:
    """What a browser would send of a page that nobody changed: its lines end in CR LF."""
    form = page.context["form"]
    data = {name: form[name].value() for name in form.fields}
    for row in form.questions() if isinstance(form, RecruitmentForm) else ():
        data |= {f"question_{key}_{row['number']}": row[key] for key in ("field", "label", "choices")}
        for each in row["languages"]:
            end = f"{row['number']}_{each['code']}"
            data |= {f"question_{key}_{end}": each[key] for key in ("label", "choices")}
    return {
        name: re.sub("\n", "\r\n", value) if isinstance(value, str) else value
        for name, value in data.items()
        if value is not None and value is not False
    }


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_page_that_nobody_changed_keeps_the_file(client, lead, text):
    written = begun(lead, text)
    for page in PAGES:
        url = f"/setup/whole/{page}/"
        answer = client.post(url, {**sent_by_browser(client.get(url)), "stay": "1"})
        assert answer.status_code == 302, answer.context["form"].errors
        assert study_toml(read_study_text(setup_services.to_toml(kept(lead)))) == written, page


def test_the_files_above_hold_every_key_there_is(lead, monkeypatch):
    read, there, reject_unknown_keys = set(), set(), Table.reject_unknown_keys

    def noted(table):
        where = re.sub(r"\[\d+\]", "", table.path_of(""))
        read.update(where + key for key in table._read_keys)
        there.update(where + key for key in table._values)
        reject_unknown_keys(table)

    monkeypatch.setattr(Table, "reject_unknown_keys", noted)
    for text in FILES.values():
        read_study_text(text)
    # French has no warning of its own, as it may
    assert read - there == {"consent.fr.content_warning", "tasks.translations.fr.instructions"} | {
        "tasks.translations.fr.examples.why",
        *("translations.ar.description", "translations.ar.support_text"),
        *("translations.pt-br.title", "translations.pt-br.description"),
        "questions.translations.ar.choices",
    }


def test_the_visual_attributes_can_be_listed_and_the_list_changed(client, lead):
    begun(lead, LISTED)
    data = sent_by_browser(client.get("/setup/whole/source/"))
    assert data["depiction_visual_words"] == "hat\r\npoor"
    for field, said, wanted in (
        ("depiction_visual_words", "hat\r\n Turban \r\n\r\n", ["hat", "Turban"]),
        ("depiction_visual_words", "", None),
        ("depiction_visual", "seen", None),
        ("depiction_visual_words", "hat\nhat", None),
    ):
        answer = client.post("/setup/whole/source/", {**data, field: said})
        if wanted is None:
            assert "depiction_visual_words" in answer.context["form"].errors
        else:
            assert kept(lead)["tasks"][0]["attributes"]["visual"] == wanted
    answer = client.post(
        "/setup/whole/source/", {**data, "depiction_visual": "unseen", "depiction_visual_words": ""}
    )
    assert list(answer.context["form"].errors) == ["depiction_visual"], "nothing else is wrong"
    answer = client.post(
        "/setup/whole/source/", {**data, "depiction_visual": "none", "depiction_visual_words": ""}
    )
    assert kept(lead)["tasks"][0]["attributes"]["visual"] == "none"


PREVALENCE_PAIRS = "prevalence_pairs"


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("French: chic\r\n\r\n  Nepali :  poor ", [["French", "chic"], ["Nepali", "poor"]]),
        ("French\tchic\r\nNepali\tre: poor", [["French", "chic"], ["Nepali", "re: poor"]]),
        ("French: not: chic", [["French", "not: chic"]]),
        ("", None),
    ],
)
def test_pairs_can_be_listed_and_the_list_changed(client, lead, lines, wanted):
    begun(lead, PAIRS)
    data = sent_by_browser(client.get("/setup/whole/source/"))
    assert data[PREVALENCE_PAIRS] == "French: beret\r\nNepali: poor"
    answer = client.post("/setup/whole/source/", {**data, PREVALENCE_PAIRS: lines})
    assert answer.status_code == 302, answer.context["form"].errors
    task = kept(lead)["tasks"][0]["associations"]
    assert task == {"source": "votes", **({"pairs": wanted} if wanted else {})}


@pytest.mark.parametrize(
    ("said", "field", "error"),
    [
        ({PREVALENCE_PAIRS: "French: chic\nberet"}, PREVALENCE_PAIRS, "'beret' is not a pair."),
        ({PREVALENCE_PAIRS: "French:"}, PREVALENCE_PAIRS, "'French:' is not a pair."),
        ({PREVALENCE_PAIRS: "a: b\na: B"}, PREVALENCE_PAIRS, "appears twice"),
        ({"prevalence_limit": "3"}, PREVALENCE_PAIRS, "not both"),
        ({"prevalence_groups": "French"}, PREVALENCE_PAIRS, "not both"),
        ({"prevalence_source": ""}, "prevalence_source", "Choose a resource"),
        ({"offensiveness_of": "attributes"}, "offensiveness_pairs", "can only be used with"),
    ],
)
def test_pairs_that_cannot_be_meant_are_refused_where_they_stand(client, lead, said, field, error):
    begun(lead, PAIRS)
    before = kept(lead)
    data = sent_by_browser(client.get("/setup/whole/source/"))
    answer = client.post("/setup/whole/source/", {**data, **said})
    assert answer.status_code == 422
    assert error in answer.context["form"].errors[field][0]
    assert kept(lead) == before


def test_pairs_that_the_resource_does_not_have_are_refused_before_the_study_is_made(client, lead):
    begun(lead, PAIRS)
    data = sent_by_browser(client.get("/setup/whole/source/"))
    client.post("/setup/whole/source/", {**data, PREVALENCE_PAIRS: "French: square"})
    problem = client.post("/setup/whole/open/", {"make": "1"}).context["problems"][0]
    assert "'votes' has no association 'French: square'" in unescape(problem["text"])
    assert problem["step"] == "source"


def test_more_pairs_than_a_page_can_show_are_the_files(client, lead):
    many = ", ".join(f'["French", "word {number}"]' for number in range(1001))
    begun(lead, PAIRS.replace('["French", "beret"], ["Nepali", "poor"]', many))
    page = client.get("/setup/whole/source/")
    assert PREVALENCE_PAIRS not in page.context["form"].fields
    assert "1001 pairs of identity group and attribute come from the file" in page.text


@pytest.mark.parametrize(
    ("text", "page", "says"),
    [
        (SHOWN, "source", "The attributes of 2 identity groups come from the file and are kept."),
        (LIKE_A_LINE, "source", "2 pairs of identity group and attribute come from the file and are kept."),
        (LIKE_A_LINE, "source", "1 pair of identity group and attribute comes from the file and is kept."),
        (world.EVERY_KEY.replace("Escreva-nos.", '."\ntitle = "Tudo'), "source", "are kept: pt-br."),
        (world.EVERY_KEY, "tasks", "come from the file and are kept: fr."),
        (world.EVERY_KEY, "checks", "come from the file and are kept: fr."),
        (world.EVERY_KEY, "consent", "come from the file and are kept: fr, pt-br."),
        (world.EVERY_KEY, "recruitment", "come from the file and are kept: fr."),
    ],
)
def test_what_a_page_does_not_ask_is_said_to_be_kept(client, lead, text, page, says):
    begun(lead, text)
    assert says in client.get(f"/setup/whole/{page}/").text


def test_a_page_with_everything_on_it_asks_for_nothing_that_is_kept(client, lead):
    begun(lead, LIKE_A_LINE)
    fields = client.get("/setup/whole/source/").context["form"].fields
    assert not {"prevalence_source", "prevalence_pairs", "offensiveness_of"} & fields.keys()
    for text in (world.EVERY_KEY, PAIRS):
        begun(lead, text)
        assert "come from the file" not in client.get("/setup/whole/source/").text


@pytest.mark.parametrize(
    ("form", "field", "line"),
    [
        (ConsentForm, "break_after", "[care]\nbreak_after = {}"),
        (ConsentForm, "session_cap", "[care]\nsession_cap = {}"),
        (SourceForm, "threshold", "[stereotypes]\nthreshold = {}"),
        (SourceForm, "visual_rule", "visual_rule = {}"),
        (SourceForm, "visual_nature_limit", DRAWN_BY_NUMBER),
    ],
)  # fmt: skip
def test_a_page_takes_every_number_that_a_file_may_hold_and_no_other(form, field, line):
    most = form({}).fields[field].max_value
    asks = f"whole number from {form({}).fields[field].min_value} to {most}"
    head = 'name = "a"\ntitle = "-"\ncontact = "-"\nCONSENT\n'

    def problem(number: int) -> str:
        said = line.format(number)
        consent = 'consent = { text = "-" }\n'
        task = "" if "[[tasks]]" in said else '[[tasks]]\nkind = "visual_nature"\nattributes = ["a"]\n'
        try:
            read_study_text(head.replace("CONSENT", consent) + said + "\n" + task)
        except StudyFileError as error:
            return str(error)
        return ""

    assert asks not in problem(most)
    assert asks in problem(most + 1)
