"""Bringing a release in: checksums first, clear errors, all or nothing, twice is once."""

import hashlib
import io
import json
import re
import shutil
from functools import partial
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from annotation.core import csv_text
from annotation.imports.readers.oddities import FileRefused
from annotation.models import (
    Annotator,
    Association,
    AuditEvent,
    Box,
    ConsentText,
    Enrolment,
    IdentityGroup,
    Image,
    ImageSet,
    Judgement,
    Response,
    Slot,
    Source,
    Study,
    StudyStatus,
    TaskKind,
    Unit,
)
from annotation.releases.reading import Row, read_release
from annotation.releases.request import ReleaseOptions
from annotation.releases.services import importing, importing_rows
from tests import factories
from tests.annotation.exports.world import depiction
from tests.annotation.releases.world import ASIAN_WOMAN, answered, people, released

pytestmark = pytest.mark.django_db
UNIT = ("position", "page", "repeat", "source_name", "image")


def run(folder, *options) -> str:
    out = io.StringIO()
    call_command("import_release", str(folder), *options, stdout=out)
    return out.getvalue()


def renewed(folder):
    """The checksums made right again, as somebody would who changes a file on purpose."""
    lines = []
    for line in (folder / "checksums.sha256").read_text().splitlines():
        name = line[66:]
        lines.append(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n")
    (folder / "checksums.sha256").write_text("".join(lines))


def changed(folder, file, old, new, *, times=1):
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, times))
    renewed(folder)


def repeat_last_row(folder, file):
    text = (folder / file).read_text()
    (folder / file).write_text(f"{text}{text.splitlines()[-1]}\n")
    renewed(folder)


@pytest.fixture(scope="module")
def made(once, tmp_path_factory):
    def bundle():
        sentence = {"singular": "Mexican person", "plural": "Mexicans", "article": "a"}
        factories.group("Mexican", country="Mexico", region="Latin America", global_south=True, **sentence)
        votes = Source.objects.create(name="votes", title="Votes", licence="CC0", citation="Somebody")
        factories.association(from_source=votes, ratings=[1, 2], mean=1.5)
        ImageSet.objects.create(
            name="live-images", title="Drawn", model_name="pen", licence="CC0", drawn=True
        )
        study = depiction(stereotype_source=votes)
        Image.objects.update(prompt="a person")
        Unit.objects.filter(image__group__name="French").update(page=2, repeat=1, source_name="unit 7")
        Annotator.objects.filter(pseudonym="a-one").update(simulated=True)
        return released(study, tmp_path_factory.mktemp("release") / "r", with_text=True)

    return once(bundle).made


@pytest.fixture
def bundle(made, db, tmp_path):
    return shutil.copytree(made, tmp_path / "r")


def test_a_release_becomes_a_closed_study_with_everything_in_it(bundle):
    said = run(bundle, "--name", "again")
    assert re.search(r"15 judgements.* 2 boxes", said), said
    first, again = Study.objects.get(name="live"), Study.objects.get(name="again")
    assert again.status == StudyStatus.CLOSED
    assert (again.title, again.stereotype_source) == (first.title, first.stereotype_source)
    assert not again.self_enrol
    task = again.tasks.get()
    assert (task.image_set, task.frozen_at) == (first.tasks.get().image_set, again.opened_at)
    units = [study.tasks.get().units.order_by("position").values_list(*UNIT) for study in (first, again)]
    assert list(units[0]) == list(units[1])

    def said(study):
        return sorted(
            Judgement.objects.filter(response__unit__task__study=study).values_list(
                "response__unit__position",
                "option__position",
                "option__role",
                "option__attribute__text",
                "value",
                "position",
                "whole_image",
                "justification",
            ),
            key=str,
        )

    assert said(first) == said(again)
    assert len(said(again)) == 15
    drawn = Box.objects.filter(judgement__response__unit__task__study=again)
    assert sorted(drawn.values_list("x0", "y0", "x1", "y1")) == [(0.5, 0, 400, 200), (40, 20, 140, 70)]
    assert Enrolment.objects.filter(study=again, status="finished", answered=1).count() == 3
    assert Annotator.objects.filter(enrolments__study=again, simulated=True).count() == 1
    responses = Response.objects.filter(unit__task=task)
    assert {(one.active_ms, one.slot.annotator_id == one.annotator_id) for one in responses} == {(5000, True)}
    assert not Response.objects.filter(unit__task__study=again, submitted_at__isnull=False).exists()
    # the pictures and votes that are here already are used, not doubled
    assert (Image.objects.count(), Association.objects.count()) == (2, 1)


