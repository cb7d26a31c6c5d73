"""What a release holds: files that others load, documents that say what they are, whole or not at all."""

import csv
import hashlib
import json
import subprocess
import tomllib
from functools import partial

import pandas as pd
import pyarrow.parquet as pq
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import AuditEvent, ConsentText, Image, Judgement, Response, Study
from annotation.releases import tables
from annotation.releases.request import ReleaseOptions, ReleaseRefused
from annotation.releases.services import bundle
from tests import factories
from tests.annotation.exports.world import depiction, png
from tests.annotation.releases.world import ASIAN_WOMAN, EUROPEAN_MAN, about, answered, people, released, rows

pytestmark = pytest.mark.django_db
FILES = {
    *("annotations.csv", "annotations.parquet", "annotators.csv", "associations.csv", "images.csv"),
    *("units.csv", "identities.csv", "study.toml", "README.md", "croissant.json", "LICENSE.txt"),
    *("CITATION.cff", "checksums.sha256", "release.json"),
}


def with_files(study: Study) -> Study:
    """The study's images with files that their hashes fit."""
    for place, image in enumerate(Image.objects.filter(units__task__study=study).distinct()):
        data = png(400, 200 + place)
        image.sha256 = hashlib.sha256(data).hexdigest()
        image.file.save(f"{image.sha256}.png", ContentFile(data))
    return study


@pytest.mark.processes
def test_all_files_are_there_and_their_checksums_right(tmp_path):
    folder = released(answered(people((ASIAN_WOMAN, 5)), units=2), tmp_path / "r")
    assert {each.name for each in folder.iterdir()} == FILES
    done = subprocess.run(
        ["sha256sum", "--strict", "-c", "checksums.sha256"], cwd=folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.count(": OK")) == (0, len(FILES) - 1)


def test_both_tables_say_the_same_and_pandas_reads_them(tmp_path, monkeypatch):
    monkeypatch.setattr("annotation.releases.rows.CHUNK_ROWS", 3)
    folder = released(with_files(depiction()), tmp_path / "r", with_text=True)
    flat = pd.read_csv(folder / "annotations.csv", keep_default_na=False)
    typed = pq.read_table(folder / "annotations.parquet").to_pandas()
    assert list(flat.columns) == list(typed.columns)
    assert list(flat["value"]) == list(typed["value"])
    assert [json.loads(each) for each in flat["boxes"]] == [
        [list(box) for box in boxes] for boxes in typed["boxes"]
    ]
    assert list(flat["whole_image"]) == ["yes" if each else "no" for each in typed["whole_image"]]
    assert len(flat) == 15


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("simulated", [False, True])
def test_croissant_is_valid_and_loads_every_table(tmp_path, simulated):
    import mlcroissant  # brings torch along

    factories.association(from_source=factories.source("votes"), ratings=[1, 2], mean=1.5)
    study = with_files(depiction(stereotype_source=factories.source("votes"), simulated=simulated))
    folder = released(study, tmp_path / "r", licence="CC-BY-4.0", citation="Somebody (2026)")
    data = mlcroissant.Dataset(folder / "croissant.json")
    assert not data.metadata.ctx.issues.errors
    assert data.metadata.data_annotation_protocol
    assert data.metadata.annotations_per_item == "3 (depiction)"
    assert data.metadata.personal_sensitive_information
    found = {one.name: len(list(data.records(one.name))) for one in data.metadata.record_sets}
    assert found == {
        "annotations": 15,
        "annotators": 3,
        "units": 10,
        "images": 2,
        "associations": 1,
        "identities": 2,
    }
    assert ("SIMULATED" in data.metadata.description) is simulated


def test_simulated_answers_say_so_in_every_document(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), units=1, simulated=True)
    folder = released(study, tmp_path / "r")
    for name in ("README.md", "croissant.json", "CITATION.cff", "LICENSE.txt", "study.toml"):
        assert "SIMULATED" in (folder / name).read_text(), name
    assert "SIMULATED" in json.loads((folder / "croissant.json").read_text())["rai:dataCollection"]
    assert about(folder)["simulated"] is True
    assert {row["simulated"] for row in rows(folder, "annotations.csv")} == {"yes"}


