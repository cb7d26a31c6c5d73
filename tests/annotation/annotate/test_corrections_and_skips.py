"""A change of mind is a new revision; a skip costs nothing."""

from __future__ import annotations

from uuid import uuid4

import pytest

from annotation.annotate import queries
from annotation.annotate.services import responses, saving
from annotation.annotate.services.responses import Answer, AnswerRefused, NotAssigned
from annotation.assignment import lease_keys
from annotation.assignment.services import slots
from annotation.models import Enrolment, Judgement, Response, Skip, Slot, SlotState, Study, StudyStatus
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def answered():
    """An enrolment and its answer 'Strongly agree' to the one unit of a study."""
    of = factories.study()
    unit = factories.attribute_unit(factories.task(of, strata=("any",)))
    enrolment = factories.enrolment(of)
    slot = slots.lease_next(enrolment=enrolment)
    return enrolment, responses.submit(
        enrolment=enrolment, unit_id=unit.pk, client_key=slot.lease_key, answers=answers_to(unit, 5)
    ).response


def answers_to(unit, value):
    return [Answer(option_id=unit.options.get().pk, value=value, position=1)]


def revise(enrolment, earlier, value, key=None):
    return responses.revise(
        enrolment=enrolment,
        unit_id=earlier.unit_id,
        client_key=key or queries.correction_key(enrolment=enrolment, earlier=earlier),
        answers=answers_to(earlier.unit, value),
    )


def counters(enrolment):
    return [getattr(enrolment, name) for name in saving.COUNTERS]


def test_a_correction_replaces_the_answer_and_keeps_the_earlier_one(answered):
    enrolment, first = answered
    before = counters(enrolment)
    second = revise(enrolment, first, 2).response
    Study.objects.update(status=StudyStatus.PAUSED)
    third = revise(enrolment, second, 1).response
    assert counters(enrolment) == counters(Enrolment.objects.get()) == before, "it was counted already"

    assert list(Response.objects.order_by("revision").values_list("revision", "current")) == [
        (1, False),
        (2, False),
        (3, True),
    ]
    assert third.slot == first.slot
    assert list(Judgement.objects.order_by("response__revision").values_list("value", flat=True)) == [5, 2, 1]


def test_a_correction_sent_twice_is_kept_once(answered):
    enrolment, first = answered
    key = queries.correction_key(enrolment=enrolment, earlier=first)
    assert [revise(enrolment, first, 2, key).outcome for _ in range(2)] == ["revised", "repeat"]
    assert Response.objects.count() == 2


def test_a_correction_of_what_was_corrected_in_another_tab_is_refused(answered):
    enrolment, first = answered
    stale = queries.correction_key(enrolment=enrolment, earlier=first)
    second = revise(enrolment, first, 2).response
    third_key = queries.correction_key(enrolment=enrolment, earlier=second)
    revise(enrolment, second, 4, third_key)
    with pytest.raises(AnswerRefused, match="changed in another window"):
        revise(enrolment, first, 1, key=fresh_key(enrolment, first, stale))
    assert Response.objects.filter(current=True).get().judgements.get().value == 4


def fresh_key(enrolment, earlier, stale):
    """A key that is validly issued for the unit but is not the next revision's."""
    other = lease_keys.issue(annotator_id=enrolment.annotator_id, unit_id=earlier.unit_id)
    assert other != stale
    return other


def test_nobody_corrects_what_is_not_theirs_or_after_the_study_is_closed(answered):
    enrolment, first = answered
    stranger = factories.enrolment(enrolment.study)
    with pytest.raises(NotAssigned):
        revise(stranger, first, 1, queries.correction_key(enrolment=enrolment, earlier=first))
    with pytest.raises(AnswerRefused, match="changed in another window"):
        revise(stranger, first, 1, queries.correction_key(enrolment=stranger, earlier=first))
    factories.study(status=StudyStatus.CLOSED)
    first = revise(enrolment, first, 2).response
    Study.objects.update(status=StudyStatus.CLOSED, closed_at=first.submitted_at)
    with pytest.raises(AnswerRefused, match="closed"):
        revise(enrolment, first, 1)
    assert Response.objects.count() == 2


