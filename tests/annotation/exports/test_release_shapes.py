"""Exports in the shape of the releases, read back by our own importers; and Crowd-Kit's."""

import csv
import io
import zipfile

import pytest
from django.core.management import CommandError, call_command
from openpyxl import load_workbook

from annotation.exports.selection import ExportRefused
from annotation.imports.readers.seegull import read_associations
from annotation.imports.readers.visage_annotations import read_annotations
from annotation.imports.readers.visage_attributes import read_attributes
from annotation.imports.services.visage_check import check_same
from annotation.models import (
    Association,
    Axis,
    Box,
    IdentityGroup,
    Judgement,
    Option,
    OptionRole,
    Response,
    Study,
    TaskKind,
    Unit,
)
from tests import factories
from tests.annotation.exports.world import depiction, unpacked, written
from tests.annotation.imports import release_files

pytestmark = pytest.mark.django_db
RELEASED = ("Visual Attributes_.xlsx", "Image Annotations.xlsx")


def scores(study: str) -> str:
    out = io.StringIO()
    call_command("scores", study, "--format", "csv", "--resamples", "0", stdout=out, stderr=io.StringIO())
    return out.getvalue()


def import_visage(folder, *more: str) -> None:
    call_command(
        "import_visage", "--attributes", folder / RELEASED[0], "--annotations", folder / RELEASED[1], *more
    )


@pytest.fixture
def released(tmp_path) -> Study:
    call_command("import_seegull", release_files.seegull(tmp_path))
    release_files.attributes(tmp_path)
    release_files.annotations(tmp_path)
    import_visage(tmp_path)
    return Study.objects.get()


def test_visage_written_and_read_back_gives_the_same_counts_and_scores(released, tmp_path):
    folder = written(released, "visage", tmp_path / "again")
    check_same(
        study=released,
        attributes=read_attributes(folder / RELEASED[0]),
        annotations=read_annotations(folder / RELEASED[1]),
    )
    import_visage(folder, "--study", "again")
    counts = [
        (
            Judgement.objects.filter(response__unit__task__study=study).count(),
            Box.objects.filter(judgement__response__unit__task__study=study).count(),
            Unit.objects.filter(task__study=study).count(),
        )
        for study in Study.objects.order_by("pk")
    ]
    assert counts == [(39, 4, 5)] * 2
    assert scores("visage") == scores("again")
    assert "Mexican" in scores("again")


def shown(study: Study, *images, version: int = 1) -> None:
    """Every image is judged once, in a task of its own image set."""
    task = factories.task(
        study, kind=TaskKind.DEPICTION, image_set=images[0].image_set, strata=["any"], version=version
    )
    for image in images:
        factories.response(factories.page_unit(task, picture=image), values=[1, 0, 0, 0, 0])


def rated(study: Study) -> None:
    task = factories.task(study, strata=("origin: Asia", "origin: EMEA", "origin: North America"))
    unit = factories.attribute_unit(task, "hat")
    for value in (5, 3, 1):
        factories.response(unit, values=[value])


def picture(group: str, index: int, reference: str = "", image_set: str = "first"):
    named = {"reference": reference} if reference else {"reference": "", "file": f"images/{'b0d7' * 16}.png"}
    return factories.image(
        group_name=group, index=index, image_set=factories.image_set(image_set), sha256="0" * 64, **named
    )