def test_twice_is_once(bundle):
    run(bundle, "--name", "again")
    counts = [model.objects.count() for model in (Study, Unit, Slot, Judgement, Annotator, AuditEvent)]
    assert "Nothing to do" in run(bundle, "--name", "again")
    assert counts == [
        model.objects.count() for model in (Study, Unit, Slot, Judgement, Annotator, AuditEvent)
    ]


def test_another_study_of_that_name_is_left_alone(bundle):
    with pytest.raises(CommandError, match="There is already a study 'live', which is not this release"):
        run(bundle)
    with pytest.raises(CommandError, match="letters, digits"):
        run(bundle, "--name", "no spaces")
    assert Study.objects.count() == 1
    run(bundle, "--name", "again")
    with pytest.raises(CommandError, match="There is already a study 'live', which is not this release"):
        run(bundle)
    AuditEvent.objects.create(what="export", study=Study.objects.get(name="live"), details={})
    changed(bundle, "release.json", '"k": 5', '"k": 6')
    for name in ("live", "again"):
        with pytest.raises(CommandError, match="which is not this release"):
            run(bundle, "--name", name)


def test_a_changed_file_is_not_believed(bundle):
    (bundle / "annotations.csv").write_text((bundle / "annotations.csv").read_text() + "\n")
    with pytest.raises(CommandError, match=r"annotations.csv: the file does not match checksums.sha256"):
        run(bundle, "--name", "again")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "checksums.sha256, row 1: this is not 'checksum  file'"),
        (f"{'0' * 64}  ../outside", "'../outside' is not a file of the release"),
        (f"{'0' * 64}  /etc/passwd", "'/etc/passwd' is not a file of the release"),
        (f"{'0' * 64}  annotations.csv", "there is no line for 'annotators.csv'"),
    ],
)
def test_checksums_that_are_none_are_refused(bundle, line, said):
    (bundle / "checksums.sha256").write_text(line + "\n")
    with pytest.raises(CommandError, match=said):
        run(bundle, "--name", "again")


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(CommandError, match="there is no such folder"):
        run(tmp_path / "nowhere")
    with pytest.raises(CommandError, match="there is no such file"):
        run(tmp_path)


