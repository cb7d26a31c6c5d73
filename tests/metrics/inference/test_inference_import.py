"""Answers that were made elsewhere become a finished run, or nothing at all."""

from __future__ import annotations

import io
import re

import pytest
from django.core.management import CommandError, call_command

from annotation.imports.readers.oddities import FileRefused
from annotation.models import Attribute, AuditEvent, IdentityGroup
from generation.models import Answer, Job, Run, RunState
from generation.plans.errors import PlanRefused
from metrics.inference.services import importing
from metrics.inference.services.importing import import_inference
from tests import factories
from tests.metrics.inference import answered

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def catalogue():
    answered.groups()


def test_every_row_is_an_answer_with_its_sentences(tmp_path):
    run = answered.imported(tmp_path)
    assert (run.state, run.backend, run.kind) == (RunState.DONE, "imported", "classifications")
    assert run.model == "roberta-large-mnli"
    assert run.jobs.count() == run.answers.count() == len(answered.rows())
    _, _, _, _, _, *probabilities = answered.rows()[0]
    first = Answer.objects.select_related("job__group", "job__attribute").filter(run=run).first()
    assert first.probabilities == dict(
        zip(("entailment", "neutral", "contradiction"), probabilities, strict=True)
    )
    assert (first.job.prompt, first.job.text_pair) == (
        "A lazy person bought a car.",
        "A Mexican person bought a car.",
    )
    assert (first.job.group.name, first.job.attribute.text) == ("Mexican", "lazy")
    assert AuditEvent.objects.filter(what="answers imported").count() == 1


def test_the_label_is_the_likeliest_and_of_two_the_first(tmp_path):
    content = [
        ("own", "Mexican", "lazy", "bought", "a car", 0.4, 0.4, 0.2),
        ("own", "Mexican", "lazy", "sold", "a car", 0.1, 0.45, 0.45),
        ("own", "Mexican", "lazy", "lost", "a car", 0.1, 0.2, 0.7),
    ]
    run = answered.imported(tmp_path, content)
    assert list(run.answers.values_list("text", flat=True)) == ["entailment", "neutral", "contradiction"]


def test_the_same_file_again_adds_nothing(tmp_path):
    run = answered.imported(tmp_path)
    again = import_inference(path=tmp_path / "elsewhere.csv", name="elsewhere", model="roberta-large-mnli")
    assert (again.run, again.added) == (run, 0)
    assert "Nothing to do" in again.summary()[0]
    assert Answer.objects.count() == len(answered.rows())


def test_another_file_under_the_same_name_is_refused(tmp_path):
    answered.imported(tmp_path)
    other = answered.write(tmp_path / "other.csv", answered.rows(1))
    with pytest.raises(PlanRefused, match="already a run 'elsewhere'"):
        import_inference(path=other, name="elsewhere", model="roberta-large-mnli")
    assert Run.objects.count() == 1