def test_a_correction_is_of_the_answer_to_its_own_unit(leased):
    enrolment, slot = leased
    answers = []
    for _ in range(2):
        slot = slots.lease_next(enrolment=enrolment)
        answers.append(
            responses.submit(
                enrolment=enrolment,
                unit_id=slot.unit_id,
                client_key=slot.lease_key,
                answers=answers_to(slot.unit, 5),
            ).response
        )
    assert [revise(enrolment, each, 2).response.unit_id for each in reversed(answers)] == [
        each.unit_id for each in reversed(answers)
    ]


@pytest.fixture
def leased():
    of = factories.study()
    task = factories.task(of, strata=("any",))
    for _ in range(2):
        factories.attribute_unit(task)
    enrolment = factories.enrolment(of)
    return enrolment, slots.lease_next(enrolment=enrolment)


def skip(enrolment, slot, **more):
    fields = {"unit_id": slot.unit_id, "client_key": slot.lease_key, "reason": "upsetting", **more}
    return responses.skip(enrolment=enrolment, **fields)


def test_a_skipped_unit_goes_to_somebody_else_and_does_not_come_back(leased):
    enrolment, slot = leased
    skip(enrolment, slot, note="Too close to home.")

    assert slots.lease_next(enrolment=enrolment).unit_id != slot.unit_id
    other = factories.enrolment(enrolment.study)
    leased_units = {one.unit_id for one in slots.lease(enrolment=other, wanted=3)}
    assert slot.unit_id in leased_units
    assert Skip.objects.get().note == "Too close to home."


def test_skipping_twice_is_the_same_as_once(leased):
    enrolment, slot = leased
    assert skip(enrolment, slot) == skip(enrolment, slot)
    assert Slot.objects.filter(state=SlotState.LEASED).count() == 0


def test_a_skip_needs_a_reason_and_a_unit_of_ones_own(leased):
    enrolment, slot = leased
    with pytest.raises(AnswerRefused, match="is not a reason"):
        skip(enrolment, slot, reason="bored")
    with pytest.raises(NotAssigned):
        skip(enrolment, slot, client_key=uuid4())
    with pytest.raises(NotAssigned):
        skip(factories.enrolment(enrolment.study), slot)
    assert not Skip.objects.exists()


def test_what_was_answered_cannot_be_skipped(leased):
    enrolment, slot = leased
    responses.submit(
        enrolment=enrolment, unit_id=slot.unit_id, client_key=slot.lease_key, answers=answers_to(slot.unit, 4)
    )
    with pytest.raises(AnswerRefused, match="answered this item already"):
        skip(enrolment, slot)


def test_who_has_withdrawn_answers_nothing_more(leased):
    enrolment, slot = leased
    type(enrolment).objects.update(status="withdrawn")
    with pytest.raises(AnswerRefused, match="withdrawn"):
        responses.submit(
            enrolment=enrolment,
            unit_id=slot.unit_id,
            client_key=slot.lease_key,
            answers=answers_to(slot.unit, 4),
        )
    assert not Response.objects.exists()


def test_an_item_of_another_study_is_neither_skipped_nor_answered_here(leased):
    enrolment, slot = leased
    elsewhere = factories.enrolment(factories.study(), who=enrolment.annotator)
    with pytest.raises(NotAssigned, match="another study"):
        skip(elsewhere, slot)
    with pytest.raises(NotAssigned, match="another study"):
        responses.submit(
            enrolment=elsewhere,
            unit_id=slot.unit_id,
            client_key=slot.lease_key,
            answers=answers_to(slot.unit, 4),
        )
    assert not Skip.objects.exists()
    assert not Response.objects.exists()


def test_gold_items_can_be_corrected_like_others_so_that_nobody_can_tell_them():
    of = factories.study()
    unit = factories.attribute_unit(factories.task(of), purpose="gold")
    unit.slots.all().delete()
    enrolment = factories.enrolment(of)
    key = lease_keys.fixed(annotator_id=enrolment.annotator_id, unit_id=unit.pk, occasion="gold")
    first = responses.submit(
        enrolment=enrolment, unit_id=unit.pk, client_key=key, answers=answers_to(unit, 5)
    ).response
    assert revise(enrolment, first, 2).outcome == "revised"
