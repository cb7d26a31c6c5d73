"""How each annotator works: what a lead is told, and in how many queries."""

import csv
import io
import re
from datetime import timedelta

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    Annotator,
    Enrolment,
    EnrolmentStatus,
    Judgement,
    Purpose,
    Response,
    TaskKind,
)
from metrics.quality.queries import annotators as pages
from metrics.quality.queries.work import AnnotatorWork, WorkCount
from tests import factories
from tests.metrics.cast import depiction_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


def rated(said: dict[str, list[int]], *, milliseconds=None, **fields):
    """A study of visual nature in which everybody rates every attribute."""
    study = factories.study("small", **fields)
    task = factories.task(study, strata=["any"] * len(said))
    people = {name: factories.annotator(pseudonym=name) for name in said}
    factories.attribute_units(task, len(next(iter(said.values()))))
    factories.responses(
        (unit, [values[place]], people[name])
        for place, unit in enumerate(task.units.order_by("position"))
        for name, values in said.items()
    )
    for name, who in people.items():
        active = (milliseconds or {}).get(name, 3000)
        Response.objects.filter(annotator=who).update(active_ms=active, idle_ms=500)
    return study


def rows_of(study, sort="who"):
    return {row.annotator.pseudonym: row for row in pages.current_rows(study, sort=sort, descending=False)}


def check(study, who, right, purpose=Purpose.GOLD):
    """Somebody answers one more check, as expected or not."""
    task = study.tasks.get()
    unit = factories.attribute_unit(task, purpose=purpose)
    unit.options.update(expected=[5])
    response = factories.response(unit, values=[5 if right else 1], who=who)
    Response.objects.filter(pk=response.pk).update(slot=None)


ALIKE = [5, 4, 2, 1, 5] * 4


def test_the_middle_answer_counts_and_idle_time_is_counted_apart():
    study = rated({"a": [5, 4, 2], "b": [5, 4, 2]})
    for place, response in enumerate(Response.objects.filter(annotator__pseudonym="a").order_by("pk")):
        Response.objects.filter(pk=response.pk).update(active_ms=[1000, 9000, 2000][place], idle_ms=place)
    work = rows_of(study)["a"].work
    assert (work.answers, work.seconds, work.idle) == (3, 2, 0.001)
    # everybody: 1, 2, 3, 3, 3, 9 seconds
    assert work.usual == 3
    Response.objects.filter(annotator__pseudonym="a", active_ms=9000).update(active_ms=None)
    cache.clear()
    assert rows_of(study)["a"].work.seconds == 1.5


def test_agreement_is_with_the_others_in_the_items_they_share():
    work = rows_of(rated({"a": [5, 4, 2], "b": [5, 4, 1], "c": [1, 4, 1]}))["a"].work
    # with b on the first two, with c on the second
    assert (work.same, work.pairs) == (3, 6)
    assert work.share == 0.5


def test_checks_are_gold_items_and_attention_checks_and_count_nowhere_else():
    study = rated({"a": [5, 4], "b": [5, 4]})
    who = rows_of(study)["a"].annotator
    check(study, who, True)
    check(study, who, False, purpose=Purpose.ATTENTION)
    cache.clear()
    row = rows_of(study)["a"]
    assert (row.right, row.checked, row.accuracy, row.work.answers) == (1, 2, 0.5, 2)
    assert row.flags == ()
    check(study, who, True, purpose=Purpose.ATTENTION)
    assert rows_of(study)["a"].checked == 3


def test_checks_and_enrolments_of_other_studies_and_checks_that_do_not_stand_do_not_count():
    study, other = rated({"a": [5, 4], "b": [5, 4]}), factories.study("other")
    factories.task(other)
    who = rows_of(study)["a"].annotator
    factories.enrolment(other, who=who, status=EnrolmentStatus.WITHDRAWN)
    check(other, who, False)
    for _ in range(3):
        check(study, who, True)
    row = rows_of(study)["a"]
    assert (row.enrolment, row.right, row.checked) == (None, 3, 3)
    first, second, _ = Response.objects.filter(unit__task__study=study, unit__purpose=Purpose.GOLD)
    Response.objects.filter(pk=first.pk).update(withdrawn_at=timezone.now())
    assert rows_of(study)["a"].checked == 2
    Response.objects.filter(pk=second.pk).update(current=False)
    assert rows_of(study)["a"].checked == 1


@pytest.mark.parametrize(("answers", "fast"), [(9, False), (10, True)])
def test_ten_answers_are_enough_to_be_called_fast(answers, fast):
    said = dict.fromkeys(("a", "b", "c", "odd"), ALIKE[:answers])
    assert ("fast" in rows_of(rated(said, milliseconds={"odd": 999}))["odd"].flags) is fast


def test_nineteen_of_twenty_are_nearly_always():
    assert "same" in rows_of(rated({"a": ALIKE, "b": ALIKE, "odd": [5] * 19 + [1]}))["odd"].flags


