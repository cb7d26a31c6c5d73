"""Where an export or its list ends: the last row, the last name, the last one asked for."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.exports import packing, queries
from annotation.exports.formats.registry import FORMATS
from annotation.exports.forms import ExportForm
from annotation.exports.image_answers import _file_name
from annotation.exports.selection import STATUSES, ExportRefused, Filters, check_filters
from annotation.exports.services import jobs as export_jobs
from annotation.models import ExportJob, Purpose, Response, TaskKind
from tests import factories
from tests.annotation.exports.jobs_world import asked, words
from tests.annotation.exports.world import depiction, unpacked, written

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return factories.user("admin", admin=True)


def test_a_sheet_holds_as_many_rows_as_it_can_and_not_one_more(monkeypatch):
    monkeypatch.setattr(packing, "MAX_ROWS", 2)
    assert b"".join(packing.xlsx_sheet("a", [("x",), (1,)])).startswith(b"PK")
    with pytest.raises(ExportRefused, match="more rows"):
        list(packing.xlsx_sheet("a", [("x",), (1,), (2,)]))


def test_what_was_withdrawn_makes_no_study_large(monkeypatch):
    monkeypatch.setattr(queries, "LARGE", 14)
    study = depiction()
    assert queries.is_large(study)
    Response.objects.filter(pk=Response.objects.first().pk).update(withdrawn_at=timezone.now())
    assert not queries.is_large(study)


def test_the_newest_exports_are_listed_and_none_is_more_than_whole(admin, monkeypatch):
    monkeypatch.setattr(queries, "MAX_LISTED", 2)
    study = depiction()
    _, *newest = (asked(study, admin, fmt) for fmt in ("csv", "jsonl", "coco"))
    ExportJob.objects.update(rows=16, total=15)
    listed = queries.exports_of(admin, study)
    assert [(one.job, one.share) for one in listed] == [(job, 100) for job in reversed(newest)]


def test_a_listed_export_says_until_when_its_file_is_kept_and_what_can_be_done(admin, settings):
    settings.EXPORT_KEEP_DAYS = 3
    study, now = depiction(), timezone.now()
    ends = {"finished_at": now, "error": "gone"}
    for number, fields in enumerate(
        (
            {},
            {"state": JobState.CLAIMED, "claim": uuid4(), "lease_expires_at": now, "rows": 2, "total": 3},
            {
                "state": JobState.DONE,
                **ends,
                "file": "a",
                "sha256": "0" * 64,
                "size": 1,
                "rows": 3,
                "total": 3,
            },
            {"state": JobState.DONE, **ends, "total": 3},
            {"state": JobState.FAILED, **ends},
        )
    ):
        job = asked(study, admin, list(FORMATS)[number])
        ExportJob.objects.filter(pk=job.pk).update(**fields)
    asked(study, factories.user("other", admin=True))
    listed = [
        (one.expires_at, one.share, one.waiting, one.can_retry)
        for one in reversed(queries.exports_of(admin, study))
    ]
    assert listed == [
        (None, None, True, False),
        (None, 66, True, False),
        (now + timedelta(days=3), 100, False, False),
        (None, 0, False, True),
        (None, None, False, True),
    ]


def test_what_can_be_chosen_is_in_a_fixed_order_and_of_the_study_at_hand():
    study = depiction()
    study.tasks.update(strata=["any", "origin: Europe"], slot_strata=["origin: Asia"])
    factories.task(study, kind=TaskKind.PREVALENCE)
    factories.task(factories.study(), kind=TaskKind.OFFENSIVENESS)
    fields = ExportForm(study).fields
    offered = {
        name: [value for value, _ in fields[name].choices] for name in ("task", "stratum", "pool", "status")
    }
    assert offered == {
        "task": ["", "prevalence", "depiction"],
        "stratum": ["", "any", "origin: Asia", "origin: Europe"],
        "pool": ["", "in", "out"],
        "status": ["", "counted", "surplus"],
    }


def test_the_same_export_is_of_the_same_study_and_in_the_same_format(admin):
    study = depiction()
    assert len({asked(study, admin), asked(words(), admin), asked(study, admin, "coco")}) == 3


def test_one_export_is_made_where_one_was_asked_for(admin):
    study = depiction()
    first, second = asked(study, admin), asked(study, admin, "jsonl")
    assert export_jobs.make_pending(1) == 1
    states = [ExportJob.objects.get(pk=job.pk).state for job in (first, second)]
    assert states == [JobState.DONE, JobState.PENDING]


def test_an_export_that_is_made_again_tells_nothing_of_before(admin):
    job = asked(depiction(), admin)
    told = {"rows": 15, "total": 15, "size": 9, "sha256": "0" * 64, "error": "gone", "attempts": 1}
    ExportJob.objects.update(state=JobState.DONE, file="", finished_at=timezone.now(), **told)
    assert export_jobs.retry(job=job)
    again = ExportJob.objects.values(*told, "finished_at").get()
    assert list(again.values()) == [0, None, None, "", "", 0, None]


def test_what_lies_beside_an_export_is_not_replaced_either(tmp_path):
    study = depiction()
    beside = tmp_path / "table.csv.columns.md"
    beside.write_text("mine")
    with pytest.raises(FileExistsError, match="columns"):
        written(study, "csv", tmp_path / "table.csv")
    folder = written(study, "voc", tmp_path / "voc")
    with pytest.raises(FileExistsError, match="that no export made"):
        export_jobs.writing.write(study=study, fmt="csv", path=folder, by=None, overwrite=True)


def test_the_name_of_an_image_is_never_that_which_another_gets_from_its_number():
    taken: set[str] = set()
    names = [_file_name(name, key, taken) for key, name in ((1, "3-a.png"), (2, "a.png"), (3, "a.png"))]
    assert len(set(names)) == 3


def test_a_single_day_is_no_span_the_wrong_way_round():
    study = depiction()
    day = Response.objects.earliest("pk").submitted_at.date()
    check_filters(study, Filters(since=day, until=day))
    assert b"a-one" in unpacked(study, "jsonl", since=day, until=day)["annotations.jsonl"]


def test_answers_to_check_items_are_in_the_table_and_neither_counted_nor_surplus():
    study = factories.study()
    unit = factories.attribute_unit(factories.task(study), "hat")
    unit.task.units.update(purpose=Purpose.GOLD)
    Response.objects.filter(pk=factories.response(unit).pk).update(slot=None)
    (row,) = unpacked(study, "jsonl")["annotations.jsonl"].splitlines()
    told = json.loads(row)
    assert (told["surplus"], told["page"]) == (False, None)
    for status in STATUSES:
        assert unpacked(study, "jsonl", status=status)["annotations.jsonl"] == b""


def test_a_stratum_is_known_by_what_the_task_asks_for_and_by_what_its_slots_hold():
    study = depiction()
    study.tasks.update(strata=["in-region"], slot_strata=["residence: Europe"])
    for stratum in ("in-region", "residence: Europe"):
        check_filters(study, Filters(stratum=stratum))
    with pytest.raises(ExportRefused, match="in-region, residence: Europe"):
        check_filters(study, Filters(stratum="any"))


def test_groups_are_offered_that_the_study_shows_or_asks_about_and_no_others():
    study, other = depiction(), factories.study("other")
    for of, asked_about in ((study, "Nepali"), (other, "Thai")):
        pair = factories.association(group_name=asked_about)
        factories.task(of, kind=TaskKind.PREVALENCE).units.create(position=1, association=pair)
    task = factories.task(other, kind=TaskKind.DEPICTION, image_set=factories.image_set("elsewhere"))
    factories.page_unit(task, picture=factories.image(group_name="Lao", image_set=task.image_set))
    offered = [name for name, _ in ExportForm(study).fields["group"].choices]
    assert offered == ["", "French", "Mexican", "Nepali"]
