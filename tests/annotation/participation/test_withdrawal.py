"""Leaving a study: only stopping, or taking one's answers out of the data (services/withdrawals.py)."""

import csv
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation import export_files
from annotation.annotate import queries
from annotation.annotate.services import items, responses
from annotation.annotate.services.answer_rules import AnswerRefused
from annotation.assignment.constants import LEFT_STATUSES
from annotation.assignment.services import slots
from annotation.exports.services import writing
from annotation.models import (
    Annotator,
    AuditEvent,
    Box,
    Consent,
    Enrolment,
    EnrolmentStatus,
    Judgement,
    ProfileAnswer,
    Purpose,
    Response,
    Skip,
    SkipReason,
    Slot,
    SlotState,
    StudyStatus,
    TaskKind,
    Unit,
)
from annotation.participation.services import crowd, withdrawals
from metrics.score_runs import queries as scores
from metrics.score_runs import services as score_runs
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.rating_study(name="words")


@pytest.fixture
def amal(study):
    """Somebody who rated one item, with words of their own, skipped one and holds one."""
    who = factories.annotator(user=factories.user("amal"), profile={"gender": "woman"})
    enrolment = factories.enrolment(study, who=who, consented=True)
    answer(enrolment, value=3, justification="my grandmother wore one")
    skip(enrolment)
    slots.lease_next(enrolment=enrolment)
    return who


def skip(enrolment) -> None:
    skipped = slots.lease_next(enrolment=enrolment)
    responses.skip(
        enrolment=enrolment,
        unit_id=skipped.unit_id,
        client_key=skipped.lease_key,
        reason=SkipReason.UPSETTING,
        note="it happened to me",
    )


def answer(enrolment, *, value: int = 5, justification: str = "") -> Response:
    slot = slots.lease_next(enrolment=enrolment)
    return responses.submit(
        enrolment=enrolment,
        unit_id=slot.unit_id,
        client_key=slot.lease_key,
        answers=[
            responses.Answer(
                option_id=slot.unit.options.get().pk, value=value, position=1, justification=justification
            )
        ],
        active_ms=900,
    ).response


def exported(study) -> list[dict[str, str]]:
    text = "".join(writing.stream_csv(study=study, by=None))
    return list(csv.DictReader(text.splitlines()))


def withdraw(who, study, *, by=None) -> withdrawals.Withdrawn:
    return withdrawals.withdraw(annotator=who, study=study, by=by)


def test_withdrawn_answers_leave_their_slots_which_are_open_again_at_the_end_of_the_queue(study, amal):
    first = Response.objects.get().slot
    last = max(study.slots.values_list("queue", flat=True))
    done = withdraw(amal, study)

    assert (done.responses, done.slots_reopened, done.leases_returned, done.skips_deleted) == (1, 1, 1, 1)
    response = Response.objects.get()
    assert response.withdrawn_at is not None
    assert (response.current, response.slot) == (False, None)
    first.refresh_from_db()
    assert (first.state, first.annotator, first.queue > last) == (SlotState.OPEN, None, True)
    assert not Slot.objects.filter(annotator=amal).exists()
    assert study.slots.filter(state=SlotState.OPEN).count() == study.slots.count()
    assert len(set(study.slots.values_list("queue", flat=True))) == study.slots.count()


def test_somebody_else_is_asked_in_their_place(study, amal):
    unit = Response.objects.get().unit
    others = [factories.enrolment(study) for _ in range(3)]
    for other in others[:2]:
        while slots.lease_next(enrolment=other):
            answer(other)
    assert unit.slots.filter(state=SlotState.OPEN).count() == 0
    withdraw(amal, study)
    given = []
    while slot := slots.lease_next(enrolment=others[2]):
        given.append(slot.unit_id)
        answer(others[2])
    assert unit.pk in given
    assert not study.slots.exclude(state=SlotState.FILLED).exists()


def test_their_own_words_are_erased_and_their_consent_ends(study, amal):
    withdraw(amal, study)
    assert Enrolment.objects.get().crowd_participant == ""
    assert Judgement.objects.get().justification == ""
    assert not Skip.objects.exists()
    assert not ProfileAnswer.objects.exists()
    assert Consent.objects.get().withdrawn_at is not None


def test_a_consent_that_ended_before_ended_then(study, amal):
    before = timezone.now() - timedelta(days=1)
    Consent.objects.update(given_at=before - timedelta(days=1), withdrawn_at=before)
    withdraw(amal, study)
    assert Consent.objects.get().withdrawn_at == before


