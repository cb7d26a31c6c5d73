"""manage.py import_visage: what is in the database afterwards, or still not."""

import json
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from annotation.models import (
    Attribute,
    Box,
    IdentityGroup,
    Image,
    ImageSet,
    Judgement,
    Option,
    OptionRole,
    Pool,
    Response,
    Slot,
    SlotState,
    Source,
    Study,
    StudyStatus,
    Task,
    TaskKind,
    Unit,
)
from tests import factories
from tests.annotation.imports import release_files
from tests.annotation.imports.release_files import block, page

pytestmark = pytest.mark.django_db

TABLES = (
    Source,
    IdentityGroup,
    Attribute,
    ImageSet,
    Image,
    Study,
    Task,
    Unit,
    Option,
    Slot,
    Response,
    Judgement,
    Box,
)


def everything() -> dict[str, list]:
    """All rows that the importer may touch."""
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in TABLES}


def imported(tmp_path, *more: str, attribute_rows=None, annotation_rows=None) -> None:
    attributes = release_files.attributes(tmp_path, rows=attribute_rows or release_files.ATTRIBUTE_ROWS)
    annotations = release_files.annotations(tmp_path, rows=annotation_rows or release_files.ANNOTATION_ROWS)
    call_command("import_visage", "--attributes", attributes, "--annotations", annotations, *more)


def test_the_study_is_closed_and_has_the_published_rule(tmp_path):
    imported(tmp_path)
    study = Study.objects.get()
    assert (study.name, study.status, study.simulated) == ("visage", StudyStatus.CLOSED, False)
    assert study.stereotype_source is not None
    assert study.stereotype_source.name == "seegull-v2"
    assert (study.stereotype_pool, study.stereotype_threshold) == (Pool.OUT_REGION, 2)
    assert study.visual_rule is None
    assert "SHA-256" in study.description
    assert {task.kind for task in study.tasks.all()} == {TaskKind.VISUAL_NATURE, TaskKind.DEPICTION}
    assert all(task.frozen_at for task in study.tasks.all())


def test_an_image_of_another_set_by_the_same_name_is_not_shown(tmp_path):
    other = factories.image()
    Image.objects.filter(pk=other.pk).update(reference="Mexican5.png")
    imported(tmp_path)
    assert not other.units.exists()
    assert Unit.objects.filter(image__reference="Mexican5.png").exists()


def test_visual_nature_has_a_unit_for_each_row_and_an_answer_for_each_origin(tmp_path):
    imported(tmp_path)
    units = Unit.objects.filter(task__kind=TaskKind.VISUAL_NATURE).order_by("position")
    assert [(u.position, u.attribute.text, u.repeat) for u in units] == [
        (1, "sombrero", 0),
        (2, "poor", 0),
        (3, "sombrero", 1),
    ]
    said = Judgement.objects.filter(response__unit=units[1]).order_by("response__slot__index")
    assert [(j.response.slot.stratum, j.value, j.option.role) for j in said] == [
        ("origin: Asia", 4, OptionRole.STIMULUS),
        ("origin: EMEA", 2, OptionRole.STIMULUS),
        ("origin: North America", 3, OptionRole.STIMULUS),
    ]
    assert all(j.option.attribute_id == units[1].attribute_id for j in said)


def test_depiction_has_a_unit_for_each_page_with_its_answers_and_boxes(tmp_path):
    imported(tmp_path)
    unit = Unit.objects.get(task__kind=TaskKind.DEPICTION, position=1)
    assert (unit.image.reference, unit.image.index, unit.image.group.name) == ("Mexican5.png", 5, "Mexican")
    assert (unit.image.width, unit.image.image_set.name) == (512, "visage-release")
    assert (unit.page, unit.source_name) == (1, "A0")
    options = list(unit.options.order_by("position").values_list("attribute__text", "role", "position"))
    assert options == [
        ("sombrero", OptionRole.UNASSIGNED, 1),
        ("poor", OptionRole.UNASSIGNED, 2),
        ("fun", OptionRole.UNASSIGNED, 3),
        ("tall", OptionRole.UNASSIGNED, 4),
        (None, OptionRole.NONE_OF_ABOVE, 5),
    ]
    answers = unit.responses.order_by("slot__index")
    assert [list(a.judgements.order_by("position").values_list("value", flat=True)) for a in answers] == [
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [1, 0, 0, 1, 0],
    ]
    box = Box.objects.get(judgement__response=answers[0])
    assert (box.x0, box.y0, box.x1, box.y1) == (10.5, 20, 110.25, 220)
    assert (box.image_width, box.image_height) == (512, 512)
    assert box.judgement.option.attribute.text == "sombrero"
    assert Box.objects.count() == 4


def test_nobody_is_named_and_no_slot_is_left_open(tmp_path):
    imported(tmp_path, annotation_rows=[*page(), *block("A1", "French1.png")])
    assert set(Slot.objects.values_list("state", "annotator")) == {(SlotState.FILLED, None)}
    assert set(Response.objects.values_list("annotator", "current", "revision")) == {(None, True, 1)}
    assert Slot.objects.filter(unit__source_name="A1").count() == 1
    assert Response.objects.filter(slot=None).count() == 0
    assert Response.objects.count() == Slot.objects.count() == 3 * 3 + 3 + 1


