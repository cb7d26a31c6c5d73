"""Taking in answers: validation, idempotency, strangers, late answers."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.annotate.services import responses
from annotation.annotate.services.responses import Answer, AnswerRefused, NotAssigned
from annotation.assignment.services import slots
from annotation.models import Box, Enrolment, Judgement, Response, Slot, SlotState, Task, TaskKind
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def leased():
    """An enrolment with a lease on a visual-nature unit of overlap 1."""
    of = factories.study()
    factories.attribute_unit(factories.task(of, strata=("any",)), "sombrero")
    enrolment = factories.enrolment(of)
    return enrolment, slots.lease_next(enrolment=enrolment)


def send(enrolment, slot, *, value=5, justification="", key=None, unit_id=None, **fields):
    option = slot.unit.options.get()
    return responses.submit(
        enrolment=enrolment,
        unit_id=unit_id or slot.unit_id,
        client_key=key or slot.lease_key,
        answers=[Answer(option_id=option.pk, value=value, position=1, justification=justification)],
        **fields,
    )


def test_an_answer_fills_its_slot(leased):
    enrolment, slot = leased
    Task.objects.update(version=3)
    done = send(enrolment, slot, value=4, active_ms=2100)

    assert done.outcome == "filled"
    slot.refresh_from_db()
    assert (slot.state, slot.annotator, slot.lease_key) == (SlotState.FILLED, enrolment.annotator, None)
    assert done.response.judgements.get().value == 4
    assert (done.response.active_ms, done.response.task_version) == (2100, 3)


def test_the_same_answer_sent_twice_is_kept_once(leased):
    enrolment, slot = leased
    first = send(enrolment, slot, value=4)
    second = send(enrolment, slot, value=4)

    assert (second.outcome, second.response) == ("repeat", first.response)
    assert Response.objects.count() == Judgement.objects.count() == 1


def test_a_stranger_cannot_answer_somebody_elses_item(leased):
    enrolment, slot = leased
    stranger = factories.enrolment(enrolment.study)
    with pytest.raises(NotAssigned):
        send(stranger, slot)
    with pytest.raises(NotAssigned):
        send(enrolment, slot, key=uuid4())
    other = factories.attribute_unit(slot.unit.task)
    with pytest.raises(NotAssigned):
        send(enrolment, slot, unit_id=other.pk)
    assert not Response.objects.exists()


def test_unsure_needs_a_justification(leased):
    enrolment, slot = leased
    with pytest.raises(AnswerRefused, match="in a few words why"):
        send(enrolment, slot, value=3, justification="  ")
    assert not Response.objects.exists()
    send(enrolment, slot, value=3, justification="depends on the picture")


def test_a_value_off_the_scale_is_refused_and_the_lease_stays(leased):
    enrolment, slot = leased
    with pytest.raises(AnswerRefused, match="0 is not on the scale"):
        send(enrolment, slot, value=0)
    slot.refresh_from_db()
    assert slot.state == SlotState.LEASED


def test_an_enrolment_that_is_gone_meanwhile_answers_nothing(leased):
    enrolment, slot = leased
    Enrolment.objects.filter(pk=enrolment.pk).delete()
    with pytest.raises(AnswerRefused, match="Your place in this study has changed"):
        send(enrolment, slot)


def test_options_of_another_unit_are_refused(leased):
    enrolment, slot = leased
    foreign = factories.attribute_unit(slot.unit.task).options.get()
    with pytest.raises(AnswerRefused, match="does not match the item"):
        responses.submit(
            enrolment=enrolment,
            unit_id=slot.unit_id,
            client_key=slot.lease_key,
            answers=[Answer(option_id=foreign.pk, value=5, position=1)],
        )


def test_a_late_answer_takes_the_slot_if_it_is_still_open(leased):
    enrolment, slot = leased
    slots.release_expired(now=timezone.now() + timedelta(days=1))

    assert send(enrolment, slot).outcome == "filled"


def test_a_late_answer_takes_the_first_slot_that_is_open(leased):
    enrolment, slot = leased
    slots.release_leases(enrolment=enrolment)
    Slot.objects.create(study=slot.study, unit=slot.unit, index=1, queue=99, stratum=slot.stratum)
    assert send(enrolment, slot).response.slot.index == 0


def test_a_late_answer_whose_slot_is_gone_is_kept_as_a_surplus(leased):
    enrolment, slot = leased
    slots.release_expired(now=timezone.now() + timedelta(days=1))
    other = factories.enrolment(enrolment.study)
    send(other, slots.lease_next(enrolment=other))

    done = send(enrolment, slot)

    assert done.outcome == "surplus"
    assert done.response.slot is None
    assert Slot.objects.get().annotator == other.annotator
    assert send(enrolment, slot).outcome == "repeat"


def test_a_late_answer_takes_no_slot_of_a_stratum_that_is_not_theirs(leased):
    enrolment, slot = leased
    slots.release_leases(enrolment=enrolment)
    Slot.objects.update(stratum="origin: Asia")
    assert send(enrolment, slot).outcome == "surplus"


def test_a_second_answer_to_a_unit_is_a_surplus(leased):
    enrolment, slot = leased
    slots.release_leases(enrolment=enrolment)
    again = slots.lease_next(enrolment=enrolment)
    assert send(enrolment, again).outcome == "filled"
    assert send(enrolment, slot).outcome == "surplus"
    assert Slot.objects.get().state == SlotState.FILLED


def test_a_wrong_clock_never_makes_an_answer_end_before_it_starts(leased):
    enrolment, slot = leased
    now = timezone.now()
    done = send(enrolment, slot, started_at=now + timedelta(hours=3), active_ms=-5, idle_ms=-5, now=now)
    assert done.response.started_at == done.response.submitted_at == now
    assert done.response.active_ms == done.response.idle_ms == enrolment.session_active_ms == 0


@pytest.fixture
def page():
    of = factories.study()
    unit = factories.page_unit(
        factories.task(of, kind=TaskKind.DEPICTION), picture=factories.image(width=100, height=80)
    )
    enrolment = factories.enrolment(of)
    return enrolment, unit, slots.lease_next(enrolment=enrolment)


def mark(page, selected: dict[int, list], **changes):
    """Select the options at the given canonical positions, each with its boxes."""
    enrolment, unit, slot = page
    answers = [
        Answer(
            option_id=option.pk,
            value=int(option.position in selected),
            position=changes.get("position", option.position),
            boxes=selected.get(option.position, ()),
        )
        for option in unit.options.all()
    ]
    return responses.submit(enrolment=enrolment, unit_id=unit.pk, client_key=slot.lease_key, answers=answers)


def test_boxes_are_clipped_to_the_image_and_their_corners_put_in_order(page):
    mark(page, {1: [(120, 90, 50, 40)], 2: [(-5, 0, 10, 10)]})
    drawn = [(box.x0, box.y0, box.x1, box.y1) for box in Box.objects.order_by("x0")]
    assert drawn == [(0, 0, 10, 10), (50, 40, 100, 80)]
    assert set(Box.objects.values_list("image_width", "image_height")) == {(100, 80)}


def test_a_box_outside_the_image_is_refused(page):
    for inside in ([], [(0, 0, 5, 5)]):
        with pytest.raises(AnswerRefused, match="outside the image"):
            mark(page, {1: [*inside, (101, 0, 120, 40)]})
    assert not Response.objects.exists()


def test_a_box_on_an_attribute_that_is_not_selected_is_refused(page):
    enrolment, unit, slot = page
    for shown in ({"boxes": [(0, 0, 5, 5)]}, {"whole_image": True}):
        answers = [
            Answer(option_id=option.pk, value=0, position=option.position, **shown)
            for option in unit.options.all()
        ]
        with pytest.raises(AnswerRefused, match="belongs to a selected attribute"):
            responses.submit(enrolment=enrolment, unit_id=unit.pk, client_key=slot.lease_key, answers=answers)


def test_something_is_selected_and_each_selected_attribute_is_shown_in_the_image(page):
    for selected, message in (({}, "Nothing is chosen"), ({1: []}, "draw a box")):
        with pytest.raises(AnswerRefused, match=message):
            mark(page, selected)
    assert not Response.objects.exists()


def test_none_of_the_above_excludes_the_rest(page):
    with pytest.raises(AnswerRefused, match="None of the above"):
        mark(page, {1: [], 5: []})
    mark(page, {5: []})


def test_each_option_is_answered_once(page):
    enrolment, unit, slot = page
    first = unit.options.earliest("position").pk
    answers = [Answer(option_id=first, value=1, position=place, whole_image=True) for place in range(1, 6)]
    with pytest.raises(AnswerRefused, match="does not match the item"):
        responses.submit(enrolment=enrolment, unit_id=unit.pk, client_key=slot.lease_key, answers=answers)


def test_positions_must_number_the_options(page):
    with pytest.raises(AnswerRefused, match="order in which"):
        mark(page, {}, position=1)
