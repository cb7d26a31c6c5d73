"""Erasing a person: nothing that they wrote and nothing that says who they are is left in any table."""

import threading

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection, connections
from django.utils import timezone

from annotation.accounts.services import erasure
from annotation.accounts.services.erasure import ErasureRefused
from annotation.annotate.services import responses
from annotation.annotate.services.answer_rules import Answer, AnswerRefused
from annotation.assignment import lease_keys
from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    ApiToken,
    AuditEvent,
    Box,
    Enrolment,
    EnrolmentStatus,
    Invitation,
    Judgement,
    ProfileAnswer,
    Response,
    Skip,
    Slot,
    SlotState,
)
from annotation.participation.services import invitations, withdrawals
from tests import factories

pytestmark = pytest.mark.django_db
TRACES = (
    *("zebulon", "quillfeather", "post@zebulon.example", "a-zebra", "5f9platform", "5f9session"),
    *("third gender of mine", "a sombrero like my uncle's", "this upset me because"),
    *("for Zebulon alone", "zebulons script"),
)


@pytest.fixture
def admin():
    return factories.user("root", admin=True)


@pytest.fixture
def person(client, admin):
    """Somebody who left a trace wherever one can be left."""
    user = factories.user("zebulon")
    user.first_name, user.last_name, user.email = "Zebulon", "Quillfeather", "post@zebulon.example"
    user.save()
    study, other = factories.rating_study(name="words"), factories.rating_study(name="other")
    link = invitations.create(study=study, by=admin, label="for Zebulon alone")
    who = factories.annotator(user=user, pseudonym="a-zebra")
    for each, more in (
        (study, {"invitation": link}),
        (other, {"crowd_participant": "5f9platform", "crowd_session": "5f9session"}),
    ):
        enrolment = factories.enrolment(each, who=who, consented=True)
        Enrolment.objects.filter(pk=enrolment.pk).update(**more)
    first, second, _third = study.tasks.get().units.order_by("position")
    answered = factories.response(first, who=who, justification="a sombrero like my uncle's")
    Box.objects.create(
        judgement=answered.judgements.get(), x0=1, y0=1, x1=2, y1=2, image_width=9, image_height=9
    )
    Skip.objects.create(
        unit=second,
        annotator=who,
        client_key=lease_keys.issue(annotator_id=who.pk, unit_id=second.pk),
        reason="upsetting",
        note="this upset me because",
        at=timezone.now(),
    )
    ProfileAnswer.objects.create(
        annotator=who, field="gender", value="third gender of mine", self_described=True
    )
    ApiToken.objects.create(
        user=user, name="zebulons script", prefix="p", digest="1" * 64, expires_at=timezone.now()
    )
    slots.lease_next(enrolment=Enrolment.objects.get(study=other))
    kind = ContentType.objects.get_for_model(user)
    LogEntry.objects.create(
        user=admin, content_type=kind, object_id=str(user.pk), object_repr="zebulon", action_flag=CHANGE
    )
    client.force_login(user)
    return who


