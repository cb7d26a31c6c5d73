"""Hours and exposure of each annotator: complete, under pseudonyms, without those who withdrew."""

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.audit import queries, services
from annotation.models import AuditEvent, Purpose, Response, Skip, Slot, TaskKind, Unit
from annotation.participation.services import withdrawals
from annotation.templatetags.durations import worked
from tests import factories

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead], texts=("a", "b", "c", "d", "e"))


def units(study):
    return list(study.tasks.earliest("pk").units.order_by("position"))


def answer(unit, who, *, day=0, **fields):
    at = DAY + timedelta(days=day)
    made = factories.response(
        unit, who=who, submitted_at=at, started_at=at, active_ms=fields.pop("active_ms", 3_600_000)
    )
    if fields:
        Response.objects.filter(pk=made.pk).update(**fields)
    return made


def skip(unit, who):
    return Skip.objects.create(
        unit=unit, annotator=who, client_key=f"00000000-0000-0000-0000-{unit.pk:012}", reason="other", at=DAY
    )


def only(study):
    (row,) = queries.hours_page(study)
    return row


def test_all_work_is_counted_and_each_kind_of_it_apart(study):
    who = factories.enrolment(study, consented=True, pseudonym="a-one").annotator
    data, surplus, gold, training, skipped = units(study)
    for unit, purpose in ((gold, Purpose.GOLD), (training, Purpose.TRAINING)):
        Unit.objects.filter(pk=unit.pk).update(purpose=purpose)
    first = answer(data, who, idle_ms=1_800_000)
    answer(surplus, who, day=1, slot=None)
    Slot.objects.filter(unit=surplus).update(state="open", annotator=None)
    answer(gold, who, day=1)
    answer(training, who)
    skip(skipped, who)
    Response.objects.filter(pk=first.pk).update(current=False)
    Response.objects.create(
        unit=data,
        slot=first.slot,
        annotator=who,
        client_key="00000000-0000-0000-0000-00000000ffff",
        task_version=1,
        revision=2,
        submitted_at=DAY + timedelta(days=2),
        active_ms=None,
    )
    row = only(study)
    assert (row.annotator, row.status, row.studies) == ("a-one", "qualified", 1)
    assert (row.answered, row.surplus, row.checks, row.training) == (2, 1, 1, 1)
    assert (row.revised, row.skipped, row.untimed) == (1, 1, 1)
    assert (row.active_hours, row.idle_hours) == (4.0, 0.5), "surplus, checks and training are paid too"
    assert (row.first, row.last, row.days) == (DAY, DAY + timedelta(days=2), 3)
    assert (row.offensiveness, row.depiction, row.association) == (0, 0, 0)


def test_offensive_words_and_images_are_counted_as_seen_answered_or_skipped(study):
    who = factories.enrolment(study, consented=True).annotator
    harsh = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    answer(factories.attribute_unit(harsh), who)
    skip(factories.attribute_unit(harsh), who)
    pictures = factories.task(study, kind=TaskKind.DEPICTION, image_set=factories.image_set())
    answer(factories.page_unit(pictures, picture=factories.image()), who)
    answer(units(study)[0], who)
    skip(factories.attribute_unit(factories.task(study, kind=TaskKind.ASSOCIATION)), who)
    row = only(study)
    assert (row.offensiveness, row.depiction, row.association) == (2, 1, 1)
    assert (row.answered, row.skipped) == (3, 2)


def test_a_correction_counts_no_item_again(study):
    who = factories.enrolment(study, consented=True).annotator
    attention, training, *_ = units(study)
    harsh = factories.attribute_unit(factories.task(study, kind=TaskKind.OFFENSIVENESS))
    for unit, purpose in (
        (attention, Purpose.ATTENTION),
        (training, Purpose.TRAINING),
        (harsh, Purpose.GOLD),
    ):
        Unit.objects.filter(pk=unit.pk).update(purpose=purpose)
        answer(unit, who, current=False, slot=None)
        key = f"00000000-0000-0000-0000-{unit.pk:012}"
        Response.objects.create(
            unit=unit, annotator=who, client_key=key, task_version=1, revision=2, submitted_at=DAY
        )
    row = only(study)
    assert (row.checks, row.training, row.offensiveness, row.revised) == (2, 1, 1, 3)
    assert (row.answered, row.surplus) == (0, 0)


def test_who_withdrew_is_only_counted(study):
    gone = factories.enrolment(study, consented=True, pseudonym="a-gone")
    answer(units(study)[0], gone.annotator)
    other = factories.enrolment(factories.rating_study(), who=gone.annotator).study
    for of in (study, other):
        withdrawals.withdraw(annotator=gone.annotator, study=of, by=None)
    left_elsewhere = factories.enrolment(other)
    withdrawals.withdraw(annotator=left_elsewhere.annotator, study=other, by=None)
    assert queries.withdrawn(None) == 2, "each person once"
    assert (list(queries.hours_page(study)), queries.withdrawn(study)) == ([], 1)
    assert b"a-gone" not in b"".join(services.stream_hours(study=study, by=None))