def test_nearly_always_none_of_the_above_is_the_same_answer_too():
    def flags(**said):
        return pages.QualityRow(Annotator(), None, AnnotatorWork(1, **said), 0, 0).flags

    assert flags(none=19, offered=20) == ("same",)
    assert flags(none=18, offered=20) == flags(none=19, offered=19) == ()


@pytest.mark.parametrize(
    ("status", "may"), [("", False), ("qualified", True), ("blocked", False), ("screened_out", False)]
)
def test_who_takes_part_may_be_blocked(status, may):
    enrolment = Enrolment(status=status) if status else None
    assert pages.QualityRow(Annotator(), enrolment, AnnotatorWork(1), 0, 0).may_be_blocked is may


def test_a_count_takes_a_twentieth_of_the_time():
    counted = WorkCount({}, {}, 0, "", timezone.now(), seconds=3)
    assert [counted.may_recount(now=counted.counted_at + timedelta(seconds=later)) for later in (59, 60)] == [
        False,
        True,
    ]


def test_every_number_has_its_own_cell():
    work = AnnotatorWork(1, 2, 3.0, 4.0, 5.0, 6, 12, 3.0, 13, 14, 15, 16)
    row = pages.QualityRow(Annotator(pseudonym="a-1", simulated=True), None, work, 7, 8)
    [cells] = pages.csv_rows([row])
    assert dict(zip(pages.CSV_COLUMNS, cells, strict=True)) == {
        "annotator": "a-1",
        "simulated": "yes",
        "status": "",
        "answers": 2,
        "median_active_s": 3,
        "usual_active_s": 4,
        "median_idle_s": 5,
        "agreement": 0.5,
        "agreement_by_chance": 0.25,
        "pairs": 12,
        "checks_right": 7,
        "checks": 8,
        "none_of_above": 13,
        "none_of_above_offered": 14,
        "most_frequent": 15,
        "rated": 16,
        "flags": "",
    }


def test_none_of_the_above_is_a_share_of_pages():
    rows = rows_of(depiction_study())
    found = sorted((row.work.none, row.work.offered) for row in rows.values())
    assert found == [(1, 4), (1, 4), (4, 4)]
    assert {row.work.most for row in rows.values()} == {None}


def test_withdrawn_replaced_and_surplus_answers_do_not_count():
    study = rated({"a": [5, 4, 2, 1], "b": [5, 4, 2, 1]})
    first, second, third, _ = Response.objects.filter(annotator__pseudonym="a").order_by("pk")
    Response.objects.filter(pk=first.pk).update(withdrawn_at=timezone.now())
    Response.objects.filter(pk=second.pk).update(current=False)
    Response.objects.filter(pk=third.pk).update(slot=None)
    work = rows_of(study)["a"].work
    assert (work.answers, work.pairs, work.rated) == (1, 1, 1)
    Response.objects.filter(annotator__pseudonym="a").update(withdrawn_at=timezone.now())
    assert "a" not in rows_of(study)


@pytest.mark.parametrize(
    ("said", "milliseconds", "flags"),
    [
        (ALIKE, 3000, ()),
        (ALIKE, 999, ("fast",)),
        (ALIKE, 1000, ()),
        ([1, 2, 4, 5, 2] * 4, 3000, ("alone",)),
        ([5] * 20, 3000, ("alone", "same")),
    ],
)
def test_what_is_marked_is_what_there_is_reason_to_look_at(said, milliseconds, flags):
    study = rated({"a": ALIKE, "b": ALIKE, "c": ALIKE, "odd": said}, milliseconds={"odd": milliseconds})
    rows = rows_of(study)
    assert rows["odd"].flags == flags
    assert rows["a"].flags == ()


def test_failed_checks_are_marked_from_two_on():
    study = rated({"a": [5], "b": [5]})
    who = rows_of(study)["a"].annotator
    check(study, who, False)
    assert rows_of(study)["a"].flags == ()
    check(study, who, False)
    assert rows_of(study)["a"].flags == ("checks",)


def test_a_few_answers_are_no_reason_to_mark_anybody():
    study = rated({"a": [5, 4, 2], "odd": [1, 1, 1]}, milliseconds={"odd": 10})
    assert rows_of(study)["odd"].flags == ()


def test_simulated_bad_annotators_are_found_and_good_ones_are_not():
    rng = np.random.default_rng(4)
    truth = rng.choice([1, 2, 4, 5], 60)
    said = {
        f"good-{n}": np.where(rng.random(60) < 0.8, truth, rng.choice([1, 2, 4, 5], 60)).tolist()
        for n in range(4)
    }
    said["random"] = rng.permutation(truth)[::-1].tolist()
    said["opposed"] = [{1: 5, 2: 4, 4: 2, 5: 1}[value] for value in truth.tolist()]
    found = {name for name, row in rows_of(rated(said)).items() if row.flags}
    assert "opposed" in found
    assert not {name for name in found if name.startswith("good")}


