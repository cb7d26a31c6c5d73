"""Storing files of embedding tests: as a file, in fields, by the API; changed, downloaded, deleted."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from django.contrib.messages import get_messages
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.audit.sentences import sentence
from annotation.models import AuditEvent, ImageSet
from generation.models import Run, RunKind
from metrics.embedding_tests import services
from metrics.embedding_tests.forms import base
from metrics.embedding_tests.forms import rows as forms_of_rows
from metrics.embedding_tests.forms.fields import TestsForm
from metrics.embedding_tests.forms.rows import TestRow, row_formset, rows_of, sent_rows
from metrics.embedding_tests.forms.whole_file import TestFileForm
from metrics.embedding_tests.reference import US_STATES
from metrics.embedding_tests.stored import embedded_sets, is_simulated
from metrics.embedding_tests.test_file import parse
from metrics.embedding_tests.tested import with_vectors
from metrics.models import EmbeddingTestFile
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics.embedding_tests import stored as given

pytestmark = pytest.mark.django_db
NEW = reverse("new_embedding_tests")


@pytest.fixture
def maker(client):
    made = factories.user(lead=True)
    client.force_login(made)
    return made


@pytest.fixture
def run():
    made = given.embedded()
    given.texts(made)
    return made


def as_file(**changes) -> dict[str, object]:
    empty = {"published": "", "image_set": "", "encoder": "", "reference": ""}
    return {"name": "tests", **empty, "text": given.toml(), **changes}


def fields(*tests: dict[str, str], total: int | None = None, **changes) -> dict[str, object]:
    ranking = {"ranking_prompt": "", "ranking_prompts": "", "reference": ""}
    numbers = {"drawings": "1000", "seed": "0", "top": "0"}
    data: dict[str, object] = {"name": "tests", "vectors": "faces their-clip", **ranking, **numbers}
    data |= {"test-TOTAL_FORMS": str(total or len(tests) + 1), "test-INITIAL_FORMS": "0"}
    for number, test in enumerate(tests):
        data |= {f"test-{number}-{name}": value for name, value in test.items()}
    return {**data, **changes}


EAT = {"name": "We", "kind": "eat", "x": "White", "y": "Asian", "a": "we\r\nus", "b": "they, at times"}
SC_EAT = {"name": "One", "kind": "sc-eat", "x": "White", "y": "Asian", "a": "someone", "b": ""}


def test_a_pasted_file_is_stored_as_it_is_written(client, maker, run):
    text = f"# mine\n{given.toml()}"
    answer = client.post(f"{NEW}?as=file", as_file(text=text))
    stored = EmbeddingTestFile.objects.get()
    assert answer.headers["Location"] == reverse("embedding_test_file", args=[stored.pk])
    assert (stored.text.replace("\r\n", "\n"), stored.owner) == (text, maker)
    assert stored.image_set.name == "faces"
    event = AuditEvent.objects.get(what="embedding tests created")
    assert (event.by, event.details) == (maker, {"name": "tests", "image_set": "faces"})
    assert sentence(event) == "Stored the embedding tests tests of faces."


def test_uploaded_files_are_stored_with_their_reference_table(client, maker, run):
    text = given.toml(tests=(), ranking=given.RANKING)
    files = {
        "file": SimpleUploadedFile("a.toml", text.encode()),
        "reference_file": SimpleUploadedFile("states.csv", given.REFERENCE.encode("utf-8-sig")),
    }
    client.post(f"{NEW}?as=file", as_file(text="", **files))
    stored = EmbeddingTestFile.objects.get()
    assert (stored.text, stored.reference) == (text, given.REFERENCE)
    toml = client.get(reverse("embedding_test_download", args=[stored.pk, "toml"]))
    assert toml.content.decode() == text
    assert toml.headers["Content-Type"] == "application/toml"
    csv = client.get(reverse("embedding_test_download", args=[stored.pk, "csv"]))
    assert csv.content.decode() == given.REFERENCE
    assert csv.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert csv.headers["Content-Disposition"] == 'attachment; filename="tests.csv"'
    assert client.get(reverse("embedding_test_download", args=[stored.pk, "exe"])).status_code == 404
    plain = given.stored(run, "plain", ranks=False)
    assert client.get(reverse("embedding_test_download", args=[plain.pk, "csv"])).status_code == 404


def test_a_published_file_is_stored_for_a_set_of_ones_own(client, maker):
    for group in ("Asian", "Black", "Latina/o", "White"):
        factories.image(group_name=group, image_set=factories.image_set("own"))
    assert 'value="us-states" selected' in client.get(f"{NEW}?as=file&published=us-states").content.decode()
    sent = as_file(text="", published="us-states", image_set="own", encoder="ViT-L-14 openai")
    assert b"reference" in client.post(f"{NEW}?as=file", {**sent, "reference": ""}).content
    assert not EmbeddingTestFile.objects.exists()
    table = "\n".join([",Asian,White", *(f"{state},0.1,0.9" for state in US_STATES)])
    client.post(f"{NEW}?as=file", {**sent, "reference": table})
    stored = EmbeddingTestFile.objects.get()
    data = tomllib.loads(stored.text)
    assert (data["set"], data["encoder"]) == ("own", "ViT-L-14 openai")
    assert stored.reference.count("\n") == 51


@pytest.mark.parametrize("other", [{"set": "own"}, {"encoder": "ViT-L-14 openai"}])
def test_the_set_or_the_encoder_of_a_file_is_replaced_alone(client, maker, run, other):
    for group in ("Asian", "White"):
        factories.image(group_name=group, image_set=factories.image_set("own"))
    sent = as_file(image_set=other.get("set", ""), encoder=other.get("encoder", ""))
    client.post(f"{NEW}?as=file", sent)
    stored = tomllib.loads(EmbeddingTestFile.objects.get().text)
    assert stored == tomllib.loads(given.toml()) | other


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"text": ""}, "text", "Paste or upload a file"),
        ({"text": " \n"}, "text", "Paste or upload a file"),
        ({"text": "set ="}, "text", "is not TOML"),
        ({"text": "set =", "encoder": "other"}, "text", "is not TOML"),
        ({"text": given.toml(name="nowhere")}, "text", "no image set &#x27;nowhere&#x27;"),
        ({"text": given.toml(tests=[{**given.EAT, "x": "Martian"}])}, "text", "Martian"),
        ({"text": given.toml(ranking=given.RANKING)}, "reference", "Add that table as CSV"),
        ({"reference": given.REFERENCE}, "reference", "has no [ranking]"),
        (
            {"text": given.toml(ranking=given.RANKING), "reference": "s,White,Martian\nOhio,0.5,0.5\n"},
            "reference",
            "rename the column",
        ),
        (
            {"text": given.toml(ranking=given.RANKING), "reference": "s,White,Asian\nOhio,50,50\n"},
            "reference",
            "Divide percentages",
        ),
        (
            {
                "text": given.toml(ranking={**given.RANKING, "prompt": "x" * 490 + " {region}"}),
                "reference": "s,White,Asian\nMassachusetts,0.5,0.5\n",
            },
            "text",
            "Shorten it",
        ),
        (
            {"text": given.toml(ranking=given.RANKING), "reference": given.REFERENCE, "variables": "a,b"},
            "variables",
            "names no variables",
        ),
        *(
            (
                {
                    "text": given.toml(ranking={**given.RANKING, "variables": "iat.csv"}),
                    "reference": given.REFERENCE,
                    "variables": table,
                },
                "variables",
                said,
            )
            for table, said in (
                ("", "“iat.csv”. Add that table"),
                ("state,b\nOhoi,1", "no region &#x27;Ohoi"),
            )
        ),
        ({"published": "we-they"}, "published", "You gave a file of your own"),
        ({"published": "nothing"}, "published", "Select a valid choice"),
        ({"name": "no name"}, "name", "Enter a valid"),
        ({"name": "taken"}, "name", "a file “taken” already. Choose another name"),
        ({"file": SimpleUploadedFile("a.toml", b"\xff\xfe")}, "file", "is not UTF-8"),
    ],
)
def test_a_file_that_is_refused_says_why_at_its_field(client, maker, run, change, field, said):
    given.stored(run, "taken")
    answer = client.post(f"{NEW}?as=file", as_file(**change))
    assert answer.status_code == 422
    text = answer.content.decode()
    [errors] = [
        part for part in text.split('<ul class="errorlist"')[1:] if f'id="id_{field}_error"' in part[:60]
    ]
    assert said in errors.split("</ul>")[0]
    assert EmbeddingTestFile.objects.count() == 1


def test_the_fields_become_a_file(client, maker, run):
    sent = fields(
        EAT,
        {"name": "", "kind": "eat", "x": "", "y": "", "a": "", "b": ""},
        SC_EAT,
        ranking_prompt="someone in {region}",
        ranking_prompts="Ohio = someone from Ohio = there",
        reference_file=SimpleUploadedFile("census.csv", given.REFERENCE.encode()),
        variables=" \n",
        drawings="900",
        seed="7",
        top="4",
    )
    assert client.post(NEW, sent).status_code == 302
    stored = EmbeddingTestFile.objects.get()
    assert tomllib.loads(stored.text) == {
        "set": "faces",
        "encoder": "their-clip",
        "test": [
            {
                "name": "We",
                "kind": "eat",
                "x": ["White"],
                "y": ["Asian"],
                "a": ["we", "us"],
                "b": ["they, at times"],
            },
            {"name": "One", "kind": "sc-eat", "target": "someone", "a": ["White"], "b": ["Asian"]},
        ],
        "ranking": {
            "prompt": "someone in {region}",
            "reference": "census.csv",
            "drawings": 900,
            "seed": 7,
            "top": 4,
            "prompts": {"Ohio": "someone from Ohio = there"},
        },
    }
    assert stored.reference == given.REFERENCE
    assert client.post(NEW, fields(EAT, name="blank", reference=" \n")).status_code == 302


def test_other_variables_are_stored_in_fields_and_as_a_file(client, maker, run):
    upload = SimpleUploadedFile("iat.csv", given.VARIABLES.encode())
    sent = fields(ranking_prompt="someone in {region}", reference=given.REFERENCE, variables_file=upload)
    assert client.post(NEW, sent).status_code == 302
    stored = EmbeddingTestFile.objects.get()
    ranking = tomllib.loads(stored.text)["ranking"]
    assert (ranking["reference"], ranking["variables"]) == ("reference.csv", "iat.csv")
    assert stored.variables == given.VARIABLES
    url = reverse("edit_embedding_tests", args=[stored.pk])
    for address in (url, f"{url}?as=file"):
        assert "Texas,1.2" in client.get(address).content.decode()
    text = given.toml(ranking={**given.RANKING, "variables": "x.csv"})
    file = as_file(text=text, reference=given.REFERENCE, variables="state,b\nUtah,2\n")
    assert client.post(f"{url}?as=file", file).status_code == 302
    stored.refresh_from_db()
    assert (stored.text, stored.variables.split()) == (text, ["state,b", "Utah,2"])


@pytest.mark.parametrize(
    ("row", "field", "said"),
    [
        ({**EAT, "name": ""}, "name", "is required"),
        ({**EAT, "x": ""}, "x", "is required"),
        ({**EAT, "b": ""}, "b", "is required"),
        ({**SC_EAT, "b": "they"}, "b", "one text only"),
        ({**SC_EAT, "a": "someone\nanyone"}, "a", "one text"),
        ({**EAT, "x": "Martian"}, "x", "Martian"),
        ({**EAT, "y": "Martian"}, "y", "Martian"),
        ({**SC_EAT, "a": ""}, "a", "is required"),
        ({**EAT, "kind": "odd"}, "kind", "Select a valid choice"),
    ],
)
def test_a_row_that_is_refused_says_why_at_its_field(client, maker, run, row, field, said):
    answer = client.post(NEW, fields(SC_EAT, row))
    assert answer.status_code == 422
    summary = answer.text.partition('role="alert"')[2].partition("</div>")[0]
    assert "<li>Test 2<ul>" in summary
    assert f'<a href="#id_test-1-{field}">' in summary
    [errors] = [
        part
        for part in answer.content.decode().split('<ul class="errorlist"')[1:]
        if f'id="id_test-1-{field}_error"' in part[:60]
    ]
    assert said in errors.split("</ul>")[0]
    assert not EmbeddingTestFile.objects.exists()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (fields(EAT, EAT), "Another test has this name"),
        (fields({**EAT, "y": "White"}), "is on both sides"),
        (fields(), "neither a [[test]] nor a [ranking]"),
        (fields(EAT, vectors="nowhere else"), "Select a valid choice"),
        (fields(EAT, ranking_prompt="someone"), "names no region"),
        *(
            (fields(EAT, ranking_prompt="in {region}", ranking_prompts=line), "write region = prompt")
            for line in ("Ohio", "Ohio =", "= in Ohio")
        ),
        (fields(EAT, ranking_prompt="in {region}", ranking_prompts="O" * 81), f"“{'O' * 80}”: write region"),
        (fields(EAT, ranking_prompt="in {region}"), "Add that table"),
        (fields(EAT, reference=given.REFERENCE), "or empty the reference table"),
        (fields(EAT, drawings="0"), "greater than or equal to 1"),
        (fields(EAT, **{"test-TOTAL_FORMS": "x"}), "ManagementForm"),
    ],
)
def test_fields_that_are_refused_say_why(client, maker, run, sent, said):
    answer = client.post(NEW, sent)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not EmbeddingTestFile.objects.exists()


def test_more_rows_are_added_without_losing_what_was_written(client, maker, run):
    table = SimpleUploadedFile("census.csv", given.REFERENCE.encode())
    answer = client.post(NEW, fields(EAT, more="1", name="half", reference_file=table))
    text = answer.content.decode()
    assert answer.status_code == 200
    assert 'name="test-TOTAL_FORMS" value="5"' in text
    assert 'value="We"' in text
    assert "they, at times" in text
    assert 'value="half"' in text
    assert "Ohio,0.9,0.1" in text
    assert 'class="errorlist"' not in text
    wrong = SimpleUploadedFile("census.csv", b"\xff\xfe")
    sent = fields(EAT, more="1", name="half", reference_file=wrong)
    del sent["drawings"]
    text = client.post(NEW, sent).content.decode()
    assert 'name="drawings" value="1000"' in text
    assert "is not UTF-8" in text
    assert 'value="half"' in text
    assert not EmbeddingTestFile.objects.exists()


def test_a_stored_file_is_changed_in_fields_and_as_a_file(client, maker, run):
    given.embedded(model="other-clip")
    stored = given.stored(run, "before")
    url = reverse("edit_embedding_tests", args=[stored.pk])
    shown = client.get(url).content.decode()
    assert "someone who is patriotic" in shown
    assert "Hawaii,0.2,0.8" in shown
    assert reverse("delete_embedding_tests", args=[stored.pk]) in shown
    assert [link in shown for link in ('href="?as=fields" aria-current', 'href="?as=file"')] == [True, True]
    assert "Hawaii,0.2,0.8" in client.get(f"{url}?as=fields").context["form"]["reference"].value()
    assert shown.count('value="faces their-clip"') == shown.count('value="faces their-clip" selected') == 1
    changed = fields(EAT, ranking_prompt="in {region}", reference=given.REFERENCE, name="after")
    answer = client.post(url, changed)
    assert answer.headers["Location"] == reverse("embedding_test_file", args=[stored.pk])
    assert [str(said) for said in get_messages(answer.wsgi_request)] == ["Saved."]
    stored.refresh_from_db()
    data = tomllib.loads(stored.text)
    assert (stored.name, len(data["test"]), data["ranking"]["reference"]) == ("after", 1, "states.csv")
    form = client.get(f"{url}?as=file").context["form"]
    assert "in {region}" in form["text"].value()
    assert (form["name"].value(), form["reference"].value()) == ("after", given.REFERENCE)
    client.post(f"{url}?as=file", as_file(name="after", reference=""))
    stored.refresh_from_db()
    assert (stored.text.replace("\r\n", "\n"), stored.reference) == (given.toml(), "")
    assert AuditEvent.objects.filter(what="embedding tests changed").count() == 2


def test_an_encoder_that_is_written_otherwise_stays_a_choice(client, maker, run):
    stored = given.stored(run, encoder=str(run.pk))
    text = client.get(reverse("edit_embedding_tests", args=[stored.pk])).content.decode()
    assert f'value="faces {run.pk}" selected' in text
    more = fields(EAT, more="1", vectors=f"faces {run.pk}")
    text = client.post(reverse("edit_embedding_tests", args=[stored.pk]), more).content.decode()
    assert f'value="faces {run.pk}" selected' in text
    assert 'aria-current="true">Tests on images</a>' in text


def test_a_file_is_deleted_by_post_only(client, maker, run):
    stored = given.stored(run)
    url = reverse("delete_embedding_tests", args=[stored.pk])
    assert client.get(url).status_code == 405
    answer = client.post(url)
    assert answer.headers["Location"] == reverse("embedding_tests")
    assert [str(said) for said in get_messages(answer.wsgi_request)] == ["Deleted “we-they”."]
    assert not EmbeddingTestFile.objects.exists()
    assert AuditEvent.objects.get(what="embedding tests deleted").details["name"] == "we-they"


def test_blank_tables_are_none_and_both_sides_of_each_test_are_looked_for(run):
    ranks = given.toml(ranking={**given.RANKING, "prompt": "x" * 492 + "{region}"})
    reference = "state,White,Asian\nMaryland,0.5,0.5\n"
    assert services.check(text=ranks, reference=reference, variables=" \n")[1].name == "faces"
    services.check(text=given.toml(), reference=" \n")
    for side in ("x", "y"):
        with pytest.raises(services.FileRefused, match="Martian") as refused:
            services.check(text=given.toml(tests=[{**given.EAT, side: ["Martian"]}]), reference="")
        assert (refused.value.field, "column" in str(refused.value)) == ("text", False)


def test_a_name_that_somebody_took_meanwhile_is_refused(maker, run):
    stored = given.stored(run, "taken")
    other = given.stored(run, "other", ranks=False)
    sent = {"name": "taken", "text": stored.text, "reference": stored.reference, "by": maker}
    for save in (services.create, lambda **sent: services.change(stored=other, **sent)):
        with pytest.raises(services.FileRefused, match="Choose another name") as refused:
            save(**sent)
        assert refused.value.field == "name"
    own = given.toml(name="own", tests=[given.EAT])
    for group in given.GROUPS:
        factories.image(group_name=group, image_set=factories.image_set("own"))
    services.change(stored=other, **{**sent, "name": "other", "text": own, "reference": ""})
    other.refresh_from_db()
    assert other.image_set.name == "own"


def test_tables_that_are_pasted_have_names_and_one_that_is_missing_is_named_at_its_field(client, maker, run):
    sent = fields(ranking_prompt="someone in {region}", variables=given.VARIABLES)
    form = client.post(NEW, sent | {"reference": ""}).context["form"]
    assert list(form.errors) == ["reference"]
    client.post(NEW, sent | {"reference": given.REFERENCE})
    stored = EmbeddingTestFile.objects.get()
    ranking = tomllib.loads(stored.text)["ranking"]
    assert (ranking["reference"], ranking["variables"]) == ("reference.csv", "variables.csv")
    # with their last ends of lines
    assert (stored.reference, stored.variables) == (given.REFERENCE, given.VARIABLES)


def test_vectors_of_the_address_are_chosen(client, maker, run):
    given.embedded(model="other-clip")
    shown = client.get(NEW, {"vectors": "faces other-clip", "as": "odd"})
    assert shown.context["form"]["vectors"].value() == "faces other-clip"
    assert not shown.context["as_file"]


def test_what_was_uploaded_stays_when_it_is_refused(client, maker, run):
    upload = SimpleUploadedFile("a.toml", b"set = here")
    form = client.post(f"{NEW}?as=file", as_file(file=upload)).context["form"]
    assert (form["text"].value(), form["name"].value()) == ("set = here", "tests")


def test_numbers_and_texts_have_bounds():
    of = {**TestFileForm.base_fields, **TestsForm.base_fields, "row": TestRow.base_fields["name"]}
    assert {name: (of[name].min_value, of[name].max_value, of[name].initial) for name in NUMBERS} == NUMBERS
    assert {name: of[name].max_length for name in LENGTHS} == LENGTHS
    assert TestFileForm.base_fields["image_set"].queryset.query.order_by == ("title",)


NUMBERS = {"drawings": (1, 100_000, 1000), "seed": (0, 2**63 - 1, 0), "top": (0, 10**6, 0)}
LENGTHS = {"name": 80} | dict.fromkeys(("row", "encoder", "ranking_prompt"), 500)
LENGTHS |= dict.fromkeys(("text", "reference", "variables", "ranking_prompts"), 2_000_000)


@pytest.mark.parametrize("row", [EAT, SC_EAT], ids=["eat", "sc-eat"])
def test_each_field_of_a_row_is_needed_and_makes_it_a_row(row):
    for name in filter(row.get, ("name", "x", "y", "a", "b")):
        assert list(TestRow({**row, name: " "}).errors) == [name]
        assert not TestRow({"kind": row["kind"], name: row[name]}).is_valid()
    assert TestRow({"kind": row["kind"]}).is_valid()


def test_the_rows_hold_all_of_the_tests_of_a_file():
    tests = [{**given.EAT, "x": ["White", "Latina/o"], "y": ["Asian", "Black"]}, given.SC_EAT]
    rows = rows_of(parse(given.toml(tests=tests)))
    assert [tuple(row.values()) for row in rows] == [
        ("We", "eat", "White\nLatina/o", "Asian\nBlack", "we\nus", "they\nthem"),
        ("Patriotic", "sc-eat", "White", "Asian", "someone who is patriotic", ""),
    ]
    assert list(rows[0]) == ["name", "kind", "x", "y", "a", "b"]


def test_more_tests_than_a_file_may_have_are_refused(monkeypatch):
    monkeypatch.setattr(forms_of_rows, "MOST_TESTS", 1)
    assert not row_formset()(fields(EAT, SC_EAT), prefix="test").is_valid()
    assert row_formset()(fields(EAT, total=1), prefix="test").is_valid()


def test_an_upload_is_read_as_text_of_at_most_its_size(monkeypatch):
    monkeypatch.setattr(base, "LARGEST", 6)
    assert base.file_text(SimpleUploadedFile("a.toml", b"a\r\nb\nc")) == "a\nb\nc"
    with pytest.raises(ValidationError, match="larger than 2 MB"):
        base.file_text(SimpleUploadedFile("a.toml", b"a\r\nb\ncd"))
    assert base.lines_of(" one \n\n two") == ("one", "two")


def test_a_row_without_a_kind_is_an_eat():
    row = TestRow({**EAT, "kind": ""})
    assert row.is_valid()
    assert row.as_test().kind == "eat"


def test_errors_of_rows_say_nothing_of_their_place_in_a_file():
    for name in ("We", "We" * 40):
        wrong = TestRow({**EAT, "name": name, "y": "White"})
        assert wrong.non_field_errors() == ["the group 'White' is on both sides. Remove it from one."]
    rows = row_formset()(fields({**EAT, "name": ""}, {**SC_EAT, "name": ""}), prefix="test")
    assert [form.errors.get("name") for form in rows.forms[:2]] == [["This field is required."]] * 2


TOTALS = ("2", "501", "99999", "999999", "x", "")


def test_as_many_rows_as_were_sent_are_shown_again():
    sent = {"test-1-name": "We"}
    found = [len(sent_rows({**sent, "test-TOTAL_FORMS": total})) for total in TOTALS]
    assert found == [2, 500, 500, 0, 0, 0]
    assert [row["name"] for row in sent_rows({**sent, "test-TOTAL_FORMS": "2"})] == ["", "We"]


def test_the_fields_hold_all_of_a_stored_ranking(run):
    ranking = {**given.RANKING, "top": 4, "prompts": {"Ohio": "there"}}
    stored = EmbeddingTestFile(name="mine", text=given.toml(ranking=ranking), reference="r", variables="v")
    assert TestsForm.initial_of(stored) == {
        "name": "mine",
        "vectors": "faces their-clip",
        "reference": "r",
        "variables": "v",
        "ranking_prompt": "someone in {region}",
        "ranking_prompts": "Ohio = there",
        "drawings": 20,
        "seed": 3,
        "top": 4,
    }


def test_sets_are_offered_with_each_encoder_once_and_the_newest_first(run):
    given.embedded(model="other-clip")
    newest = given.embedded()
    Run.objects.create(
        kind=RunKind.CAPTIONS, image_set=run.image_set, recipe={"model": "teller"}, recipe_hash="0" * 64
    )
    assert [(made.name, encoders) for made, encoders in embedded_sets()] == [
        ("faces", ["their-clip", "other-clip"])
    ]
    assert not is_simulated(newest)
    assert is_simulated(Run(backend="fake"))
    assert is_simulated(Run(backend="imported", image_set=ImageSet(drawn=True)))


def test_readers_write_nothing(client, run):
    stored = given.stored(run)
    lead = factories.lead_of("faces")
    client.force_login(lead)
    for name, *arguments in (
        ("new_embedding_tests",),
        ("edit_embedding_tests", stored.pk),
        ("delete_embedding_tests", stored.pk),
    ):
        assert client.post(reverse(name, args=arguments), as_file()).status_code == 404
    body = {"name": "tests", "text": given.toml()}
    program = Program(lead)
    assert program.post("embedding-test-files", body).status_code == 404
    assert program("PUT", f"embedding-test-files/{stored.pk}", body).status_code == 404
    assert program("DELETE", f"embedding-test-files/{stored.pk}").status_code == 404
    assert program.post(f"embedding-test-files/{stored.pk}/texts").status_code == 404
    assert program.get(f"embedding-test-files/{stored.pk}").status_code == 200
    assert EmbeddingTestFile.objects.get().text == stored.text


def test_the_api_stores_changes_and_deletes(run):
    program = Program(factories.user(lead=True))
    body = {"name": "tests", "text": given.toml(ranking=given.RANKING), "reference": given.REFERENCE}
    made = program.post("embedding-test-files", body)
    assert made.status_code == 201
    number = made.json()["number"]
    assert (made.json()["text"], made.json()["ranks"]) == (body["text"], True)
    assert (made.json()["reference"], made.json()["owner"]) == (
        given.REFERENCE,
        EmbeddingTestFile.objects.get().owner.username,
    )
    listed = program.get("embedding-test-files?image_set=faces").json()["results"]
    assert [(one["name"], one["image_set"]) for one in listed] == [("tests", "faces")]
    assert program.get("embedding-test-files?image_set=other").json()["results"] == []
    twice = program.post("embedding-test-files", body)
    assert (twice.status_code, twice.json()["errors"][0]["pointer"]) == (422, "/name")
    refused = program.post("embedding-test-files", {"name": "more", "text": "set ="})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/text")
    empty = {"reference": "", "variables": ""}
    changed = program(
        "PUT", f"embedding-test-files/{number}", {"name": "after", "text": given.toml(), **empty}
    )
    assert (changed.json()["name"], changed.json()["ranks"]) == ("after", False)
    assert program("DELETE", f"embedding-test-files/{number}").status_code == 204
    assert program.get(f"embedding-test-files/{number}").status_code == 404


def test_the_api_reads_what_the_pages_show(run):
    stored = given.stored(run)
    program = Program(factories.user(lead=True))
    address = f"embedding-test-files/{stored.pk}"
    found = program.get(f"{address}/results").json()
    assert (found["run"], found["encoder"], found["simulated"]) == (run.pk, "their-clip", False)
    assert [row["name"] for row in found["results"]] == ["We", "Patriotic"]
    row = found["results"][0]
    assert row["effect_low"] <= row["effect_size"] <= row["effect_high"]
    published = program.get(f"{address}/results?variant=published").json()["results"][0]
    # n = 8 in both groups: divisors 8 and 7
    assert published["effect_size"] == pytest.approx(row["effect_size"] * (8 / 7) ** 0.5)
    assert row["q"] >= row["p_value"] > 0 < row["p_permutation"] <= 1
    assert (row["target"], found["results"][1]["target"]) == ("", "someone who is patriotic")
    both = program.get(f"{address}/encoders?variant=published").json()
    assert (both["variant"], both["results"][0]["tests"][0]) == ("published", published)
    assert program.get(f"{address}/results?variant=published").json()["variant"] == "published"
    figure = program.get(f"{address}/figures/effects/csv?variant=published")
    assert 'filename="we-they-effects.csv"' in figure.headers["Content-Disposition"]
    drawn = figure.content.decode().splitlines()[1].split(",")[2]
    assert float(drawn) == pytest.approx(published["effect_size"])
    encoders = program.get(f"{address}/encoders").json()["results"]
    assert [(one["encoder"], len(one["tests"])) for one in encoders] == [("their-clip", 2)]
    ranking = program.get(f"{address}/ranking").json()
    assert [one["group"] for one in ranking["groups"]] == ["White", "Asian"]
    assert ranking["drawn"] == 8
    shares = [one["share"] for one in ranking["results"] if one["region"] == "Ohio"]
    assert sum(shares) == pytest.approx(1)
    assert ranking["r2"] == pytest.approx(with_vectors(stored).ranking().comparison.r2)
    for figure in ("effects", "encoders", "points", "map-2"):
        assert program.get(f"{address}/figures/{figure}/csv").status_code == 200
    assert program.get(f"{address}/figures/map-3/csv").status_code == 404
    assert program.get(f"{address}/figures/effects/exe").status_code == 404


def test_the_api_stores_and_reads_other_variables(run):
    program = Program(factories.user(lead=True))
    text = given.toml(ranking={**given.RANKING, "variables": "iat.csv", "top": 4})
    body = {"name": "tests", "text": text, "reference": given.REFERENCE}
    refused = program.post("embedding-test-files", body)
    assert refused.json()["errors"][0]["pointer"] == "/variables"
    made = program.post("embedding-test-files", {**body, "variables": given.VARIABLES}).json()
    address = f"embedding-test-files/{made['number']}"
    assert program.get(address).json()["variables"] == given.VARIABLES
    ranking = program.get(f"{address}/ranking").json()
    assert (ranking["top"], ranking["drawn"]) == (4, 8)
    [bias] = ranking["variables"]
    assert (bias["variable"], [one["n_regions"] for one in bias["groups"]]) == ("bias", [4, 4])
    share = {one["region"]: one["share"] for one in ranking["results"] if one["group"] == "White"}
    white = [share[region] for region in ("Utah", "Ohio", "Texas", "Hawaii")]
    rho = np.corrcoef(white, [0.31, -0.4, 1.2, 7])[0, 1]
    assert bias["groups"][0]["rho"] == pytest.approx(rho)
    [encoder] = program.get(f"{address}/encoders").json()["rankings"]
    assert (encoder["groups"], encoder["r2"]) == (ranking["groups"], ranking["r2"])


def test_the_api_says_what_is_missing():
    run = given.embedded()
    stored = given.stored(run)
    program = Program(factories.user(lead=True))
    address = f"embedding-test-files/{stored.pk}"
    for what, first in (("results", "we"), ("ranking", "someone in Ohio")):
        answer = program.get(f"{address}/{what}")
        assert answer.status_code == 409
        assert f"5 texts are not embedded, such as '{first}'" in answer.json()["detail"]
    for figure in ("effects", "points", "map-1"):
        answer = program.get(f"{address}/figures/{figure}/csv")
        assert answer.status_code == 409
        assert "texts have no embedding" in answer.json()["detail"]
    for what in ("results", "ranking", "figures/effects/csv"):
        answer = program.get(f"{address}/{what}?encoder=nobody")
        assert (answer.status_code, "nobody" in answer.json()["detail"]) == (409, True)
    encoders = program.get(f"{address}/encoders").json()
    assert [encoders[of][0]["missing_texts"] for of in ("results", "rankings")] == [5, 5]
    assert program.post(f"{address}/texts").status_code == 409
    plain = given.stored(run, "plain", ranks=False)
    assert program.get(f"embedding-test-files/{plain.pk}/ranking").status_code == 409


def test_the_api_embeds_the_texts_that_a_run_lacks(run, monkeypatch):
    other = given.embedded(model="other-clip")
    stored = given.stored(run)
    started: list[Run] = []
    monkeypatch.setattr(services, "embed_texts", lambda run, texts, by: (run, len(texts)))
    monkeypatch.setattr("generation.jobs.tasks.enqueue", started.append)
    program = Program(factories.user(lead=True))
    answer = program.post(f"embedding-test-files/{stored.pk}/texts?encoder=other-clip")
    assert answer.json() == {"run": other.pk, "added": 10}
    assert started == [other]