def test_a_release_lacks_no_file(bundle):
    (bundle / "release.json").write_text("[]")
    renewed(bundle)
    with pytest.raises(CommandError, match="its schema is None; this program reads 1"):
        run(bundle, "--name", "again")
    (bundle / "units.csv").unlink()
    with pytest.raises(CommandError, match=r"units\.csv: there is no such file"):
        run(bundle, "--name", "again")
    sums = (bundle / "checksums.sha256").read_text().splitlines(keepends=True)
    (bundle / "checksums.sha256").write_text("".join(each for each in sums if "release.json" not in each))
    with pytest.raises(CommandError, match=r"there is no line for 'release\.json'"):
        run(bundle, "--name", "again")


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "annotations.csv",
            ",1,Depicted,",
            ",7,Depicted,",
            r"annotations.csv, row \d+, column 'value': 7 is",
        ),
        ("annotations.csv", ",1,Depicted,", ",x,Depicted,", r"column 'value': 'x' is not a whole number"),
        ("annotations.csv", "depiction,1,1,2,", "depiction,1,1,1,", "column 'option': the unit has no such"),
        ("annotations.csv", "depiction,1,1,1,", "depiction,1,9,1,", "column 'unit': .* is not defined"),
        (
            "annotations.csv",
            "[[40.0, 20.0,",
            "[[140.0, 20.0,",
            "column 'boxes': .* is not a box inside 400 x 200",
        ),
        ("annotations.csv", "[[40.0, 20.0,", "[[20.0,", "does not have 4 numbers"),
        ("annotations.csv", "[[40.0, 20.0,", "[[NaN, 20.0,", "is not a list of numbers"),
        ("annotations.csv", "[[40.0, 20.0,", "[4, [40.0, 20.0,", "is not a list of numbers"),
        ("annotations.csv", "task,task_version", "kind,task_version", "row 1: there is no column 'task'"),
        ("annotations.csv", ",no,5,no,", ",no,5,maybe,", "column 'surplus'"),
        ("units.csv", "unassigned", "typical", "column 'role': 'typical' is not one of"),
        ("images.csv", ",400,200,", ",400,0,", "column 'height': 0 is below 1"),
        (
            "images.csv",
            "live-images",
            "other-images",
            "column 'image_set': .* is not defined anywhere in the release",
        ),
        ("associations.csv", "nationality,", "planet,", "column 'identity': .* is not defined"),
        ("associations.csv", ",2,1,0,2", ",3,1,0,2", "the source 'votes' has other votes for"),
        ("identities.csv", "nationality,", "planet,", "column 'axis': 'planet' is not one of"),
        ("annotators.csv", ",no", ",perhaps", "column 'simulated'"),
        ("release.json", '"schema": 1', '"schema": 2', "its schema is 2; this program reads 1"),
        ("release.json", '"wording": "', '"wording": "", "x": "', "release.json: tasks.1..wording"),
        (
            "release.json",
            '"stereotype_threshold": 2',
            '"stereotype_threshold": "x"',
            "study.stereotype_threshold",
        ),
        ("release.json", '"translations": {}', '"translations": {"es": "x"}', "there is no key 'study.trans"),
        (
            "release.json",
            '"questions": []',
            '"questions": [{"field": "a", "label": "A", '
            '"translations": {"es": {"label": "B", "choices": ["c"]}}}]',
            r"study: study.questions.1..translations.es.choices: there are 1, and 0 in English",
        ),
        ("release.json", "{", "[", "this is not JSON"),
        ("release.json", '"study": {', '"other": {', "'study' is missing or of the wrong type"),
        ("release.json", '"tasks": [', '"tasks": {}, "other": [', "'tasks' is missing or of the wrong type"),
        ("release.json", '"stereotype_source": "votes"', '"stereotype_source": "x"', "not among the sources"),
        ("units.csv", "1,0,,Mexican5.png,", "1,0,Mexican5.png,", "13 cells where the header has 14"),
        ("units.csv", "1,hat,", '1,"ha"t,', r"units.csv, row 2: this is not comma-separated text"),
        ("units.csv", "1,hat,", "1,Hat,", "'Hat' must be in lower case"),
        ("units.csv", "1,hat,", "1,hat ,", "'hat ' must be in lower case, without spaces"),
        ("units.csv", ",5,,none_of_above", ",5,,random", "'option_attribute': all options but none of"),
        ("units.csv", ",5,,none_of_", ",5,tall,none_of_", "'option_attribute': all options but none of"),
        ("units.csv", "Mexican5.png,,,,,1,", ",,,,,1,", "a unit needs an image, an association or an attr"),
        ("units.csv", ",2,sombrero,", ",1,sombrero,", "column 'option': the unit has an option twice"),
        ("units.csv", ",2,sombrero,", ",2,hat,", "column 'option': the unit has an option twice"),
        (
            "units.csv",
            "n,1,2,2,1,unit 7,French2.png,,,,,5,",
            "n,1,1,1,0,,,,,,,5,",
            "unit 1 of depiction occurs twice",
        ),
        ("annotations.csv", ",3,A", ",1,A", "column 'response': 1 comes after 2; numbers must increase"),
        ("annotations.csv", ",3,A", ",2,A", "column 'unit': response 2 belongs to two units"),
        ("annotations.csv", ",no,any,", ",no,all,", "column 'stratum': the rows of response . differ"),
        ("annotations.csv", "depicted,2,[]", "depicted,1,[]", "two options have the same position"),
        ("annotations.csv", ",1,A", ",1,B", "column 'annotator': the rows of response . differ"),
        ("associations.csv", '"[1, 2]"', '"[1, 3]"', "the source 'votes' has other votes for"),
        ("associations.csv", ",1.5", ",1.6", "the source 'votes' has other votes for"),
        ("images.csv", ",2,a person,400,", ",2,a person,401,", "has another image 2 of 'French'"),
        ("images.csv", ",400,200,", ",400,201,", "has another image 2 of 'French'"),
    ],
)
def test_what_cannot_be_is_named_with_its_place_and_nothing_is_written(bundle, file, old, new, said):
    changed(bundle, file, old, new)
    before = [model.objects.count() for model in (Study, Unit, IdentityGroup, Annotator, Judgement)]
    with pytest.raises(CommandError, match=said):
        run(bundle, "--name", "again")
    assert before == [model.objects.count() for model in (Study, Unit, IdentityGroup, Annotator, Judgement)]