def test_the_data_card_knows_the_study_and_marks_its_blanks(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5), (EUROPEAN_MAN, 2)), units=2)
    card = (released(study, tmp_path / "r") / "README.md").read_text()
    for known in (
        "| Contact of the study | studies@example.org |",
        "Content warning",
        "at least **5** people",
        "What taking part means",
    ):
        assert known in card
    assert card.count("**[to be filled in: ") > 10
    assert "how much annotators were paid" in card
    assert "CC-BY" not in card


def test_licence_and_citation_stand_where_they_belong(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), units=1)
    folder = released(study, tmp_path / "r", licence="CC-BY-4.0", citation='Noor "N" K: (2026)')
    assert "creativecommons.org/licenses/by/4.0" in (folder / "LICENSE.txt").read_text()
    cff = dict(line.split(": ", 1) for line in (folder / "CITATION.cff").read_text().splitlines())
    assert json.loads(cff["message"]) == 'Please cite: Noor "N" K: (2026)'
    assert json.loads(cff["license"]) == "CC-BY-4.0"
    croissant = json.loads((folder / "croissant.json").read_text())
    assert croissant["license"] == "https://creativecommons.org/licenses/by/4.0/"
    without = released(study, tmp_path / "without")
    assert "nobody may share these data" in (without / "LICENSE.txt").read_text()


def test_the_studys_file_names_no_lead_and_no_completion_code(tmp_path):
    study = answered(
        people((ASIAN_WOMAN, 5)),
        units=1,
        leads=[factories.user("boss")],
        completion_code="C0DE",
        completion_url="https://app.example.org/?cc=C0DE",
        crowd_parameters={"participant": "C0DE", "study": "C0DE", "session": "C0DE"},
    )
    folder = released(study, tmp_path / "r")
    said = tomllib.loads((folder / "study.toml").read_text())
    assert said["tasks"][0]["attributes"] == ["attribute 0"]
    for file in folder.iterdir():
        content = file.read_bytes()
        assert b"boss" not in content
        assert b"C0DE" not in content


def test_a_study_that_a_file_cannot_say_is_released_all_the_same(tmp_path):
    study = depiction()
    Study.objects.filter(pk=study.pk).update(visual_mean=3.5)
    folder = released(Study.objects.get(pk=study.pk), tmp_path / "r")
    text = (folder / "study.toml").read_text()
    assert "`open_study` cannot use this file" in text
    assert tomllib.loads(text)["visual_mean"] == 3.5
    assert tomllib.loads(text)["tasks"][0]["kind"] == "depiction"
    assert len(rows(folder, "units.csv")) == 10


def test_texts_are_left_out_unless_they_are_asked_for_and_screened_then(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), units=1)
    factories.user("grace.h")
    texts = ["=cmd|' /C calc'!A0", "ask grace.h", "it is a hat", "", "mail me@example.org"]
    for judgement, text in zip(Judgement.objects.order_by("pk"), texts, strict=True):
        Judgement.objects.filter(pk=judgement.pk).update(justification=text)
    assert "justification" not in rows(released(study, tmp_path / "without"), "annotations.csv")[0]
    folder = released(study, tmp_path / "r", with_text=True)
    said = sorted(row["justification"] for row in rows(folder, "annotations.csv"))
    assert said == sorted(["'=cmd|' /C calc'!A0", "ask [removed]", "it is a hat", "", "mail [removed]"])
    assert about(folder)["texts"] == {"screened": True, "changed": 2}
    typed = pq.read_table(folder / "annotations.parquet").column("justification").to_pylist()
    assert "=cmd|' /C calc'!A0" in typed