def test_the_enrolment_that_stays_says_nothing_about_the_person(study, amal):
    Enrolment.objects.update(
        crowd_participant="5f8d0c1e-participant",
        crowd_session="s-1",
        strata=["origin: Asia"],
        session_started_at=timezone.now(),
    )
    withdraw(amal, study)
    kept = Enrolment.objects.get()
    assert kept.status == EnrolmentStatus.WITHDRAWN
    assert (kept.answered, kept.golds, kept.session_units, kept.session_active_ms) == (0, 0, 0, 0)
    assert (kept.strata, kept.session_started_at, kept.crowd_session) == (None, None, "")
    assert "5f8d0c1e-participant" not in kept.crowd_participant
    arrival = crowd.Arrival(participant="5f8d0c1e-participant", session="s-2")
    assert crowd.enter(study=study, arrival=arrival) == kept
    assert Enrolment.objects.get().crowd_session == ""


def test_a_profile_stays_for_the_other_studies_somebody_is_in(study, amal):
    factories.enrolment(factories.rating_study(), who=amal)
    assert withdraw(amal, study).profile_deleted is False
    assert ProfileAnswer.objects.get().value == "woman"


@pytest.mark.parametrize("status", sorted(LEFT_STATUSES))
def test_a_profile_goes_with_the_last_study_of_somebody_who_left_the_others(study, amal, status):
    left = factories.enrolment(factories.rating_study(), who=amal)
    Enrolment.objects.filter(pk=left.pk).update(status=status)
    assert withdraw(amal, study).profile_deleted is True
    assert not ProfileAnswer.objects.exists()


def test_another_study_of_the_same_annotator_is_left_alone(study, amal):
    other = factories.enrolment(factories.rating_study(name="other"), who=amal, consented=True)
    kept = answer(other)
    skip(other)
    slots.lease_next(enrolment=other)
    withdraw(amal, study)
    kept.refresh_from_db()
    assert (kept.withdrawn_at, kept.current, kept.slot is None) == (None, True, False)
    assert Consent.objects.filter(withdrawn_at__isnull=True).count() == 1
    assert Skip.objects.count() == 1
    assert set(other.study.slots.filter(annotator=amal).values_list("state", flat=True)) == {
        SlotState.FILLED,
        SlotState.LEASED,
    }


def test_slots_that_are_open_again_keep_their_order(study):
    enrolment = factories.enrolment(study)
    units = [answer(enrolment).unit_id for _ in range(2)]
    last = max(study.slots.values_list("queue", flat=True))
    assert withdraw(enrolment.annotator, study).profile_deleted is False, "there was none"
    reopened = study.slots.filter(queue__gt=last).order_by("queue")
    assert list(reopened.values_list("unit", flat=True)) == units


def test_what_others_did_in_the_study_is_left_alone(study, amal):
    other = factories.enrolment(study, consented=True)
    kept = answer(other, justification="so did mine")
    skip(other)
    withdraw(amal, study)
    kept.refresh_from_db()
    assert (kept.withdrawn_at, kept.slot.state) == (None, SlotState.FILLED)
    assert kept.judgements.get().justification == "so did mine"
    assert Consent.objects.filter(withdrawn_at__isnull=True).count() == 1
    assert Skip.objects.count() == 1


def test_earlier_revisions_checks_and_surplus_are_withdrawn_too(study):
    who = factories.annotator()
    enrolment = factories.enrolment(study, who=who)
    first = answer(enrolment)
    responses.revise(
        enrolment=enrolment,
        unit_id=first.unit_id,
        client_key=queries.correction_key(enrolment=enrolment, earlier=first),
        answers=[responses.Answer(option_id=first.unit.options.get().pk, value=1, position=1)],
    )
    surplus = answer(enrolment)
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    gold = factories.attribute_unit(study.tasks.get(), "moustache", purpose=Purpose.GOLD)
    Response.objects.create(
        unit=gold, annotator=who, client_key="00000000-0000-0000-0000-000000000001", task_version=1
    )
    assert withdraw(who, study).responses == 4
    assert not Response.objects.filter(withdrawn_at__isnull=True).exists()


