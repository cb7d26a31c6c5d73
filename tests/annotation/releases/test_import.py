"""Bringing a release in: checksums first, clear errors, all or nothing, twice is once."""

import hashlib
import io
import json
import shutil

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from hypothesis import given
from hypothesis import strategies as st

from annotation.core import csv_text
from annotation.models import (
    Annotator,
    Association,
    AuditEvent,
    Box,
    Enrolment,
    IdentityGroup,
    Image,
    Judgement,
    Response,
    Slot,
    Study,
    StudyStatus,
    TaskKind,
    Unit,
)
from annotation.releases.reading import read_release
from annotation.releases.request import ReleaseOptions
from tests import factories
from tests.annotation.exports.world import depiction
from tests.annotation.releases.world import ASIAN_WOMAN, answered, people, released

pytestmark = pytest.mark.django_db


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


@pytest.fixture(scope="module")
def made(once, tmp_path_factory):
    def bundle():
        factories.group("Mexican", singular="Mexican person", plural="Mexicans", article="a")
        factories.association(from_source=factories.source("votes"), ratings=[1, 2], mean=1.5)
        study = depiction(stereotype_source=factories.source("votes"))
        return released(study, tmp_path_factory.mktemp("release") / "r", with_text=True)

    return once(bundle).made


@pytest.fixture
def bundle(made, db, tmp_path):
    return shutil.copytree(made, tmp_path / "r")


def test_a_release_becomes_a_closed_study_with_everything_in_it(bundle):
    run(bundle, "--name", "again")
    first, again = Study.objects.get(name="live"), Study.objects.get(name="again")
    assert again.status == StudyStatus.CLOSED
    assert (again.title, again.stereotype_source) == (first.title, first.stereotype_source)

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
    assert Enrolment.objects.filter(study=again, status="finished").count() == 3
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
    ],
)
def test_what_cannot_be_is_named_with_its_place_and_nothing_is_written(bundle, file, old, new, said):
    changed(bundle, file, old, new)
    before = [model.objects.count() for model in (Study, Unit, IdentityGroup, Annotator, Judgement)]
    with pytest.raises(CommandError, match=said):
        run(bundle, "--name", "again")
    assert before == [model.objects.count() for model in (Study, Unit, IdentityGroup, Annotator, Judgement)]


def test_bytes_that_are_no_text_are_named_with_their_row(bundle):
    data = (bundle / "units.csv").read_bytes()
    (bundle / "units.csv").write_bytes(data + b"depiction,1,\xff\n")
    renewed(bundle)
    with pytest.raises(CommandError, match=r"units.csv, row \d+: the file is not UTF-8"):
        run(bundle, "--name", "again")


def test_a_picture_outside_the_release_is_not_fetched(bundle, tmp_path):
    (tmp_path / "secret.png").write_bytes(b"secret")
    Image.objects.update(image_set=factories.image_set("moved"))
    text = (bundle / "images.csv").read_text().splitlines()
    text[1] = text[1].rstrip(",") + ",../secret.png"
    cells = text[1].split(",")
    assert cells[-1] == "../secret.png"
    (bundle / "images.csv").write_text(
        "\n".join([text[0], ",".join([*cells[:10], "", "../secret.png"]), *text[2:]]) + "\n"
    )
    renewed(bundle)
    with pytest.raises(CommandError, match="is not a file in images/"):
        run(bundle, "--name", "again")


def test_another_picture_of_that_number_is_not_taken_for_it(bundle):
    """Pictures that are kept outside have no hash: where they are kept tells them apart."""
    Image.objects.filter(group__name="French").update(reference="elsewhere/French2.png")
    with pytest.raises(CommandError, match=r"images.csv, row \d+: .* has another image 2 of 'French'"):
        run(bundle, "--name", "again")


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
    rows = read_release(earlier).rows("identities.csv")
    assert {row.text("singular") + row.text("article") for row in rows} == {""}


def test_one_release_cannot_be_two_studies(bundle):
    run(bundle, "--name", "again")
    with pytest.raises(CommandError, match="already exists in this installation"):
        run(bundle, "--name", "once-more")


def test_profiles_come_back_as_they_were_told(tmp_path):
    study = answered(people((ASIAN_WOMAN, 5)), name="rated", units=2)
    run(released(study, tmp_path / "r"), "--name", "again")
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