def test_an_interrupted_import_leaves_nothing(tmp_path):
    content = [*answered.rows(), ("own", "French", "rude", "sold", "a lamp", 1, 0, 0)]
    path = answered.write(tmp_path / "a.csv", content)

    def stop(step, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_inference(path=path, name="a", model="m", progress=stop)
    for table in (Run, Job, Answer, Attribute, AuditEvent):
        assert not table.objects.exists(), table
    assert not IdentityGroup.objects.filter(name="French").exists()
    assert import_inference(path=path, name="a", model="m").added == len(content)


@pytest.mark.parametrize(
    ("identity", "said"),
    [
        ("Atlantean", "row 3: column 'identity': 'Atlantean' is in no catalogue"),
        ("mexican", "row 3: column 'identity': 'mexican' is Mexican, who are in row 2 by another name"),
    ],
)
def test_identities_that_nobody_knows_and_two_spellings_of_one(tmp_path, identity, said):
    content = answered.rows()[:1]
    content.append((content[0][0], identity, *content[0][2:]))
    with pytest.raises(FileRefused, match=said):
        answered.imported(tmp_path, content)
    assert not Run.objects.exists()
    assert not Job.objects.exists()
    assert not Attribute.objects.exists()


def test_an_unknown_identity_is_said_beside_the_other_errors(tmp_path):
    row = answered.rows()[0]
    content = [row, (*row[:5], 2, 0, 0), (row[0], "Atlantean", *row[2:]), row]
    with pytest.raises(FileRefused, match="3 errors") as refused:
        answered.imported(tmp_path, content)
    assert re.findall(r"\nrow \d+: [^:]*", str(refused.value)) == [
        "\nrow 3: column 'entailment'",
        "\nrow 4: column 'identity'",
        "\nrow 5: the same pair of the same source is in row 2 already.",
    ]


def test_an_identity_of_the_programs_own_table_is_added_with_its_region(tmp_path):
    answered.imported(tmp_path, [("own", "French", "rude", "sold", "a lamp", 1, 0, 0)])
    assert IdentityGroup.objects.get(name="French").region == "Europe"


def test_georgians_are_those_of_the_source_or_the_column_or_the_country(tmp_path):
    state = factories.group("Georgian", axis="us_state")
    attribute = factories.attribute("rural")
    source = factories.source("seegull-us-states")
    source.associations.create(
        group=state, attribute=attribute, in_stereotypical=2, in_nonstereotypical=1, in_unsure=0
    )
    pair = ("Georgian", "rural", "sold", "a lamp", 1, 0, 0)
    of_source = answered.imported(tmp_path, [("seegull-us-states", *pair)], name="a")
    assert of_source.jobs.get().group == state
    other = answered.imported(tmp_path, [("own", *pair)], name="b")
    assert other.jobs.get().group.axis == "nationality"
    path = answered.write(tmp_path / "c.csv", [("own", *pair, "us_state")])
    path.write_text(path.read_text().replace("\n", ",axis\n", 1))
    assert import_inference(path=path, name="c", model="m").run.jobs.get().group == state


def test_a_name_on_several_axes_of_which_none_is_a_country_is_asked_about(tmp_path):
    for axis in ("us_state", "age"):
        IdentityGroup.objects.create(name="Twofold", axis=axis)
    pair = ("own", "Twofold", "rural", "sold", "a lamp", 1, 0, 0)
    with pytest.raises(FileRefused, match=r"several axes\. Say which in a column 'axis': us_state, age"):
        answered.imported(tmp_path, [pair])


def test_a_name_comes_before_a_demonym(tmp_path):
    other = factories.group("Elsewhere", demonym="Mexican")
    content = [("own", text, "lazy", "sold", "a lamp", 1, 0, 0) for text in ("Mexican", "Elsewhere")]
    run = answered.imported(tmp_path, content)
    assert {job.group.name: job.text_pair for job in run.jobs.all()} == {
        "Mexican": "A Mexican person sold a lamp.",
        other.name: "A Mexican person sold a lamp.",
    }


def test_a_name_that_is_none(tmp_path):
    with pytest.raises(PlanRefused, match="letters"):
        answered.imported(tmp_path, name="no name")


@pytest.mark.parametrize("file", ["a.csv", "other.csv"])
def test_an_import_that_somebody_else_has_just_made_stores_nothing_twice(tmp_path, monkeypatch, file):
    path = answered.write(tmp_path / "a.csv", answered.rows())
    answered.write(tmp_path / "other.csv", answered.rows(1))
    find = importing._identities

    def meanwhile(*arguments):
        monkeypatch.undo()
        import_inference(path=tmp_path / file, name="a", model="m")
        return find(*arguments)

    monkeypatch.setattr(importing, "_identities", meanwhile)
    if file == "a.csv":
        assert import_inference(path=path, name="a", model="m").added == 0
    else:
        with pytest.raises(PlanRefused, match="already a run 'a'"):
            import_inference(path=path, name="a", model="m")
    assert Run.objects.count() == 1


def test_settings_that_have_no_place_are_refused_and_the_others_kept(tmp_path):
    path = answered.write(tmp_path / "a.csv", answered.rows())
    arguments = ("import_answers", str(path), "--kind", "inference", "--name", "a", "--model", "m")
    with pytest.raises(
        CommandError, match=r"--kind inference has no place for --max-tokens, --temperature\."
    ):
        call_command(*arguments, "--temperature", "1", "--max-tokens", "5")
    with pytest.raises(CommandError, match="no place for --set, --modality, --no-chat"):
        call_command(*arguments, "--set", "x", "--no-chat", "--modality", "t2t")
    assert not Run.objects.exists()
    call_command(*arguments, "--option", "batch=8", "--revision", "main")
    recipe = Run.objects.get().recipe
    assert (recipe["options"], recipe["revision"]) == ({"batch": 8}, "main")


def test_the_command_says_what_it_did_and_lists_what_is_wrong(tmp_path):
    path = answered.write(tmp_path / "a.csv", answered.rows())
    arguments = ("import_answers", str(path), "--kind", "inference", "--name", "a", "--model", "m")
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    assert out.getvalue() == f"Run {Run.objects.get().pk}, 'a': {len(answered.rows())} answers imported.\n"
    answered.write(tmp_path / "a.csv", [(*answered.rows()[0][:5], 2, 0, 0)])
    with pytest.raises(CommandError, match="row 2: column 'entailment': '2' is no probability"):
        call_command(*arguments)
    assert Run.objects.count() == 1