def cell(text: str) -> Row:
    return Row(Path("t.csv"), 7, {"c": text})


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (partial(Row.text, needed=True), "", "the cell is empty"),
        (partial(Row.text, longest=3), "four", "the text has 4 characters; at most 3"),
        (Row.integer, "", "a whole number is missing"),
        (Row.integer, "1234567890", "is not a whole number"),
        (partial(Row.integer, least=2), "1", "1 is below 2"),
        (Row.decimal_or_none, "1,5", "is not a number"),
        (Row.boolean, "true", "is neither 'yes' nor 'no'"),
        (Row.numbers, "5", "is not a list of numbers"),
        (Row.numbers, "[true]", "is not a list of numbers"),
        (Row.numbers, "[1e9]", "is not a list of numbers"),
        (partial(Row.numbers, each=2), "5", "is not a list of numbers"),
        (partial(Row.numbers, each=2), "[[1, 2], [1]]", "does not have 2 numbers in each list"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(read, text, said):
    with pytest.raises(FileRefused, match=rf"^t\.csv, row 7, column 'c': .*{said}"):
        read(cell(text), "c")


def test_a_cell_is_read_up_to_its_bounds():
    assert cell("six").text("c", longest=3, needed=True) == "six"
    assert cell("999999999").integer("c") == 999_999_999
    assert cell("2").integer("c", least=2) == 2
    assert [cell(text).decimal_or_none("c") for text in ("", "3", "-1.5", "2e-3")] == [None, 3, -1.5, 0.002]
    assert cell("[999999999.5]").numbers("c") == [999_999_999.5]


@pytest.mark.parametrize(
    "corners", [(-1, 0, 5, 5), (0, -1, 5, 5), (0, 0, 41, 5), (0, 0, 5, 21), (5, 0, 5, 5), (0, 5, 5, 5)]
)
def test_a_box_lies_inside_its_image(corners):
    unit = Unit(image=Image(width=40, height=20))
    importing_rows._box(Judgement(), unit, [0, 0, 40, 20], cell(""))
    with pytest.raises(FileRefused, match="is not a box inside 40 x 20 pixels"):
        importing_rows._box(Judgement(), unit, list(corners), cell(""))
    with pytest.raises(FileRefused, match="the unit shows no image"):
        importing_rows._box(Judgement(), Unit(), [0, 0, 5, 5], cell(""))


@pytest.mark.parametrize(("file", "row"), [("units.csv", 3), ("units.csv", 1), ("annotators.csv", 1)])
def test_bytes_that_are_no_text_are_named_with_their_row(bundle, file, row):
    lines = (bundle / file).read_bytes().splitlines(keepends=True)
    lines[row - 1] = b"\xff" + lines[row - 1]
    (bundle / file).write_bytes(b"".join(lines))
    renewed(bundle)
    with pytest.raises(CommandError, match=rf"{file}, row {row}: the file is not UTF-8"):
        run(bundle, "--name", "again")


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("../secret.png", "is not a file in images/"),
        ("units.csv", "is not a file in images/"),
        ("images/none.png", "is not a file in images/"),
        ("images/other.png", "column 'sha256': 'images/other.png' has another hash"),
    ],
)
def test_a_picture_that_is_not_of_the_release_is_not_fetched(bundle, tmp_path, file, said):
    (tmp_path / "secret.png").write_bytes(b"secret")
    (bundle / "images").mkdir()
    (bundle / "images" / "other.png").write_bytes(b"other")
    Image.objects.update(image_set=factories.image_set("moved"))
    changed(bundle, "images.csv", ",French2.png,", f",French2.png,{file}")
    with pytest.raises(CommandError, match=said):
        run(bundle, "--name", "again")


