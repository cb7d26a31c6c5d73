"""The audit log: readable, filtered, taken out as files, and naming no annotator."""

import csv
import io
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.audit import sentences, services
from annotation.models import AuditEvent
from annotation.participation.services import enrolments, invitations, withdrawals
from tests import factories

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def admin():
    return factories.user("root", admin=True)


@pytest.fixture
def page(client, admin):
    client.force_login(admin)
    return lambda **asked: client.get(reverse("audit"), asked)


def event(what="export", *, days=0, **fields):
    fields.setdefault("details", {"format": "csv"})
    made = AuditEvent.objects.create(what=what, **fields)
    AuditEvent.objects.filter(pk=made.pk).update(at=timezone.now() - timedelta(days=days))
    return made


def download(client, fmt, **asked):
    answer = client.get(reverse("audit_export", args=[fmt]), asked)
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def test_events_read_as_sentences_newest_first(page):
    study = factories.study("words", title="About words")
    lead = factories.user("maria")
    event("withdrawal", study=study, details={"asked_by": "the annotator", "responses": 12})
    event("export", study=study, by=lead, details={"format": "parquet"})
    shown = page()
    entries = shown.context["entries"]
    assert [(sentence, event.by) for event, sentence in entries] == [
        ("Exported answers as parquet.", lead),
        ("Somebody withdrew 12 answers, practice items and earlier versions included.", None),
    ]
    assert "About words" in shown.text
    assert "asked_by" in shown.text


def test_every_kind_of_event_that_the_program_writes_has_a_sentence():
    """Found in the source, so that a new kind cannot be forgotten."""
    written = set()
    for app in ("annotation", "generation", "metrics", "visage_app"):
        for path in (ROOT / app).rglob("*.py"):
            source = path.read_text()
            if "AuditEvent" not in source:
                continue
            written |= set(re.findall(r'_(?:record|audit)\(\s*"([^"]+)"', source))
            for two in re.findall(r'what = "([a-z ]+)" if \w+ else "([a-z ]+)"', source):
                written |= set(two)
            pair = r'_(?:record|audit)\(\s*"[^"]+" if \w+ else "([^"]+)"'
            written |= set(re.findall(pair, source))
            written |= set(re.findall(r'what="([a-z _]+)"', source))
            written |= set(re.findall(r'^(?:WHAT|MADE|IMPORTED) = "([^"]+)"', source, re.MULTILINE))
    assert len(written) > 20
    assert written - set(sentences.SENTENCES) == set()


def test_an_event_of_before_or_of_a_kind_unknown_is_shown_all_the_same(page):
    event("export", details={})
    event("something else", details={"odd": ["<b>", None]})
    event("withdrawal", details=[1, 2])
    sentences = {sentence for _, sentence in page().context["entries"]}
    assert sentences == {
        "Exported answers as –.",
        "something else",
        "Somebody withdrew – answers, practice items and earlier versions included.",
    }
    assert "<b>" not in page().text


def test_a_per_cent_sign_in_what_was_noted_breaks_nothing(page):
    event("export", details={"format": "100 %(what)s %s"})
    assert page().context["entries"][0][1] == "Exported answers as 100 %(what)s %s."


def test_filters_by_kind_study_account_and_day(page):
    one, other = factories.study("one", title="Words"), factories.study("other", title="Images")
    noor, maria = factories.user("noor"), factories.user("maria")
    old = event("export", study=one, by=maria, days=10)
    event("export", study=other, by=noor)
    event("withdrawal", study=one)

    def found(**asked):
        return [event.pk for event, _ in page(**asked).context["entries"]]

    factories.study("silent")
    fields = page().context["form"].fields
    assert {name: [value for value, _ in fields[name].choices] for name in ("what", "study", "who")} == {
        "what": ["", "export", "withdrawal"],
        "study": ["", "other", "one"],
        "who": ["", "maria", "noor"],
    }
    assert len(found()) == 3
    assert len(found(what="export")) == 2
    assert len(found(study="one")) == 2
    assert found(who="maria") == [old.pk]
    day = (timezone.now() - timedelta(days=10)).date()
    assert found(since=str(day), until=str(day)) == [old.pk]
    assert len(found(since=str(day + timedelta(days=1)))) == 2
    assert found(until=str(day - timedelta(days=1))) == []


