"""Two annotators who are one person: what becomes of both, and that no invariant breaks on the way."""

import threading
from datetime import timedelta
from itertools import pairwise

import pytest
from django.contrib.auth import get_user_model
from django.db import connections
from django.utils import timezone

from annotation.accounts.services import accounts, merging
from annotation.accounts.services.merging import MergeRefused
from annotation.annotate.services import responses
from annotation.annotate.services.answer_rules import Answer, AnswerRefused
from annotation.assignment import lease_keys
from annotation.assignment.constants import SESSION_LENGTH
from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    AuditEvent,
    Consent,
    Enrolment,
    EnrolmentStatus,
    ProfileAnswer,
    Response,
    Skip,
    Slot,
    SlotState,
    StudyStatus,
)
from annotation.participation.services import annotators, crowd, invitations, withdrawals
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return factories.user("root", admin=True)


@pytest.fixture
def study():
    return factories.rating_study(name="words", texts=("sombrero", "kind", "poor", "hat"))


@pytest.fixture
def kept(study):
    return factories.enrolment(study, user=factories.user("amal"), pseudonym="a-kept").annotator


@pytest.fixture
def duplicate(study):
    who = annotators.newcomer()
    Enrolment.objects.create(
        annotator=who, study=study, status=EnrolmentStatus.QUALIFIED, crowd_participant="5f9prolific"
    )
    return who


def answer(unit, who, *, after: int = 0, **fields) -> Response:
    at = timezone.now() - timedelta(hours=1) + timedelta(minutes=after)
    return factories.response(unit, who=who, started_at=at, submitted_at=at, **fields)


def units(study):
    return list(study.tasks.get().units.order_by("position"))


def assert_sound(study):
    """What the database cannot say by itself: a filled slot has one current answer of its annotator, an open
    one has none, and queue numbers are each used once."""
    for slot in Slot.objects.filter(study=study):
        current = list(Response.objects.filter(slot=slot, current=True, withdrawn_at__isnull=True))
        if slot.state == SlotState.FILLED:
            assert [each.annotator_id for each in current] == [slot.annotator_id]
        else:
            assert current == []
            assert not Response.objects.filter(slot=slot).exists()


def test_answers_enrolments_consents_and_skips_become_one_persons(admin, study, kept, duplicate):
    first, second, third, fourth = units(study)
    other = factories.rating_study(name="other")
    elsewhere = factories.enrolment(other, who=duplicate, consented=True)
    mine, theirs = answer(first, kept), answer(second, duplicate)
    for who, unit in ((kept, third), (duplicate, third), (duplicate, fourth)):
        Skip.objects.create(
            unit=unit,
            annotator=who,
            client_key=lease_keys.issue(annotator_id=who.pk, unit_id=unit.pk),
            reason="unclear",
            at=timezone.now(),
        )
    link = invitations.create(study=study, by=admin, label="")
    came, began = timezone.now() - timedelta(days=1), timezone.now() - timedelta(minutes=2)
    session = {"session_started_at": began, "session_units": 1, "session_active_ms": 20}
    Enrolment.objects.filter(annotator=kept).update(answered=1, golds=2, position=7, **session)
    Enrolment.objects.filter(annotator=duplicate, study=study).update(
        answered=1,
        golds=1,
        joined_at=came,
        invitation=link,
        crowd_session="a session",
        session_started_at=began - timedelta(minutes=1),
        session_units=2,
        session_active_ms=300,
    )

    factories.enrolment(factories.rating_study(name="of the kept one alone"), who=kept)

    plan = merging.merge(kept=kept, duplicate=duplicate, by=admin)

    assert set(Response.objects.values_list("pk", "annotator")) == {(mine.pk, kept.pk), (theirs.pk, kept.pk)}
    assert Response.objects.filter(slot__isnull=True).count() == 0
    assert not Annotator.objects.filter(pk=duplicate.pk).exists()
    one = Enrolment.objects.get(study=study, annotator=kept)
    assert (one.answered, one.golds, one.position) == (2, 3, 0)
    assert one.crowd_participant == "5f9prolific", "the platform's code can still be handed to them"
    assert (one.crowd_session, one.joined_at, one.invitation) == ("a session", came, link)
    assert (one.session_started_at, one.session_units, one.session_active_ms) == (began, 3, 320)
    assert Enrolment.objects.get(study=other).pk == elsewhere.pk
    assert Enrolment.objects.get(study=other).annotator == kept
    assert Consent.objects.get(text__study=other).annotator == kept
    assert sorted(Skip.objects.values_list("unit", "annotator")) == [
        (third.pk, kept.pk),
        (fourth.pk, kept.pk),
    ]
    did = [(each.study, each.answers, each.twice, each.skips) for each in plan.studies]
    assert did == [(study, 1, 0, 2), (other, 0, 0, 0)]
    assert_sound(study)