def test_no_cell_of_any_table_begins_a_formula(tmp_path):
    study = factories.study("live", questions=[{"field": "q", "label": "=1", "choices": ["=x", "-y"]}])
    task = factories.task(study)
    unit = factories.attribute_unit(task, "=attr()")
    who = people(({"q": "=x"}, 3))
    for one in who:
        factories.response(unit, values=[5], who=one)
    who[0].profile_answers.update(field="question:q")  # as answers to own questions are named too
    folder = released(study, tmp_path / "r", k=2)
    for file in folder.glob("*.csv"):
        with file.open(newline="") as text:
            for row in csv.reader(text):
                assert not [cell for cell in row if cell.startswith(("=", "+", "@", "-y"))]
    assert {row["q"] for row in rows(folder, "annotators.csv")} == {"'=x"}
    assert "| =1 (`q`) | as chosen | 3 |" in (folder / "README.md").read_text()


def test_only_what_counts_is_in_it(tmp_path):
    who = people((ASIAN_WOMAN, 5))
    study = answered(who, units=2)
    task = study.tasks.get()
    check = factories.attribute_unit(task, "a check", purpose="gold")
    factories.response(check, values=[5], who=who[0])
    Response.objects.filter(unit__position=1, annotator=who[0]).update(current=False, slot=None)
    Response.objects.filter(unit__position=1, annotator=who[1]).update(slot=None)
    # nor are people in it of whom nothing counts
    factories.response(check, values=[5], who=factories.annotator())
    factories.response(check, values=[5], who=factories.annotator(), current=False)
    unit = factories.attribute_unit(task, "corrected")
    factories.response(unit, values=[5], who=factories.annotator(), current=False)
    factories.response(factories.attribute_unit(factories.task()), who=factories.annotator())
    folder = released(study, tmp_path / "r")
    found = rows(folder, "annotations.csv")
    assert len(found) == 9
    assert [row["surplus"] for row in found].count("yes") == 1
    assert len(rows(folder, "annotators.csv")) == 5
    assert bundle.preview(study=study, options=ReleaseOptions()).responses == 9


def test_images_come_along_if_they_are_asked_for(tmp_path):
    study = with_files(depiction())
    folder = released(study, tmp_path / "r", images=True)
    for row in rows(folder, "images.csv"):
        data = (folder / row["file"]).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), str(len(data))) == (row["sha256"], row["size"])
    without = released(study, tmp_path / "without")
    assert not (without / "images").exists()
    assert {row["file"] for row in rows(without, "images.csv")} == {""}
    sizes = [[row["size"] for row in rows(each, "images.csv")] for each in (folder, without)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(("damage", "said"), [(b"other bytes", "damaged"), (None, "missing")])
def test_an_image_that_is_gone_or_damaged_stops_the_release(tmp_path, damage, said):
    study = with_files(depiction())
    image = Image.objects.filter(units__task__study=study).first()
    image.file.delete(save=False) if damage is None else None
    if damage is not None:
        with open(image.file.path, "wb") as out:  # noqa: PTH123
            out.write(damage)
    else:
        Image.objects.filter(pk=image.pk).update(file="images/gone.png")
    with pytest.raises(ReleaseRefused, match=said):
        released(study, tmp_path / "r", images=True)
    assert list(tmp_path.glob("*r*")) == []
    without = rows(released(study, tmp_path / "without"), "images.csv")
    assert [row["size"] for row in without].count("") == (damage is None)


def test_it_appears_whole_or_not_at_all_and_is_noted_once(tmp_path, monkeypatch):
    study = answered(people((ASIAN_WOMAN, 5)), units=1)

    def breaks(*args):
        raise OSError("No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(tables, "association_rows", breaks)
        with pytest.raises(OSError, match="No space"):
            released(study, tmp_path / "r")
    assert [each.name for each in tmp_path.iterdir() if each.name != "media"] == []
    assert not AuditEvent.objects.exists()
    options = ReleaseOptions(k=3, images=True, withhold=("gender", "age_band"), without_pseudonyms=True)
    made = bundle.write(study=study, path=tmp_path / "r", by=None, options=options)
    event = AuditEvent.objects.get()
    assert (event.what, event.study) == ("release", study)
    assert event.details == {
        "k": 3,
        "texts": False,
        "images": True,
        "without_pseudonyms": True,
        "withheld": ["age_band", "gender"],
        "annotators": 5,
        "responses": 5,
        "judgements": 5,
        "checksum": made.checksum,
    }
    sums = (tmp_path / "r" / "checksums.sha256").read_bytes()
    assert hashlib.sha256(sums).hexdigest() == made.checksum
    assert made.files == len(list((tmp_path / "r").iterdir()))
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o700


def test_only_an_earlier_release_is_replaced(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), units=1)
    released(study, tmp_path / "r")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*none\. Make it first"):
        released(study, tmp_path / "none" / "r")
    with pytest.raises(FileExistsError, match="--force"):
        released(study, tmp_path / "r")
    bundle.write(study=study, path=tmp_path / "r", by=None, options=ReleaseOptions(k=4), overwrite=True)
    assert about(tmp_path / "r")["k"] == 4
    other = tmp_path / "mine"
    other.mkdir()
    (other / "README.md").write_text("my notes")
    with pytest.raises(FileExistsError, match="not a release"):
        bundle.write(study=study, path=other, by=None, options=ReleaseOptions(), overwrite=True)
    assert (other / "README.md").read_text() == "my notes"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nothing"], "There is no study 'nothing'. There are: live."),
        (["live", "--k", "1"], "k is 1: a person could be unique"),
        (["live", "--withhold", "shoe_size"], "There is no profile field 'shoe_size'"),
    ],
)
def test_the_command_refuses_what_cannot_be(tmp_path, options, said):
    answered(people((ASIAN_WOMAN, 5)), units=1)
    with pytest.raises(CommandError, match=said):
        call_command("release", *options, "--out", str(tmp_path / "r"))
    assert not (tmp_path / "r").exists()