def test_whoever_did_nothing_yet_is_there_with_zeros(study):
    factories.enrolment(study, pseudonym="a-idle")
    factories.enrolment(factories.study())
    row = only(study)
    assert (row.answered, row.active_hours, row.first, row.days) == (0, 0, None, 0)


def test_a_study_counts_its_own_work_and_all_together_add_up(study):
    other = factories.rating_study(name="other")
    who = factories.enrolment(study, consented=True).annotator
    factories.enrolment(other, who=who)
    answer(units(study)[0], who)
    answer(units(other)[0], who, day=1)
    skip(units(other)[1], who)
    assert (only(study).active_hours, only(other).active_hours) == (1.0, 1.0)
    assert (only(study).skipped, only(other).skipped) == (0, 1)
    together = only(None)
    assert (together.active_hours, together.answered, together.studies) == (2.0, 2, 2)
    assert (together.days, together.status) == (2, "")
    withdrawals.withdraw(annotator=who, study=other, by=None)
    together = only(None)
    assert (together.active_hours, together.studies) == (1.0, 1)
    assert queries.withdrawn(None) == 1


def test_another_annotators_work_is_not_mixed_in(study):
    one, two = (factories.enrolment(study, pseudonym=name).annotator for name in ("a-1", "a-2"))
    answer(units(study)[0], one)
    answer(units(study)[0], two, active_ms=7_200_000)
    answer(units(study)[1], two)
    rows = {row.annotator: row for row in queries.hours_page(study)}
    assert (rows["a-1"].active_hours, rows["a-2"].active_hours) == (1.0, 3.0)


def test_the_page_shows_pseudonyms_and_no_account(client, lead, study):
    account = factories.user("maria.gonzalez")
    who = factories.enrolment(study, user=account, pseudonym="a-maria").annotator
    answer(units(study)[0], who)
    client.force_login(lead)
    shown = client.get(reverse("exposure", args=["words"]))
    assert "a-maria" in shown.text
    assert "1 h 00 min of work in all" in shown.text
    assert "gonzalez" not in shown.text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 min"), (20, "under 1 min"), (170, "3 min"), (3_585, "1 h 00 min"), (3_900, "1 h 05 min")],
)
def test_work_of_minutes_is_not_rounded_to_nothing(seconds, words):
    assert worked(seconds / 3600) == words


def test_the_page_asks_as_many_queries_for_many_as_for_few(client, lead, study, django_assert_num_queries):
    client.force_login(lead)
    url = reverse("exposure", args=["words"])
    client.get(url)
    for number in range(70):
        who = factories.enrolment(study).annotator
        if number < 3:
            answer(units(study)[0], who)
    with django_assert_num_queries(11):
        shown = client.get(url)
    assert len(shown.context["page"]) == queries.ANNOTATORS_PER_PAGE
    assert shown.context["active_hours"] is None, "a part is not the whole"
    assert len(client.get(url, {"page": 2}).context["page"]) == 20


def test_the_csv_holds_what_the_page_holds_and_is_noted(client, lead, study):
    who = factories.enrolment(study, pseudonym="=cmd").annotator
    answer(units(study)[0], who, active_ms=90_000)
    client.force_login(lead)
    answered = client.get(reverse("exposure_csv", args=["words"]))
    (row,) = csv.DictReader(io.StringIO(b"".join(answered.streaming_content).decode()))
    assert list(row) == list(services.HOURS_COLUMNS)
    assert row["annotator"] == "'=cmd", "no spreadsheet runs it"
    assert (row["active_hours"], row["answered"], row["status"]) == ("0.0250", "1", "qualified")
    assert row["first"] == DAY.isoformat()
    event = AuditEvent.objects.get()
    assert (event.what, event.by, event.study) == ("hours exported", lead, study)


def test_the_csv_needs_a_few_queries_for_each_two_hundred(study, django_assert_max_num_queries):
    for _ in range(230):
        factories.enrolment(study)
    with django_assert_max_num_queries(8):
        text = b"".join(services.stream_hours(study=study, by=None)).decode()
    assert text.count("\n") == 231


def test_the_command_writes_the_file_or_says_what_is_wrong(study, tmp_path, capsys):
    factories.enrolment(study, pseudonym="a-one")
    out = tmp_path / "hours.csv"
    call_command("exposure", "words", out=out)
    assert "a-one" in out.read_text()
    for arguments, words in (
        (["words"], "already"),
        (["nosuch"], "There is no study 'nosuch'. There are: words."),
        ([], "Name one study"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("exposure", *arguments, out=out)
    call_command("exposure", all=True, out=out, force=True)
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("exposure", "words", out=tmp_path / "no" / "such" / "folder.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["hours.csv"]
