"""What an annotator is given next: training, checks mixed in, the session's cap."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.annotate.services import items, responses
from annotation.annotate.services.responses import Answer
from annotation.models import (
    Enrolment,
    EnrolmentStatus,
    Option,
    Purpose,
    Response,
    SkipReason,
    Slot,
    SlotState,
    Study,
    StudyStatus,
    TaskKind,
    Unit,
)
from annotation.participation.services import annotators
from tests import factories

pytestmark = pytest.mark.django_db


def rating(*, data: int = 0, training: int = 0, gold: int = 0, **settings):
    of = factories.study(**settings)
    task = factories.task(of, strata=("any",))
    for _ in range(data):
        factories.attribute_unit(task)
    for purpose, number in ((Purpose.TRAINING, training), (Purpose.GOLD, gold)):
        for _ in range(number):
            check(task, purpose)
    return of


def check(task, purpose):
    """A training or gold item: Strongly agree or Agree is right."""
    unit = factories.attribute_unit(task, purpose=purpose, feedback="A hat is a thing that can be seen.")
    unit.slots.all().delete()
    unit.options.update(expected=[5, 4])
    return unit


def joined(of) -> Enrolment:
    factories.consent_text(of)
    return annotators.enrol(annotator=factories.annotator(), study=of)


def fresh(enrolment) -> Enrolment:
    return Enrolment.objects.select_related("study", "annotator").get(pk=enrolment.pk)


def next_of(enrolment, wanted=1, **more):
    return items.next_items(enrolment=fresh(enrolment), wanted=wanted, **more)


def answer(enrolment, item, value=5, **more):
    option = Unit.objects.get(pk=item.unit_id).options.get()
    return responses.submit(
        enrolment=enrolment,
        unit_id=item.unit_id,
        client_key=item.client_key,
        answers=[Answer(option_id=option.pk, value=value, position=1)],
        **more,
    )


def test_several_items_are_in_hand_at_once_and_stay_the_same():
    enrolment = joined(rating(data=5))
    first = next_of(enrolment, 3)
    again = next_of(enrolment, 3)
    assert [item.purpose for item in first.items] == ["data"] * 3
    assert again == first
    answer(enrolment, first.items[0])
    third = next_of(enrolment, 3)
    assert third.items[:2] == first.items[1:]
    assert len({item.unit_id for item in first.items + third.items}) == 4


def test_when_nothing_is_left_it_says_so():
    enrolment = joined(rating(data=1))
    answer(enrolment, next_of(enrolment).items[0])
    assert next_of(enrolment) == items.NextItems(state="done")


@pytest.mark.parametrize(
    ("status", "state"),
    [(StudyStatus.DRAFT, "paused"), (StudyStatus.PAUSED, "paused"), (StudyStatus.CLOSED, "closed")],
)
def test_nothing_is_given_out_of_a_study_that_is_not_open(status, state):
    assert next_of(joined(rating(data=1, status=status))).state == state


@pytest.mark.parametrize("status", ["blocked", "screened_out", "withdrawn"])
def test_nothing_is_given_to_somebody_who_may_not_go_on(status):
    enrolment = joined(rating(data=1))
    Enrolment.objects.update(status=status)
    assert next_of(enrolment).state == status
    Study.objects.update(status=StudyStatus.PAUSED)
    assert next_of(enrolment).state == status, "which will not change when the study goes on"


def test_training_comes_first_tells_what_was_right_and_qualifies():
    enrolment = joined(rating(data=2, training=2, training_pass=0.5))
    assert enrolment.status == EnrolmentStatus.TRAINING
    right = answer(enrolment, next_of(enrolment).items[0], value=4)
    wrong = answer(enrolment, next_of(enrolment).items[0], value=1)

    assert (right.outcome, right.correct, wrong.correct) == ("check", True, False)
    assert "A hat is a thing" in wrong.feedback
    at_work = fresh(enrolment)
    assert items.next_items(enrolment=at_work).items[0].purpose == Purpose.DATA
    assert fresh(enrolment).status == at_work.status == EnrolmentStatus.QUALIFIED
    assert (fresh(enrolment).answered, fresh(enrolment).golds) == (0, 0)


def test_who_fails_the_training_is_screened_out():
    enrolment = joined(rating(data=2, training=2, training_pass=0.6))
    for value in (4, 1):
        answer(enrolment, next_of(enrolment).items[0], value=value)
    assert next_of(enrolment).state == "screened_out"
    assert fresh(enrolment).status == EnrolmentStatus.SCREENED_OUT
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()


def test_training_sent_twice_gives_the_same_feedback():
    enrolment = joined(rating(training=1))
    item = next_of(enrolment).items[0]
    first = answer(enrolment, item, value=1)
    second = answer(enrolment, item, value=1)
    assert (second.outcome, second.correct, second.feedback) == ("repeat", first.correct, first.feedback)


def test_gold_items_come_at_the_rate_and_never_tell_that_they_are_gold():
    enrolment = joined(rating(data=12, gold=3, gold_rate=0.25))
    seen = []
    while (work := next_of(enrolment)).state == "items":
        done = answer(enrolment, work.items[0], value=1)
        seen.append(work.items[0].purpose)
        assert (done.correct, done.feedback) == (None, "")
    assert seen.count("gold") == 3
    assert [place for place, purpose in enumerate(seen) if purpose == "gold"] == [4, 9, 14]
    assert Response.objects.filter(unit__purpose="gold", slot__isnull=False).count() == 0


def test_one_check_at_a_time_is_due_in_the_place_of_a_data_item():
    enrolment = joined(rating(data=5, gold=2, gold_rate=0.5))
    Enrolment.objects.update(answered=8)
    assert len(next_of(enrolment).assigned_keys) == 2, "what comes after the check is reserved already"
    given = next_of(enrolment, 3)
    assert [item.purpose for item in given.items] == ["gold", "data", "data"]
    assert len(given.assigned_keys) == 3


def test_annotators_meet_gold_items_in_orders_of_their_own():
    of = rating(data=60, gold=8, gold_rate=0.5)
    orders = set()
    for _ in range(6):
        enrolment = joined_again(of)
        golds = []
        while len(golds) < 3:
            item = next_of(enrolment).items[0]
            answer(enrolment, item)
            golds += [item.unit_id] if item.purpose == "gold" else []
        orders.add(tuple(golds))
    assert len(orders) > 1


def joined_again(of):
    return annotators.enrol(annotator=factories.annotator(), study=of)


def test_the_cap_ends_a_session_and_a_new_session_begins_later():
    enrolment = joined(rating(data=5, session_cap=2))
    now = timezone.now()
    assert len(next_of(enrolment, 3, now=now).items) == 2, "no more in hand than the cap leaves"
    assert Slot.objects.filter(state=SlotState.LEASED).count() == 2
    for _ in range(2):
        answer(enrolment, next_of(enrolment, now=now).items[0], now=now, active_ms=1000)
    assert next_of(enrolment, now=now + timedelta(hours=1)).state == "cap"
    later = now + timedelta(hours=13)
    work = next_of(enrolment, now=later)
    assert work.state == "items"
    answer(enrolment, work.items[0], now=later, active_ms=500)
    counted = fresh(enrolment)
    assert (counted.session_units, counted.session_active_ms, counted.answered) == (1, 500, 3)


def test_at_twelve_hours_a_session_goes_on_and_its_cap_with_it():
    enrolment = joined(rating(data=5, session_cap=2))
    now = timezone.now()
    end = now + timedelta(hours=12)
    for at in (now, end):
        answer(enrolment, next_of(enrolment, now=at).items[0], now=at)
    assert fresh(enrolment).session_units == 2
    assert next_of(enrolment, now=end).state == "cap"


def test_what_is_held_beyond_the_cap_is_not_for_this_session():
    of = rating(data=5)
    enrolment = joined(of)
    held = next_of(enrolment, 3).items
    type(of).objects.update(session_cap=2)
    capped = next_of(enrolment, 3)
    assert capped.items == held[:2]
    assert capped.assigned_keys == [item.client_key for item in held[:2]]


def test_an_attention_check_comes_like_a_gold_item_until_it_is_skipped():
    of = rating(data=3, gold_rate=0.5)
    check(of.tasks.get(), Purpose.ATTENTION)
    check(rating(gold=1).tasks.get(), Purpose.GOLD)
    enrolment = joined(of)
    for _ in range(2):
        answer(enrolment, next_of(enrolment).items[0])
    [due] = next_of(enrolment).items
    assert due.purpose == Purpose.ATTENTION
    responses.skip(
        enrolment=enrolment, unit_id=due.unit_id, client_key=due.client_key, reason=SkipReason.UNCLEAR
    )
    assert next_of(enrolment).items[0].purpose == Purpose.DATA


def test_training_comes_in_its_order_and_counts_in_its_own_study_only():
    of = rating(data=1, training=6, training_pass=1)
    enrolment = joined(of)
    in_order = list(Unit.objects.filter(purpose=Purpose.TRAINING).order_by("position"))
    assert [item.unit_id for item in next_of(enrolment, 6).items] == [unit.pk for unit in in_order]
    elsewhere = check(rating().tasks.get(), Purpose.TRAINING)
    factories.open_slots(elsewhere)
    factories.response(elsewhere, values=[1], who=enrolment.annotator)
    for item in next_of(enrolment, 6).items:
        answer(enrolment, item)
    assert next_of(enrolment).state == "items"


def test_training_of_one_task_is_not_mixed_with_that_of_another():
    of = rating(training=1)
    other = factories.task(of, kind=TaskKind.OFFENSIVENESS)
    for _ in range(2):
        check(other, Purpose.TRAINING)
    given = [item.unit_id for item in next_of(joined(of), 3).items]
    assert sorted(given[:2]) == sorted(other.units.values_list("pk", flat=True))


def test_training_that_expects_nothing_screens_nobody_out():
    of = rating(data=1, training=1, training_pass=1)
    Option.objects.update(expected=None)
    enrolment = joined(of)
    answer(enrolment, next_of(enrolment).items[0])
    assert next_of(enrolment).state == "items"


def test_who_was_blocked_while_they_finished_training_stays_blocked():
    enrolment = joined(rating(data=1, training=1))
    answer(enrolment, next_of(enrolment).items[0])
    before = fresh(enrolment)
    Enrolment.objects.update(status=EnrolmentStatus.BLOCKED)
    assert items.next_items(enrolment=before).items == []
    assert fresh(enrolment).status == EnrolmentStatus.BLOCKED


def test_checks_count_in_no_score():
    from metrics.core.answers import counted_responses

    of = rating(data=2, gold=1, gold_rate=0.5)
    enrolment = joined(of)
    while (work := next_of(enrolment)).state == "items":
        answer(enrolment, work.items[0])
    assert Response.objects.count() == 3
    assert counted_responses(of, "visual_nature").count() == 2