def page(client, lead, study, **query):
    client.force_login(lead)
    answer = client.get(reverse("quality", args=[study.name]), query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.text)


def test_the_page_says_that_disagreement_is_data_and_leads_to_blocking(client, lead):
    study = rated({"a": ALIKE, "b": ALIKE, "odd": [5] * 20}, leads=[lead])
    enrolment = factories.enrolment(study, who=rows_of(study)["odd"].annotator)
    text = page(client, lead, study)
    assert "Disagreement is data, not error" in text
    assert "3 annotators. 1 flagged." in text
    assert reverse("person_action", args=["small", enrolment.pk, "block"]) in text
    assert text.index("<code>odd</code>") < text.index("<code>a</code>"), "what is marked comes first"
    enrolment.status = EnrolmentStatus.BLOCKED
    enrolment.save()
    assert reverse("person_action", args=["small", enrolment.pk, "block"]) not in page(client, lead, study)


def test_every_column_can_be_sorted_both_ways_and_undefined_comes_last(client, lead):
    study = rated({"a": ALIKE, "b": ALIKE, "odd": [5] * 20}, leads=[lead])
    check(study, rows_of(study)["b"].annotator, True)
    for column in pages.COLUMNS:
        for way in ("asc", "desc"):
            assert "<code>odd</code>" in page(client, lead, study, sort=column, dir=way)
    for descending in (True, False):
        rows = pages.current_rows(study, sort="checks", descending=descending)
        assert rows[0].annotator.pseudonym == "b"
    assert "<code>odd</code>" in page(client, lead, study, sort="nothing", page="x")


def test_many_annotators_are_shown_a_page_at_a_time(client, lead, monkeypatch):
    monkeypatch.setattr(pages, "PER_PAGE", 2)
    study = rated({name: [5, 4] for name in "abc"}, leads=[lead])
    first = page(client, lead, study, sort="who")
    assert "Page 1 of 2" in first
    assert re.findall("<code>(.)</code>", first) == ["a", "b"]
    assert "<code>c</code>" in page(client, lead, study, sort="who", page="2")
    assert "<code>c</code>" in page(client, lead, study, sort="who", page="99999999999")


def test_answers_that_name_nobody_are_counted_and_stand_in_no_row(client, lead):
    study = factories.study("small", leads=[lead])
    assert "There are no counted answers of identified annotators" in page(client, lead, study)
    factories.response(factories.attribute_unit(factories.task(study)))
    assert "1 answer has no annotator" in page(client, lead, study)


def test_the_file_holds_everybody_and_nothing_that_a_spreadsheet_would_run(client, lead):
    rated({"=a": ALIKE, "odd": [5] * 20}, leads=[lead])
    client.force_login(lead)
    answer = client.get(reverse("quality_csv", args=["small"]), {"sort": "who"})
    first, second = csv.DictReader(io.StringIO(answer.text))
    assert (first["annotator"], second["annotator"]) == ("'=a", "odd")
    assert (second["flags"], second["most_frequent"], second["rated"]) == ("alone same", "20", "20")
    assert float(first["agreement"]) == 8 / 20
    assert answer["Cache-Control"].startswith("max-age=0")


def test_queries_do_not_grow_with_annotators_and_answers(client, lead):
    counted = []
    study = rated({"a": [5], "b": [5]}, leads=[lead])
    task = study.tasks.get()
    client.force_login(lead)
    for more in (1, 5):
        for _ in range(more):
            unit = factories.attribute_unit(task)
            for _ in range(2):
                who = factories.annotator()
                factories.enrolment(study, who=who)
                factories.response(unit, values=[4], who=who)
                check(study, who, True)
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            client.get(reverse("quality", args=["small"]))
        counted.append(len(queries))
    assert counted[0] == counted[1]
    with CaptureQueriesContext(connection) as queries:
        client.get(reverse("quality", args=["small"]))
    assert len(queries) < counted[0], "the second time it is remembered"


def test_the_same_study_of_two_kinds_of_task_compares_speed_within_a_kind():
    study = rated({"a": [5] * 10, "b": [4] * 10}, milliseconds={"a": 9000, "b": 9000})
    task = factories.task(study, kind=TaskKind.DEPICTION, strata=("any",))
    who = rows_of(study)["a"].annotator
    for index in range(1, 13):
        factories.response(
            factories.page_unit(task, picture=factories.image(index=index)), who=who, active_ms=900
        )
    row = rows_of(study)["a"]
    assert (row.work.seconds, row.work.usual) == (0.9, 0.9)
    assert "fast" not in row.flags
    assert Judgement.objects.filter(response__annotator=who).count() == 10 + 12 * 5