def test_the_command_says_what_was_coarsened(tmp_path, capsys):
    answered(people((ASIAN_WOMAN, 9), (EUROPEAN_MAN, 1)), units=1)
    call_command("release", "live", "--out", str(tmp_path / "r"), "--with-text")
    said = capsys.readouterr().out
    assert (
        "gender: as chosen; published for 5 people, own words 0, withheld so that nobody stands out 5" in said
    )
    assert "Read all of them before you publish" in said


def test_no_release_is_begun_in_which_anybody_could_be_unique(tmp_path):
    study, options = answered(people((ASIAN_WOMAN, 5)), units=1), ReleaseOptions(k=1)
    for begin in (bundle.preview, partial(bundle.stream_zip, by=None)):
        with pytest.raises(ReleaseRefused, match="k is 1"):
            begin(study=study, options=options)


def test_a_release_is_of_the_study_as_it_is_now(tmp_path):
    # a question of its own may be named as one of the profile's: there is one column all the same
    asked = [{"field": "origin", "label": "Origin", "choices": ["Asia"]}]
    study = answered(people(({"origin": "Asia"}, 4)), units=1, questions=asked)
    Study.objects.update(title="A new title")
    folder = released(study, tmp_path / "r")
    assert about(folder)["study"]["title"] == "A new title"
    # fewer than 5 people: there is no column of what is told of nobody
    assert about(folder)["coarsened"] == [{"field": "origin", "told": "withheld"}]
    assert list(rows(folder, "annotators.csv")[0]) == ["annotator", "simulated"]
    assert "`origin`" not in (folder / "README.md").read_text().partition("## Sensitive")[0]


def test_a_study_without_answers_has_nothing_to_release(tmp_path):
    study = factories.rating_study(name="empty")
    with pytest.raises(ReleaseRefused, match="holds no answers"):
        released(study, tmp_path / "r")


def test_the_card_quotes_the_consent_in_its_own_language(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), units=1)
    for language, text in (("en", "What taking part means now."), ("es", "Lo que significa participar.")):
        ConsentText.objects.create(study=study, version=2, language=language, text=text)
    card = (released(study, tmp_path / "r") / "README.md").read_text()
    assert "its latest version: What taking part means now." in card