def test_the_record_has_counts_and_no_person(study, amal):
    withdraw(amal, study, by=amal.user)
    event = AuditEvent.objects.get()
    assert (event.what, event.study, event.by) == ("withdrawal", study, None)
    assert event.details == {
        "asked_by": "the annotator",
        "responses": 1,
        "slots_reopened": 1,
        "leases_returned": 1,
        "skips_deleted": 1,
        "profile_deleted": True,
    }
    for trace in (amal.pseudonym, "amal", "woman", "grandmother"):
        assert trace not in str(event.details)


def test_who_withdraws_for_somebody_is_on_record(study, amal):
    admin = factories.user("admin", admin=True)
    withdraw(amal, study, by=admin)
    event = AuditEvent.objects.get()
    assert (event.by, event.details["asked_by"]) == (admin, "the team")


def test_withdrawing_twice_is_withdrawing_once(study, amal):
    withdraw(amal, study)
    before = Response.objects.get().withdrawn_at
    assert withdraw(amal, study) == withdrawals.Withdrawn(repeat=True)
    assert Response.objects.get().withdrawn_at == before
    assert AuditEvent.objects.count() == 1


def test_withdrawing_again_takes_back_what_is_there_again(study, amal):
    """Such as what came back with a copy of the database."""
    Enrolment.objects.update(crowd_participant="5f8d0c1e")
    withdraw(amal, study)
    before = Response.objects.get()
    factories.response(study.tasks.get().units.first(), who=amal)
    withdraw(amal, study)
    assert not Response.objects.filter(withdrawn_at__isnull=True).exists()
    assert Response.objects.get(pk=before.pk).withdrawn_at == before.withdrawn_at
    arrival = crowd.Arrival(participant="5f8d0c1e", session="s-2")
    assert crowd.enrolment_of(study=study, arrival=arrival) is not None


def test_who_is_not_in_the_study_has_nothing_to_withdraw(study):
    who = factories.annotator(pseudonym="a-nobody")
    for leave in (withdrawals.stop, withdrawals.come_back):
        with pytest.raises(withdrawals.NotEnrolled, match="a-nobody is not in the study 'words'"):
            leave(annotator=who, study=study)
    with pytest.raises(withdrawals.NotEnrolled):
        withdraw(who, study)


def test_an_answer_that_was_still_under_way_is_refused_after_withdrawal(study, monkeypatch):
    monkeypatch.setattr(export_files, "discard_files", lambda study: 1 / 0)  # no file had their answers
    enrolment = factories.enrolment(study)
    slot = slots.lease_next(enrolment=enrolment)
    withdraw(enrolment.annotator, study)
    with pytest.raises(AnswerRefused, match="withdr"):
        responses.submit(
            enrolment=enrolment,
            unit_id=slot.unit_id,
            client_key=slot.lease_key,
            answers=[responses.Answer(option_id=slot.unit.options.get().pk, value=5, position=1)],
        )
    assert not Response.objects.exists()
    enrolment.refresh_from_db()
    assert items.next_items(enrolment=enrolment).state == "withdrawn"


@pytest.mark.parametrize("status", [StudyStatus.PAUSED, StudyStatus.CLOSED])
def test_it_reaches_studies_that_are_not_open(study, amal, status):
    filled = Response.objects.get().slot
    study.status, study.closed_at = status, timezone.now() if status == StudyStatus.CLOSED else None
    study.save()
    withdraw(amal, study)
    after = Slot.objects.get(pk=filled.pk)
    assert after.state == SlotState.OPEN
    assert (after.queue > filled.queue) == (status == StudyStatus.PAUSED)
    assert exported(study) == []


def test_an_export_lacks_the_withdrawn_rows(study, amal):
    other = answer(factories.enrolment(study))
    assert {row["annotator"] for row in exported(study)} == {amal.pseudonym, other.annotator.pseudonym}
    withdraw(amal, study)
    assert {row["annotator"] for row in exported(study)} == {other.annotator.pseudonym}