@pytest.mark.parametrize("earlier", ["kept", "duplicate"])
def test_of_two_answers_to_one_unit_the_first_one_given_stays(admin, study, kept, duplicate, earlier):
    unit = units(study)[0]
    order = (kept, duplicate) if earlier == "kept" else (duplicate, kept)
    first, second = answer(unit, order[0]), answer(unit, order[1], after=10)
    first_slot, second_slot = first.slot, second.slot

    assert merging.preview(kept=kept, duplicate=duplicate).twice == 1
    merging.merge(kept=kept, duplicate=duplicate, by=admin)

    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.slot, first.annotator, first.current) == (first_slot, kept, True)
    assert (second.slot, second.annotator, second.current) == (None, kept, True), (
        "a surplus: kept, not counted"
    )
    reopened = Slot.objects.get(pk=second_slot.pk)
    assert (reopened.state, reopened.annotator) == (SlotState.OPEN, None)
    assert reopened.queue > Slot.objects.exclude(pk=reopened.pk).order_by("-queue")[0].queue
    assert_sound(study)
    # and the place is for somebody else, not for them
    again = Enrolment.objects.get(annotator=kept, study=study)
    while (slot := slots.lease_next(enrolment=again)) is not None:
        assert slot.unit_id != unit.pk
        slots.FILL.run(slot=slot.pk, annotator=kept.pk)
    stranger = factories.enrolment(study)
    asked = set()
    while (slot := slots.lease_next(enrolment=stranger)) is not None:
        asked.add(slot.pk)
        slots.FILL.run(slot=slot.pk, annotator=stranger.annotator_id)
    assert asked & {reopened.pk, *Slot.objects.filter(unit=unit).values_list("pk", flat=True)}


def test_a_correction_does_not_make_an_answer_a_later_one(admin, study, kept, duplicate):
    unit = units(study)[0]
    mine = answer(unit, kept)
    theirs = answer(unit, duplicate, after=10)
    Response.objects.filter(pk=mine.pk).update(current=False)
    corrected = Response.objects.create(
        unit=unit,
        slot=mine.slot,
        annotator=kept,
        client_key=lease_keys.issue(annotator_id=kept.pk, unit_id=unit.pk),
        task_version=1,
        revision=2,
        submitted_at=timezone.now(),
    )
    assert merging.preview(kept=duplicate, duplicate=kept).studies[0].answers == 1
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    corrected.refresh_from_db()
    theirs.refresh_from_db()
    assert corrected.slot_id == mine.slot_id
    assert theirs.slot_id is None


def test_in_a_closed_study_a_place_that_opens_keeps_its_number(admin, kept, duplicate, study):
    unit = units(study)[0]
    answer(unit, kept)
    theirs = answer(unit, duplicate, after=1)
    study.status, study.closed_at = StudyStatus.CLOSED, timezone.now()
    study.save()
    queue = theirs.slot.queue
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    assert Slot.objects.get(pk=theirs.slot_id).queue == queue


def test_what_both_hold_goes_back_first(admin, study, kept, duplicate):
    for who in (kept, duplicate):
        slots.lease_next(enrolment=Enrolment.objects.get(annotator=who))
    assert merging.preview(kept=kept, duplicate=duplicate).studies[0].held == 2
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    assert not Slot.objects.exclude(state=SlotState.OPEN).exists()
    assert AuditEvent.objects.get(what="annotators merged").details["released"] == 2


def test_the_profile_is_what_the_kept_one_said_with_gaps_filled(admin, kept, duplicate):
    for who, field, value in (
        (kept, "gender", "woman"),
        (duplicate, "gender", "man"),
        (duplicate, "origin", "Asia"),
    ):
        ProfileAnswer.objects.create(annotator=who, field=field, value=value, may_publish=value == "Asia")
    plan = merging.merge(kept=kept, duplicate=duplicate, by=admin)
    said = {each.field: (each.value, each.may_publish) for each in ProfileAnswer.objects.all()}
    assert said == {"gender": ("woman", False), "origin": ("Asia", True)}
    assert (plan.added, plan.dropped) == (("origin",), ("gender",))


def test_a_consent_that_was_withdrawn_does_not_end_a_later_one(admin, study, kept, duplicate):
    now, text = timezone.now(), study.consent_texts.get()
    ended = Consent.objects.create(
        annotator=kept, text=text, given_at=now - timedelta(days=2), withdrawn_at=now - timedelta(days=1)
    )
    given = Consent.objects.create(annotator=duplicate, text=text, given_at=now)
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    assert set(kept.consents.values_list("pk", "withdrawn_at")) == {
        (ended.pk, ended.withdrawn_at),
        (given.pk, None),
    }