def test_what_is_not_here_yet_comes_as_it_was_told(bundle):
    Source.objects.update(name="other")
    ImageSet.objects.update(name="other-images")
    changed(bundle, "images.csv", ",French2.png,", ",,")
    changed(bundle, "images.csv", ",Mexican5.png,", ",kept/Mexican5.png,")
    for file in ("images.csv", "associations.csv"):
        repeat_last_row(bundle, file)
    run(bundle, "--name", "again")
    votes = Source.objects.get(name="votes")
    assert (votes.title, votes.licence, votes.citation) == ("Votes", "CC0", "Somebody")
    made = ImageSet.objects.get(name="live-images")
    assert (made.title, made.model_name, made.licence, made.drawn) == ("Drawn", "pen", "CC0", True)
    # without a file and a place outside, the name in the release is all that leads to the picture
    told = [("French2.png", "a person"), ("kept/Mexican5.png", "a person")]
    assert sorted(made.images.values_list("reference", "prompt")) == told
    assert Association.objects.filter(source=votes).count() == 1


def test_another_picture_of_that_number_is_not_taken_for_it(bundle):
    """Pictures that are kept outside have no hash: where they are kept tells them apart."""
    Image.objects.filter(group__name="French").update(reference="elsewhere/French2.png")
    with pytest.raises(CommandError, match=r"images.csv, row \d+: .* has another image 2 of 'French'"):
        run(bundle, "--name", "again")


def test_a_picture_of_the_same_hash_is_the_same_wherever_it_is_kept(bundle):
    changed(bundle, "images.csv", "200,,,French2.png", f"200,{'0' * 64},,French2.png")
    Image.objects.filter(group__name="French").update(sha256="1" * 64)
    with pytest.raises(CommandError, match="has another image 2 of 'French'"):
        run(bundle, "--name", "again")
    Image.objects.filter(group__name="French").update(sha256="0" * 64, reference="elsewhere/French2.png")
    run(bundle, "--name", "again")
    assert Image.objects.count() == 2


def test_images_of_any_names_stay_as_many(tmp_path):
    """The second `same.png` is named by its set, axis, group and number, which a third is called already."""
    study = factories.study("named", contact="studies@example.org")
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set(), strata=["any"])
    for index, reference in enumerate(("same.png", "test-set/nationality/Mexican/3", "same.png"), start=1):
        image = factories.image(image_set=task.image_set, index=index, reference=reference)
        factories.response(factories.page_unit(task, picture=image))
    run(released(study, tmp_path / "r"), "--name", "again")
    images = Unit.objects.filter(task__study__name="again").values_list("image_id", flat=True)
    assert len(set(images)) == 3


def test_somebody_elses_region_is_not_changed(bundle):
    IdentityGroup.objects.filter(name="Mexican").update(region="Europe")
    with pytest.raises(CommandError, match="belongs to 'Europe'"):
        run(bundle, "--name", "again")


def test_how_a_sentence_names_people_comes_along_unless_an_earlier_version_made_it(bundle):
    lines = (bundle / "identities.csv").read_text().splitlines()
    earlier = shutil.copytree(bundle, bundle.parent / "earlier")
    (earlier / "identities.csv").write_text("".join(f"{line.rsplit(',', 3)[0]}\n" for line in lines))
    renewed(earlier)
    IdentityGroup.objects.update(axis="other")  # so that the groups of the release are not here yet
    run(bundle, "--name", "again")
    group = IdentityGroup.objects.get(axis="nationality", name="Mexican")
    assert (group.singular, group.plural, group.article) == ("Mexican person", "Mexicans", "a")
    assert (group.demonym, group.country, group.region) == ("Mexican", "Mexico", "Latin America")
    assert group.global_south
    rows = read_release(earlier).rows("identities.csv")
    assert {row.text("singular") + row.text("article") for row in rows} == {""}