def test_a_second_run_changes_nothing_and_says_so(tmp_path, capsys):
    imported(tmp_path)
    given = Response.objects.first()
    assert given is not None
    # what was said before a correction, and an answer too many, are not what the study says
    for differs in ({"current": False, "revision": 2}, {"slot": None}):
        same = {"unit": given.unit, "slot": given.slot, "task_version": given.task_version}
        Response.objects.create(**same | {"client_key": uuid4()} | differs)
    before = everything()
    capsys.readouterr()
    imported(tmp_path)
    assert everything() == before
    out = capsys.readouterr().out
    assert "Nothing to do" in out
    assert "30 rows read = 30 stored + 0 not stored" in out


@pytest.mark.parametrize(
    ("attribute_rows", "annotation_rows", "said"),
    [
        (release_files.ATTRIBUTE_ROWS[:2], None, "Visual Attributes_.xlsx, first in unit 3 of its visual"),
        (
            [*release_files.ATTRIBUTE_ROWS, release_files.ATTRIBUTE_ROWS[1]],
            None,
            "first in unit 4 of its visual",
        ),
        (
            None,
            [*page("A0"), *page("A2", "French2.png")],
            "Annotations.xlsx, first in unit 2 of its what",
        ),
        (None, [*page("A0"), *page("A1", "French3.png")], "unit 2 of its what"),
        (None, [*page("A0"), *page("A1", "French2.png")[:10]], "unit 2 of its what"),
        (
            None,
            [*block(yes={"sombrero": "['1,1', '9,9']"}), *page()[5:], *page("A1", "French2.png")],
            "unit 1 of its what",
        ),
    ],
)
def test_other_files_over_an_imported_study_are_refused(tmp_path, attribute_rows, annotation_rows, said):
    imported(tmp_path)
    before = everything()
    with pytest.raises(CommandError, match=rf"{said}.*Nothing was changed.*--study NAME"):
        imported(tmp_path, attribute_rows=attribute_rows, annotation_rows=annotation_rows)
    assert everything() == before


def test_other_files_may_be_imported_under_another_name_beside_it(tmp_path, capsys):
    imported(tmp_path)
    imported(tmp_path, "--study", "visage-2", annotation_rows=page("A7", "Mexican5.png"))
    imported(tmp_path)
    assert "Nothing to do" in capsys.readouterr().out, "what the other study holds is no change"
    first, second = Study.objects.order_by("name")
    assert (first.name, second.name) == ("visage", "visage-2")
    assert (first.title, second.title) == ("ViSAGe (released annotations)", "ViSAGe (visage-2)")
    assert Image.objects.count() == 2


def test_a_study_that_somebody_made_is_not_touched(tmp_path):
    Study.objects.create(name="visage", title="Ours")
    before = everything()
    with pytest.raises(CommandError, match="The study 'visage' exists already"):
        imported(tmp_path)
    assert everything() == before


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"sheet": "Sheet9"}, "there is no sheet 'full_set_annotations'"),
        ({"header": ("worker", "img_path", "attribute", "present", "coords")}, "no column 'worker_id'"),
        ({"rows": [*page(), *page()[:4]]}, "row 17: the last page has only 4 rows"),
        ({"rows": [*page()[:1], *page()]}, "row 2, column 'attribute': 'sombrero' appears twice"),
        ({"rows": [*page(), *block(yes={"fun": "here"})]}, "row 19, column 'coords'"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_database_as_it_was(tmp_path, fault, said):
    attributes = release_files.attributes(tmp_path)
    annotations = release_files.annotations(tmp_path, **fault)
    with pytest.raises(CommandError, match=f"Image Annotations.xlsx.*{said}"):
        call_command("import_visage", "--attributes", attributes, "--annotations", annotations)
    assert not any(everything().values())


def test_an_import_that_breaks_off_half_way_leaves_nothing(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError("no space left on device")

    monkeypatch.setattr("annotation.imports.services.visage._box", full)
    with pytest.raises(OSError, match="no space left"):
        imported(tmp_path)
    assert not any(everything().values())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--annotations", "x.xlsx"], "'Visual Attributes_.xlsx' with --attributes, or add --download"),
        (["--attributes", "x.xlsx"], "'Image Annotations.xlsx' with --annotations, or add --download"),
        (["--study", "a b"], "letters, digits, - and _"),
        (["--study", "a" * 81], "has 81 characters; a name has at most 80"),
        (["--report", "/"], "Name a file in a folder that exists"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command("import_visage", *arguments)


def test_the_report_says_where_every_row_went(tmp_path):
    report = tmp_path / "report.json"
    imported(tmp_path, "--report", report, annotation_rows=[*page(), ["A0", "", "", "yes", "[nan, nan]"]])
    content = json.loads(report.read_text())
    _, annotations = content["files"]
    assert (annotations["rows_read"], annotations["rows_stored"], annotations["rows_not_stored"]) == (
        16,
        15,
        1,
    )
    assert sum(oddity["rows_not_stored"] for oddity in content["oddities"]) == 1
    assert content["created"]["judgements"] == 9 + 15


def test_the_number_of_queries_grows_with_chunks_and_not_with_rows(tmp_path, django_assert_max_num_queries):
    rows = [row for number in range(1, 61) for row in page("A0", f"Mexican{number}.png")]
    with django_assert_max_num_queries(60):
        imported(tmp_path, annotation_rows=rows)
    assert Response.objects.count() == 9 + 180