def test_a_consent_given_twice_is_given_once_at_the_earlier_moment(admin, study, kept, duplicate):
    now, text = timezone.now(), study.consent_texts.get()
    Consent.objects.create(annotator=kept, text=text, given_at=now)
    Consent.objects.create(annotator=duplicate, text=text, given_at=now - timedelta(days=2))
    Consent.objects.create(
        annotator=duplicate, text=text, given_at=now - timedelta(days=5), withdrawn_at=now - timedelta(days=4)
    )
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    active = Consent.objects.get(withdrawn_at__isnull=True)
    assert (active.annotator, active.given_at) == (kept, now - timedelta(days=2))
    assert Consent.objects.filter(annotator=kept).count() == 2


@pytest.mark.parametrize(
    ("mine", "theirs", "after"),
    [
        ("qualified", "blocked", "blocked"),
        ("blocked", "qualified", "blocked"),
        ("invited", "qualified", "qualified"),
        ("finished", "qualified", "qualified"),
        ("training", "screened_out", "screened_out"),
        ("withdrawn", "withdrawn", "withdrawn"),
    ],
)
def test_of_two_states_the_stronger_one_holds(admin, study, kept, duplicate, mine, theirs, after):
    Enrolment.objects.filter(annotator=kept).update(status=mine)
    Enrolment.objects.filter(annotator=duplicate).update(status=theirs)
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    assert Enrolment.objects.get(study=study).status == after


def test_an_account_without_a_password_goes_and_one_with_a_password_is_switched_off(
    admin, study, kept, duplicate
):
    guest = duplicate.user
    assert merging.merge(kept=kept, duplicate=duplicate, by=admin).account == "deleted"
    assert not get_user_model().objects.filter(pk=guest.pk).exists()
    second = factories.annotator(user=factories.user("second"))
    assert merging.merge(kept=kept, duplicate=second, by=admin).account == "switched off"
    assert not get_user_model().objects.get(username="second").is_active


def test_a_person_without_an_account_takes_over_the_duplicates(admin, study, duplicate):
    lone, _other = factories.enrolment(study).annotator, factories.enrolment(study)
    account = duplicate.user
    assert merging.merge(kept=lone, duplicate=duplicate, by=admin).account == "taken over"
    assert Annotator.objects.get(user=account) == lone
    # and comes again by the platform's link as themselves
    study.crowd_parameters = {"participant": "PID"}
    arrival = crowd.read_arrival(study=study, params={"PID": ["5f9prolific"]})
    assert crowd.enrolment_of(study=study, arrival=arrival).annotator == lone


def test_what_cannot_be_one_person_is_refused_and_nothing_is_written(admin, study, kept, duplicate):
    def refused(why, *, one=kept, other=duplicate):
        before = (Response.objects.count(), Enrolment.objects.count(), AuditEvent.objects.count())
        for act in (
            lambda: merging.preview(kept=one, duplicate=other),
            lambda: merging.merge(kept=one, duplicate=other, by=admin),
        ):
            with pytest.raises(MergeRefused, match=why):
                act()
        assert before == (Response.objects.count(), Enrolment.objects.count(), AuditEvent.objects.count())

    refused("the same annotator", other=kept)
    refused("simulated", other=factories.annotator(simulated=True))
    for user in (factories.user(lead=True), *map(factories.user, ("lead", "is_staff", "is_superuser"))):
        if user.username == "lead":
            factories.study(leads=[user])
        else:
            setattr(user, user.username, True)
            user.save()
        refused("has a role", other=factories.annotator(user=user))
    led = factories.rating_study(leads=[kept.user])
    elsewhere = factories.enrolment(led, who=duplicate)
    refused("leads")
    elsewhere.delete()
    withdrawals.withdraw(annotator=duplicate, study=study, by=None)
    refused("withdrew")


def test_who_withdrew_from_a_study_that_the_other_is_not_in_can_be_merged(admin, study, kept, duplicate):
    other = factories.rating_study(name="other")
    factories.enrolment(other, who=duplicate)
    withdrawals.withdraw(annotator=duplicate, study=other, by=None)
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    assert Enrolment.objects.get(study=other, annotator=kept).status == EnrolmentStatus.WITHDRAWN


def test_of_any_two_states_one_is_the_stronger():
    order = ["blocked", "screened_out", "qualified", "finished", "training", "invited", "withdrawn"]
    for stronger, weaker in pairwise(order):
        both = [Enrolment(status=status) for status in (weaker, stronger)]
        assert merging._merged_status(both) == stronger