def test_scores_made_before_are_stale_and_the_next_ones_leave_the_answers_out():
    study = factories.study(name="pictures", stereotype_source=factories.source())
    task = factories.task(study, kind=TaskKind.DEPICTION, strata=("any", "any"))
    for text in ("hat", "sombrero"):
        factories.association(text=text, out_votes=(3, 0, 0))
    unit = factories.page_unit(task, picture=factories.image(group_name="Mexican"))
    amal, other = factories.annotator(), factories.annotator()
    for who, values in ((amal, [1, 1, 0, 0, 0]), (other, [0, 0, 0, 0, 1])):
        factories.enrolment(study, who=who)
        response = factories.response(unit, values=values, who=who)
    drawn = Judgement.objects.filter(response__annotator=amal, value=1).first()
    Box.objects.create(judgement=drawn, x0=1, y0=1, x1=9, y1=9, image_width=512, image_height=512)

    def stereo() -> tuple[float | None, bool]:
        latest = scores.latest_run(study, "tendency", "corrected")
        (by_name,) = scores.scores_by_group(latest.run).values()
        return by_name["l_stereo"].value, latest.stale

    score_runs.compute(run_id=score_runs.request(study=study, metric="tendency", variant="corrected").pk)
    assert stereo() == (0.5, False)
    withdraw(amal, study)
    assert stereo() == (0.5, True)
    score_runs.compute(run_id=score_runs.request(study=study, metric="tendency", variant="corrected").pk)
    assert stereo() == (0.0, False)
    assert response.judgements.count() == 5


def test_who_only_stops_keeps_their_answers_in_the_data_and_gives_back_what_they_hold(study, amal):
    assert withdrawals.stop(annotator=amal, study=study) is True
    assert withdrawals.stop(annotator=amal, study=study) is False
    enrolment = Enrolment.objects.get()
    assert enrolment.status == EnrolmentStatus.FINISHED
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()
    assert len(exported(study)) == 1
    # not even a check that is due
    moustache = factories.attribute("moustache")
    Unit.objects.create(task=study.tasks.get(), position=9, attribute=moustache, purpose=Purpose.GOLD)
    study.gold_rate, enrolment.answered = 0.5, 9
    study.save()
    enrolment.study = study
    assert items.next_items(enrolment=enrolment).state == "done"


def test_who_stopped_can_come_back_and_who_is_blocked_cannot_use_that(study, amal):
    assert withdrawals.come_back(annotator=amal, study=study) is False
    withdrawals.stop(annotator=amal, study=study)
    assert withdrawals.come_back(annotator=amal, study=study) is True
    assert items.next_items(enrolment=Enrolment.objects.get()).state == "items"

    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    assert withdrawals.stop(annotator=amal, study=study) is False
    assert withdrawals.come_back(annotator=amal, study=study) is False
    assert Enrolment.objects.get().status == EnrolmentStatus.BLOCKED


def test_stopping_in_training_is_no_way_around_it(study):
    factories.attribute_unit(study.tasks.get(), "moustache", purpose=Purpose.TRAINING)
    who = factories.enrolment(study)
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    withdrawals.stop(annotator=who.annotator, study=study)
    withdrawals.come_back(annotator=who.annotator, study=study)
    assert Enrolment.objects.get().status == EnrolmentStatus.TRAINING


@pytest.mark.parametrize("status", [EnrolmentStatus.BLOCKED, EnrolmentStatus.SCREENED_OUT])
def test_who_was_shut_out_can_still_take_their_answers_back(study, amal, status):
    Enrolment.objects.update(status=status)
    assert withdraw(amal, study).responses == 1
    assert Annotator.objects.get(pk=amal.pk).enrolments.get().status == EnrolmentStatus.WITHDRAWN


# -- manage.py withdraw


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("withdraw", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_says_first_what_it_would_do(study, amal):
    assert f"1 answers of {amal.pseudonym} in 'words' would be withdrawn" in command("words", amal.pseudonym)
    assert Response.objects.get().withdrawn_at is None


def test_the_command_withdraws_for_somebody_who_asked(study, amal):
    factories.user("steward", admin=True)
    said = command("words", amal.pseudonym, "--by", "steward", "--yes")
    assert said == "1 answers withdrawn, 1 slots reopened.\n"
    event = AuditEvent.objects.get()
    assert (event.by.username, event.details["asked_by"]) == ("steward", "the team")
    assert command("words", amal.pseudonym, "--yes") == "Nothing was left to withdraw.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing", "a-x"), "no study 'nothing'"),
        (("words", "amal"), "no annotator 'amal'. Write the pseudonym"),
        (("words", "a-other", "--by", "nobody"), "no account 'nobody'"),
        (("words", "a-other", "--yes"), "a-other is not in the study 'words'"),
    ],
)
def test_the_command_names_what_it_does_not_find(study, arguments, words):
    factories.annotator(pseudonym="a-other")
    with pytest.raises(CommandError, match=words):
        command(*arguments)