def there_and_back(study: Study, folder) -> Study:
    """The study as it is imported from its export, of which another export has the same files."""
    first = written(study, "visage", folder / "first")
    import_visage(first, "--study", "back")
    back = Study.objects.get(name="back")
    second = written(back, "visage", folder / "second")
    for name in (*RELEASED, "ImageAnnotations.csv", "left_out.csv"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    return back


def names(study: Study) -> list[str]:
    rows = csv.DictReader(unpacked(study, "visage")["ImageAnnotations.csv"].decode().splitlines())
    return list(dict.fromkeys(row["img_path"] for row in rows))


def test_visage_takes_no_file_for_an_image_of_a_group_that_the_file_only_seems_to_name(tmp_path):
    """The name of a stored file is a hash: `b0d7….png` looks like number 7 of a group `b0d`."""
    study = factories.study()
    shown(study, picture("Mexican", 5), picture("French", 2, "Danish2.png"), picture("Danish", 4, "2.png"))
    rated(study)
    assert names(study) == ["Mexican5.png", "French2.png", "Danish4.png"]
    groups = set(IdentityGroup.objects.values_list("name", flat=True))
    back = there_and_back(study, tmp_path)
    assert set(IdentityGroup.objects.values_list("name", flat=True)) == groups
    pairs = back.tasks.get(kind=TaskKind.DEPICTION).units.values_list("image__group__name", "image__index")
    assert set(pairs) == {("Mexican", 5), ("French", 2), ("Danish", 4)}


def test_visage_gives_images_of_two_sets_different_names(tmp_path):
    study = factories.study()
    first = [picture("Mexican", 1), picture("Mexican", 2), picture("Area", 51), picture("Area 5", 1)]
    second = [
        picture("Mexican", 1, "Mexican1.png", "second"),  # the name is its own, so the other gets a new one
        picture("Mexican", 2, image_set="second"),
        picture("Area 5", 1, "Area 51.png", "second"),
    ]
    shown(study, *first)
    shown(study, *second, version=2)
    rated(study)
    assert names(study) == [
        "Mexican3.png",
        "Mexican2.png",
        "Area51.png",
        "Area 5100000.png",
        "Mexican1.png",
        "Mexican4.png",
        "Area 5100001.png",
    ]
    listed = list(csv.DictReader(unpacked(study, "visage")["images.csv"].decode().splitlines()))
    which = {row["img_path"]: (row["image_set"], row["identity"], row["index"]) for row in listed}
    assert which["Mexican3.png"] == ("first", "Mexican", "1")
    assert which["Area 5100001.png"] == ("second", "Area 5", "1")
    back = there_and_back(study, tmp_path)
    groups = back.tasks.get(kind=TaskKind.DEPICTION).units.values_list("image__group__name", flat=True)
    assert sorted(groups) == ["Area", "Area 5", "Area 5", *["Mexican"] * 4]
    # whatever is left out, an image keeps its name
    rows = unpacked(study, "visage", group="Area 5")["ImageAnnotations.csv"].decode()
    assert {line.split(",")[1] for line in rows.splitlines()[1:]} == {"Area 5100000.png", "Area 5100001.png"}


@pytest.mark.parametrize("name", ["1990s", "Either/Or"])
def test_visage_refuses_a_group_that_cannot_be_read_back(name):
    study = factories.study()
    shown(study, picture(name, 1), picture("Mexican", 1))
    with pytest.raises(ExportRefused, match=f"'{name}' cannot be read back"):
        unpacked(study, "visage")
    assert "Mexican1.png" in unpacked(study, "visage", group="Mexican")["ImageAnnotations.csv"].decode()


@pytest.mark.parametrize(("fmt", "kind"), [("visage", TaskKind.DEPICTION), ("seegull", TaskKind.PREVALENCE)])
def test_groups_of_one_name_on_two_axes_are_refused_where_only_names_are_told(fmt, kind):
    study = factories.study()
    country, state = (
        IdentityGroup.objects.create(name="Georgian", demonym="Georgian", axis=axis)
        for axis in (Axis.NATIONALITY, Axis.US_STATE)
    )
    if kind == TaskKind.DEPICTION:
        images = [picture("Mexican", 1), picture("Mexican", 2)]
        for image, group in zip(images, (country, state), strict=True):
            image.group = group
            image.save()
        shown(study, *images)
    else:
        task = factories.task(study, kind=kind)
        for group in (country, state):
            association = Association.objects.create(
                source=factories.source(),
                group=group,
                attribute=factories.attribute("wine"),
                in_stereotypical=0,
                in_nonstereotypical=0,
                in_unsure=0,
            )
            factories.response(association_unit(task, association), values=[1])
    with pytest.raises(ExportRefused, match="'Georgian' is an identity group on two axes"):
        unpacked(study, fmt)
    rows = csv.DictReader(unpacked(study, "csv")["annotations.csv"].decode().splitlines())
    assert {(row["axis"], row["identity"]) for row in rows} == {
        ("nationality", "Georgian"),
        ("us_state", "Georgian"),
    }


@pytest.mark.parametrize("fmt", ["visage", "crowdkit", "labelstudio"])
def test_an_attribute_called_none_of_the_above_is_refused_where_it_would_be_taken_for_that(fmt):
    study = factories.study()
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
    texts = ("hat", "none of the above")
    factories.response(factories.page_unit(task, picture=factories.image(), texts=texts))
    with pytest.raises(ExportRefused, match="An attribute is called 'none of the above'"):
        unpacked(study, fmt)


def test_sheets_of_the_same_answers_are_the_same_bytes():
    """A sheet says when it was made, to the second."""
    study = depiction()
    rated(study)
    first, second = unpacked(study, "visage"), unpacked(study, "visage")
    for name in RELEASED:
        assert first[name] == second[name]
        with zipfile.ZipFile(io.BytesIO(first[name])) as sheet:
            assert b">1980-01-01T00:00:00Z</dcterms:created>" in sheet.read("docProps/core.xml")


def test_visage_as_csv_holds_the_same_rows_as_the_sheet(released, tmp_path):
    folder = written(released, "visage", tmp_path / "again")
    sheet = load_workbook(folder / RELEASED[1])["full_set_annotations"]
    rows = [list(row) for row in sheet.iter_rows(values_only=True)]
    assert list(csv.reader((folder / "ImageAnnotations.csv").read_text().splitlines())) == rows
    assert rows[0] == list(release_files.ANNOTATIONS_HEADER)
    assert rows[1] == ["A0", "Mexican5.png", "sombrero", "yes", "['10.5,20.0', '110.25,220.0']"]


def test_visage_of_a_live_study_can_be_imported(tmp_path):
    study = depiction()
    task = factories.task(study, strata=("origin: Asia", "origin: Europe", "origin: North America"))
    whole, partly = factories.attribute_unit(task, "hat"), factories.attribute_unit(task, "=kind")
    for value in (5, 3, 1):
        factories.response(whole, values=[value])
    factories.response(partly, values=[5])
    folder = written(study, "visage", tmp_path / "live")
    pages = read_annotations(folder / RELEASED[1]).rows
    assert [(page.worker, page.image, len(page.answers)) for page in pages] == [
        ("unit 1", "Mexican5.png", 2),
        ("unit 2", "French2.png", 1),
    ]
    assert pages[0].answers[0].boxes[0] == (40, 20, 140, 70)
    (rated,) = read_attributes(folder / RELEASED[0]).rows
    assert (rated.attribute, rated.scores) == ("hat", (5, 3, 1))
    assert (folder / "left_out.csv").read_text().splitlines() == ["attribute,unit", "'=kind,2"]


def test_a_sheet_keeps_every_character_that_xml_can_hold(tmp_path):
    study = factories.study()
    task = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
    texts = ('a <b> & "c"', "=1+1", "ünïcödé 🙂", "tab\x0bhere")
    factories.response(factories.page_unit(task, picture=factories.image(), texts=texts))
    folder = written(study, "visage", tmp_path / "odd")
    rows = load_workbook(folder / RELEASED[1])["full_set_annotations"].iter_rows(min_row=2)
    cells = [row[2] for row in rows]
    assert [cell.value for cell in cells][:4] == ['a <b> & "c"', "=1+1", "ünïcödé 🙂", "tabhere"]
    assert {cell.data_type for cell in cells} == {"s"}


def test_more_rows_than_a_sheet_holds_are_refused_and_nothing_is_left(released, tmp_path, monkeypatch):
    monkeypatch.setattr("annotation.exports.packing.MAX_ROWS", 3)
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(CommandError, match="more rows than an Excel sheet can hold"):
        call_command("export", "visage", format="visage", out=out / "again")
    assert list(out.iterdir()) == []


def association_unit(task, association) -> Unit:
    unit = Unit.objects.create(task=task, position=task.units.count() + 1, association=association)
    Option.objects.create(unit=unit, attribute=association.attribute, role=OptionRole.STIMULUS, position=1)
    factories.open_slots(unit)
    return unit


def prevalence() -> Study:
    """Votes on one association by two who reside there, one of its diaspora, one of neither; ratings."""
    study = factories.study("votes")
    factories.group("Mexican", region="Latin America")
    association = factories.association(text="sombrero")
    asked = association_unit(factories.task(study, kind=TaskKind.PREVALENCE, strata=["any"] * 4), association)
    for value, profile in (
        (1, {"residence": "Latin America"}),
        (0, {"residence": "latin america"}),
        (1, {"identity_region": "Latin America", "residence": "North America"}),
        (-1, {"residence": "Europe"}),
    ):
        factories.response(asked, values=[value], who=factories.annotator(profile=profile))
    rated = association_unit(factories.task(study, kind=TaskKind.OFFENSIVENESS), association)
    for value in (-1, 0, 2):
        factories.response(rated, values=[value])
    return study


def test_seegull_has_the_votes_of_each_pool_and_is_read_back(tmp_path):
    path = written(prevalence(), "seegull", tmp_path / "votes.csv")
    (row,) = read_associations(path, states=False).rows
    assert (row.identity, row.attribute) == ("Mexican", "sombrero")
    assert (row.in_votes, row.out_votes) == ((1, 1, 0), (1, 0, 0))
    assert (row.ratings, row.mean) == ((-1, 2), 0.5)
    (cells,) = csv.DictReader(path.read_text().splitlines())
    assert [cells[name] for name in ("other_stereo", "other_nonstereo", "other_unsure")] == ["0", "0", "1"]
    call_command("import_seegull", path, "--source", "ours")
    call_command("import_seegull", path, "--source", "ours")


def test_seegull_gives_back_names_that_a_spreadsheet_would_run(tmp_path):
    """An apostrophe goes before them in the file, and is taken away again; one that was there stays."""
    study = factories.study()
    task = factories.task(study, kind=TaskKind.PREVALENCE)
    texts = ("=kind", "+1", "-x", "@home", "'=was", "''=twice", "'tis", "kind")
    for group in ("=Mexican", "'Mexican"):
        for text in texts:
            factories.response(
                association_unit(task, factories.association(group_name=group, text=text)), values=[1]
            )
    path = written(study, "seegull", tmp_path / "votes.csv")
    with path.open(newline="") as file:
        cells = [row["attribute"] for row in csv.DictReader(file)]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    read = {(row.identity, row.attribute) for row in read_associations(path, states=False).rows}
    assert read == {(group, text) for group in ("=Mexican", "'Mexican") for text in texts}


@pytest.mark.parametrize(("pool", "votes"), [("in", 2), ("out", 1), ("", 4)])
def test_answers_of_one_pool_can_be_taken_alone(pool, votes):
    rows = unpacked(prevalence(), "csv", task="prevalence", pool=pool)["annotations.csv"].decode()
    assert len(rows.splitlines()) == votes + 1


def test_crowdkit_has_a_label_for_each_worker_and_task():
    rows = list(csv.DictReader(unpacked(depiction(), "crowdkit")["crowdkit.csv"].decode().splitlines()))
    assert list(rows[0]) == ["task", "worker", "label"]
    assert rows[0] == {"task": "depiction/1/1/hat", "worker": "a-one", "label": "Depicted"}
    assert len(rows) == 15
    assert len({(row["task"], row["worker"]) for row in rows}) == 15


def test_how_biased_an_association_is_stands_in_the_tables_that_hold_every_kind():
    study = factories.study("bias")
    factories.group("old")
    unit = association_unit(
        factories.task(study, kind=TaskKind.ASSOCIATION), factories.association(group_name="old", text="slow")
    )
    for value in (4, 0):
        factories.response(unit, values=[value])
    rows = csv.DictReader(unpacked(study, "csv")["annotations.csv"].decode().splitlines())
    assert [(row["task"], row["stimulus"], row["value"], row["label"]) for row in rows] == [
        ("association", "old: slow", "4", "Highly biased"),
        ("association", "old: slow", "0", "Unsure"),
    ]
    labels = csv.DictReader(unpacked(study, "crowdkit")["crowdkit.csv"].decode().splitlines())
    assert [row["label"] for row in labels] == ["Highly biased", "Unsure"]
    with pytest.raises(ExportRefused, match="prevalence and offensiveness tasks only"):
        unpacked(study, "seegull", task="association")


def test_crowdkit_counts_answers_of_nobody_known_as_workers_of_their_own(released):
    rows = list(csv.DictReader(unpacked(released, "crowdkit")["crowdkit.csv"].decode().splitlines()))
    assert len({row["worker"] for row in rows}) == Response.objects.count()


@pytest.mark.parametrize(("fmt", "task"), [("visage", "prevalence"), ("seegull", "visual_nature")])
def test_a_task_that_the_release_has_not_is_refused(tmp_path, fmt, task):
    study = prevalence()
    factories.task(study)
    with pytest.raises(CommandError, match=f"tasks only, not to '{task}'"):
        call_command("export", study.name, format=fmt, task=task, out=tmp_path / "x")