def test_a_session_that_is_over_and_what_the_kept_one_brings_are_left_as_they_are(
    admin, study, kept, duplicate
):
    now = timezone.now()
    over = now - SESSION_LENGTH - timedelta(seconds=1)
    link, other = (invitations.create(study=study, by=admin, label="") for _ in range(2))
    Enrolment.objects.filter(annotator=kept).update(
        invitation=link, crowd_participant="mine", session_started_at=now - SESSION_LENGTH, session_units=1
    )
    Enrolment.objects.filter(annotator=duplicate).update(
        invitation=other, session_started_at=over, session_units=2
    )
    merging.merge(kept=kept, duplicate=duplicate, by=admin, now=now)
    one = Enrolment.objects.get()
    assert (one.invitation, one.crowd_participant) == (link, "mine")
    assert (one.session_started_at, one.session_units) == (now - SESSION_LENGTH, 1)


def test_an_answer_without_a_time_is_the_second_one(admin, study, kept, duplicate):
    unit = units(study)[0]
    untimed, timed = answer(unit, kept), answer(unit, duplicate)
    Response.objects.filter(pk=untimed.pk).update(submitted_at=None)
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    assert Response.objects.get(slot__isnull=False) == timed


def test_merging_twice_says_that_one_is_gone(admin, kept, duplicate):
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    with pytest.raises(MergeRefused, match="no longer exists"):
        merging.merge(kept=kept, duplicate=Annotator(pk=10**9, pseudonym="x"), by=admin)


def test_the_record_names_nobody(admin, kept, duplicate):
    names = (kept.pseudonym, duplicate.pseudonym, "amal", "5f9prolific")
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    event = AuditEvent.objects.get()
    assert event.by == admin
    assert event.details == {"studies": 1, "answers": 0, "surplus": 0, "released": 0, "account": "deleted"}
    assert not [name for name in names if name in str(event.details)]


def test_a_late_answer_of_the_duplicate_is_told_kindly(admin, study, kept, duplicate):
    theirs = Enrolment.objects.get(annotator=duplicate)
    slot = slots.lease_next(enrolment=theirs)
    option = slot.unit.options.get()
    merging.merge(kept=kept, duplicate=duplicate, by=admin)
    with pytest.raises(AnswerRefused, match="has changed"):
        responses.submit(
            enrolment=theirs,
            unit_id=slot.unit_id,
            client_key=slot.lease_key,
            answers=[Answer(option_id=option.pk, value=5, position=1)],
        )
    assert slots.lease(enrolment=theirs, wanted=2) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("shared", [True, False])
def test_an_answer_at_the_same_moment_is_wholly_before_or_wholly_after(shared):
    """Answers pour in from both while they are merged: each is kept once or refused, and no slot or answer
    is left with nobody."""
    admin = factories.user("root", admin=True)
    for _round in range(3):
        study = factories.rating_study(texts=[f"text {_round} {number}" for number in range(12)])
        kept = factories.enrolment(study) if shared else factories.enrolment(factories.rating_study())
        going = factories.enrolment(study)
        began, kept_answers, trouble = threading.Barrier(3), [], []

        def work(enrolment, began=began, kept_answers=kept_answers, trouble=trouble):
            try:
                began.wait()
                while (slot := slots.lease_next(enrolment=enrolment)) is not None:
                    option = slot.unit.options.get()
                    done = responses.submit(
                        enrolment=enrolment,
                        unit_id=slot.unit_id,
                        client_key=slot.lease_key,
                        answers=[Answer(option_id=option.pk, value=5, position=1)],
                    )
                    kept_answers.append(done.response.pk)
            except AnswerRefused:
                pass
            except Exception as error:
                trouble.append(error)
            finally:
                connections.close_all()

        threads = [threading.Thread(target=work, args=(each,)) for each in (kept, going)]
        for thread in threads:
            thread.start()
        began.wait()
        merging.merge(kept=kept.annotator, duplicate=going.annotator, by=admin)
        for thread in threads:
            thread.join()
        assert trouble == []
        assert set(Response.objects.filter(pk__in=kept_answers).values_list("annotator", flat=True)) <= {
            kept.annotator_id
        }
        assert Response.objects.filter(pk__in=kept_answers).count() == len(kept_answers)
        assert_sound(study)
        filled = Slot.objects.filter(study=study, state=SlotState.FILLED)
        assert filled.count() == filled.values("unit").distinct().count(), "one person, one slot of a unit"


def test_an_account_that_was_switched_off_by_merging_is_out_at_once(admin, client, kept):
    second = factories.annotator(user=factories.user("second"))
    client.force_login(second.user)
    merging.merge(kept=kept, duplicate=second, by=admin)
    assert client.get("/").status_code == 302
    with pytest.raises(accounts.AccountRefused, match="switched off"):
        accounts.password_link(user=second.user, by=admin)