def found_anywhere(*traces: str) -> list[str]:
    """'table.column: trace' for each column of any type, of any table, that holds one of `traces`."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            columns = [each[0] for each in cursor.description]
            for row in cursor.fetchall():
                for column, value in zip(columns, row, strict=True):
                    text = str(value).lower()
                    found += [f"{table}.{column}: {trace}" for trace in traces if trace.lower() in text]
    return found


def test_the_search_finds_every_trace_before(person):
    found = found_anywhere(*TRACES)
    assert {trace for trace in TRACES if any(each.endswith(f": {trace}") for each in found)} == set(TRACES)


def test_nothing_of_them_is_left_in_any_table(person, admin, client):
    user = person.user
    done = erasure.erase(annotator=person, user=user, by=admin)
    assert found_anywhere(*TRACES) == []
    assert not Annotator.objects.filter(pk=person.pk).exists()
    assert not get_user_model().objects.filter(pk=user.pk).exists()
    assert not Session.objects.exists()
    assert client.get("/").status_code == 302
    assert (Response.objects.count(), Judgement.objects.count(), Box.objects.count()) == (0, 0, 0)
    assert not Slot.objects.exclude(state=SlotState.OPEN).exists(), "their places are open again"
    assert (done.studies, done.answers, done.skips, done.consents, done.profile_fields) == (2, 1, 1, 2, 1)


def test_what_stays_is_a_record_with_numbers(person, admin):
    would = erasure.preview(annotator=person, user=person.user)
    assert erasure.erase(annotator=person, user=person.user, by=admin) == would
    event = AuditEvent.objects.get(what="person erased")
    assert event.by == admin
    assert event.details == {
        "studies": 2,
        "responses": 1,
        "slots_reopened": 2,
        "skips_deleted": 1,
        "consents": 2,
        "profile_fields": 1,
        "account": True,
    }


def test_what_others_said_stays(person, admin):
    unit = Response.objects.get().unit
    theirs = factories.response(unit, who=factories.annotator(), justification="as anybody sees")
    invitations.create(study=unit.task.study, by=admin, label="for others")
    invitations.create(study=factories.study(), by=admin, label="for Zebulon alone")
    kind = ContentType.objects.get_for_model(admin)
    logged = {"user": admin, "object_repr": "", "action_flag": CHANGE}
    LogEntry.objects.create(**logged, content_type=kind, object_id=str(admin.pk))
    kind = ContentType.objects.get_for_model(Annotator)
    LogEntry.objects.create(**logged, content_type=kind, object_id=str(person.user_id))
    erasure.erase(annotator=person, user=person.user, by=admin)
    labels = AuditEvent.objects.filter(what="invitation made").order_by("pk")
    assert [event.details["label"] for event in labels] == ["", "for others", "for Zebulon alone"]
    assert LogEntry.objects.count() == 2
    assert Response.objects.get() == theirs
    assert Slot.objects.get(state=SlotState.FILLED).pk == theirs.slot_id


def test_a_link_by_which_others_came_too_keeps_its_label(person, admin):
    link = Invitation.objects.get()
    study = link.study
    Enrolment.objects.create(annotator=factories.annotator(), study=study, invitation=link)
    erasure.erase(annotator=person, user=person.user, by=admin)
    link.refresh_from_db()
    assert link.label == "for Zebulon alone"


@pytest.mark.parametrize("status", ["blocked", "withdrawn", "invited"])
def test_in_whatever_state_they_are(person, admin, status):
    if status == EnrolmentStatus.WITHDRAWN:
        for enrolment in person.enrolments.select_related("study"):
            withdrawals.withdraw(annotator=person, study=enrolment.study, by=None)
    else:
        Enrolment.objects.update(status=status)
    erasure.erase(annotator=person, user=None, by=admin)
    assert found_anywhere(*TRACES) == []


def test_an_annotator_without_an_account_and_an_account_without_an_annotator(admin):
    lone, account = factories.annotator(pseudonym="a-lone"), factories.user("justme")
    erasure.erase(annotator=lone, user=None, by=admin)
    erasure.erase(annotator=None, user=account, by=admin)
    assert found_anywhere("a-lone", "justme") == []
    for gone in ({"annotator": lone, "user": None}, {"annotator": None, "user": account}):
        with pytest.raises(ErasureRefused, match="no longer exist"):
            erasure.erase(**gone, by=admin)


def test_naming_the_account_erases_the_annotator_as_well(person, admin):
    erasure.erase(annotator=None, user=person.user, by=admin)
    assert found_anywhere(*TRACES) == []


def test_an_admin_is_not_erased(admin):
    other = factories.user("other", admin=True)
    for act in (erasure.preview, lambda **who: erasure.erase(**who, by=admin)):
        with pytest.raises(ErasureRefused, match="admin"):
            act(annotator=None, user=other)
    assert get_user_model().objects.filter(pk=other.pk).exists()


def test_a_lead_is_erased_and_the_study_and_what_they_did_stay(admin):
    lead = factories.user("thelead")
    study = factories.rating_study(leads=[lead])
    factories.study(leads=[factories.user()])
    invitations.create(study=study, by=lead, label="a link")
    assert erasure.preview(annotator=None, user=lead).led == 1
    erasure.erase(annotator=None, user=lead, by=admin)
    study.refresh_from_db()
    assert (study.leads.count(), study.invitations.get().created_by) == (0, None)
    assert found_anywhere("thelead") == []


@pytest.mark.django_db(transaction=True)
def test_an_answer_at_the_same_moment_leaves_no_trace():
    admin = factories.user("root", admin=True)
    study = factories.rating_study(texts=[f"text {number}" for number in range(12)])
    enrolment = factories.enrolment(study, user=factories.user("zebulon"))
    began, trouble = threading.Barrier(2), []

    def work():
        try:
            began.wait()
            while (slot := slots.lease_next(enrolment=enrolment)) is not None:
                answer = Answer(
                    option_id=slot.unit.options.get().pk, value=5, position=1, justification="quillfeather"
                )
                responses.submit(
                    enrolment=enrolment, unit_id=slot.unit_id, client_key=slot.lease_key, answers=[answer]
                )
        except AnswerRefused:
            pass
        except Exception as error:
            trouble.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    erasure.erase(annotator=enrolment.annotator, user=None, by=admin)
    thread.join()
    assert trouble == []
    assert found_anywhere("quillfeather", "zebulon") == []
    assert not Slot.objects.exclude(state=SlotState.OPEN).exists()