@pytest.mark.parametrize("asked", [{"since": "yesterday"}, {"what": "nonsense"}, {"study": "x' OR 1=1"}])
def test_a_filter_that_makes_no_sense_is_refused(page, client, asked):
    event()
    assert page(**asked).status_code == 422
    assert client.get(reverse("audit_export", args=["csv"]), asked).status_code == 422
    assert AuditEvent.objects.count() == 1, "nothing was taken"


def test_pages(page):
    AuditEvent.objects.bulk_create(AuditEvent(what="export", details={"n": n}) for n in range(250))
    first, last = page(), page(page="99", what="export")
    assert (first.context["log"].number, first.context["log"].paginator.num_pages) == (1, 3)
    assert (last.context["log"].number, len(last.context["entries"])) == (3, 50)
    assert "what=export&amp;page=2" in last.text
    assert page(page="nonsense").context["log"].number == 1


def test_the_page_asks_as_many_queries_for_many_as_for_few(page, client, django_assert_num_queries):
    event()
    page()
    for number in range(20):
        event(study=factories.study(f"s{number}"), by=factories.user(f"u{number}"))
    with django_assert_num_queries(7):
        page()


def test_it_is_taken_out_as_csv_with_the_taking_noted_first(client, admin):
    client.force_login(admin)
    study = factories.study("words")
    event("study shows images", study=study, by=admin, details={"image_set": "=1+1"})
    rows = list(csv.DictReader(io.StringIO(download(client, "csv"))))
    assert [row["what"] for row in rows] == ["audit log exported", "study shows images"]
    assert list(rows[0]) == list(services.EVENT_COLUMNS)
    assert rows[1]["by"] == "root"
    assert rows[1]["study"] == "words"
    assert json.loads(rows[1]["details"]) == {"image_set": "=1+1"}
    assert AuditEvent.objects.get(what="audit log exported").by == admin


def test_a_cell_that_a_spreadsheet_would_run_is_defused(client, admin):
    client.force_login(admin)
    event("=HYPERLINK(1)", details={})
    rows = list(csv.DictReader(io.StringIO(download(client, "csv"))))
    assert rows[1]["what"] == "'=HYPERLINK(1)"


def test_json_lines_hold_the_same_filtered_and_in_english(client, admin):
    client.force_login(admin)
    client.cookies["django_language"] = "es"
    event("withdrawal", details={"responses": 3})
    event("export")
    (line,) = download(client, "jsonl", what="withdrawal").splitlines()
    said = json.loads(line)
    assert said["sentence"] == "Somebody withdrew 3 answers, practice items and earlier versions included."
    assert said["details"] == {"responses": 3}
    assert set(said) == set(services.EVENT_COLUMNS)
    noted = AuditEvent.objects.get(what="audit log exported").details
    assert noted == {"format": "jsonl", "filters": {"what": "withdrawal"}}


def test_it_streams(admin, django_assert_max_num_queries):
    AuditEvent.objects.bulk_create(AuditEvent(what="export") for _ in range(3000))
    with django_assert_max_num_queries(5):
        pieces = list(services.stream_events(fmt="jsonl", filters={}, by=admin))
    assert len(pieces) >= 6
    assert sum(piece.count(b"\n") for piece in pieces) == 3001


def test_what_happens_while_it_is_taken_out_is_not_in_it(admin):
    lines = services.stream_events(fmt="jsonl", filters={}, by=admin)
    event()
    assert b"".join(lines).count(b"\n") == 1


def test_an_unknown_format_is_refused_before_anything_is_noted(client, admin):
    client.force_login(admin)
    assert client.get("/audit.xlsx").status_code == 404
    with pytest.raises(ValueError, match="csv, jsonl"):
        services.stream_events(fmt="xlsx", filters={}, by=admin)
    assert not AuditEvent.objects.exists()


def test_no_annotator_is_named(page, client, admin):
    account = factories.user("their.account")
    study = factories.rating_study(name="words")
    enrolment = factories.enrolment(study, consented=True, user=account, pseudonym="a-somebody")
    enrolments.block(enrolment=enrolment, by=admin)
    invitations.create(study=study, by=admin, label="", max_uses=None, expires_at=None)
    withdrawals.withdraw(annotator=enrolment.annotator, study=study, by=account)
    for text in (page().text, download(client, "csv"), download(client, "jsonl")):
        assert "withdrew" in text
        assert "a-somebody" not in text
        assert "their.account" not in text