def test_a_release_of_an_earlier_version_lacks_what_came_later(bundle):
    told = json.loads((bundle / "release.json").read_text())
    for key in ("consent", "translations", "break_after"):
        del told["study"][key]
    del told["tasks"][0]["people_units"]
    del told["image_sets"][0]["licence"]
    ImageSet.objects.update(name="other-images")
    (bundle / "release.json").write_text(json.dumps(told))
    renewed(bundle)
    run(bundle, "--name", "again")
    assert Study.objects.get(name="again").break_after == Study().break_after
    assert ImageSet.objects.get(name="live-images").licence == ""


@pytest.mark.parametrize(("told", "total"), [({"responses": 99}, 99), ({}, 3), (None, 3)])
def test_progress_is_out_of_the_responses_that_the_release_has_or_that_were_found(bundle, told, total):
    metadata = json.loads((bundle / "release.json").read_text())
    metadata["counts"] = told
    (bundle / "release.json").write_text(json.dumps(metadata))
    renewed(bundle)
    seen = []
    importing.import_release(
        release=read_release(bundle), name="again", progress=lambda *how: seen.append(how)
    )
    assert seen[-1] == ("responses", 3, total)


def test_nobody_occurs_twice(bundle):
    repeat_last_row(bundle, "annotators.csv")
    with pytest.raises(CommandError, match=r"'A.{20}' already exists in this installation, or occurs twice"):
        run(bundle, "--name", "again")


def test_one_release_cannot_be_two_studies(bundle):
    run(bundle, "--name", "again")
    with pytest.raises(CommandError, match="already exists in this installation"):
        run(bundle, "--name", "once-more")


def test_profiles_come_back_as_they_were_told(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), name="rated", units=2, strata=("origin: Asia",) * 5)
    study.tasks.update(version=2)
    run(released(study, tmp_path / "r"), "--name", "again")
    slots = Slot.objects.filter(study__name="again", unit__position=2).values_list("index", "stratum")
    assert sorted(slots) == [(index, "origin: Asia") for index in range(5)]
    responses = Response.objects.filter(unit__task__study__name="again")
    assert set(responses.values_list("task_version", flat=True)) == {2}
    said = ConsentText.objects.filter(study__name="again").values_list("language", "text", "content_warning")
    assert list(said) == [("en", "What taking part means.", "Care.")]
    again = Annotator.objects.filter(enrolments__study__name="again")
    assert {tuple(sorted(one.profile_answers.values_list("field", "value"))) for one in again} == {
        tuple(sorted(ASIAN_WOMAN.items()))
    }
    assert again.first().profile_answers.filter(may_publish=True).count() == 3


def test_surplus_stays_surplus(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), name="rated", units=1)
    surplus = Response.objects.filter(unit__task__study=study).first()
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    run(released(study, tmp_path / "r"), "--name", "again")
    assert Response.objects.filter(unit__task__study__name="again", slot__isnull=True).count() == 1


@given(st.text(max_size=12))
def test_a_cell_comes_back_as_the_text_it_was_made_of(text):
    told = csv_text.safe_cell(text)
    assert csv_text.text_of_cell(told) == text
    assert not told.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))


@given(st.text(alphabet="'=+@ab", max_size=8))
def test_apostrophes_do_not_confuse_it(text):
    assert csv_text.text_of_cell(csv_text.safe_cell(text)) == text


def test_the_audit_trail_says_what_came_in(bundle):
    run(bundle, "--name", "again")
    event = AuditEvent.objects.get(what="release imported")
    sums = hashlib.sha256((bundle / "checksums.sha256").read_bytes()).hexdigest()
    assert event.details == {"checksum": sums, "responses": 3}
    assert json.loads((bundle / "release.json").read_text())["study"]["name"] == "live"
    assert ReleaseOptions().k == 5
