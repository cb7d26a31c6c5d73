"""Merging two annotators touches nobody else who answers, skips and holds the same units."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotation.accounts.services import merging
from annotation.accounts.services.merging import MergeRefused
from annotation.assignment import lease_keys
from annotation.assignment.services import slots
from annotation.models import (
    Annotator,
    ApiToken,
    Consent,
    Enrolment,
    ProfileAnswer,
    Response,
    Skip,
    Slot,
    SlotState,
)
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.rating_study(name="words", texts=("sombrero", "kind", "poor", "hat"))


def taking_part(study, name):
    who = factories.annotator(user=factories.user(name), pseudonym=f"a-{name}", profile={"origin": name})
    return factories.enrolment(study, who=who, consented=True)


def skip(unit, who):
    key = lease_keys.issue(annotator_id=who.pk, unit_id=unit.pk)
    Skip.objects.create(unit=unit, annotator=who, client_key=key, reason="unclear", at=timezone.now())


def rows_of(who):
    kinds = (Response, Skip, Slot, Consent, ProfileAnswer, Enrolment)
    rows = {kind: list(kind.objects.filter(annotator=who).order_by("pk").values()) for kind in kinds}
    assert all(rows.values())
    return rows


def test_whoever_works_beside_them_keeps_everything(study):
    admin = factories.user("root", admin=True)
    kept, twin, other = (taking_part(study, name) for name in ("kept", "twin", "other"))
    both, shared, skipped, _ = study.tasks.get().units.order_by("position")
    for unit, each in ((both, other), (both, kept), (both, twin), (shared, other), (shared, twin)):
        factories.response(unit, who=each.annotator)
    second = factories.rating_study(name="second")
    for each in (twin, other):
        there = factories.enrolment(second, who=each.annotator, consented=True)
        assert slots.lease_next(enrolment=there)
    for each in (kept, twin, other):
        skip(skipped, each.annotator)
    assert slots.lease_next(enrolment=other)
    session = SessionStore()
    session["_auth_user_id"] = str(other.annotator.user_id)
    session.save()
    token = ApiToken.objects.create(
        user=other.annotator.user, name="t", prefix="p", digest="c" * 64, expires_at=timezone.now()
    )
    twin.annotator.user.set_password("a-long-password")
    twin.annotator.user.save()
    before = rows_of(other.annotator)

    plan = merging.merge(kept=kept.annotator, duplicate=twin.annotator, by=admin)

    counts = [(each.answers, each.twice, each.held, each.skips) for each in plan.studies]
    assert counts == [(2, 1, 0, 1), (0, 0, 1, 0)]
    surplus = Response.objects.get(slot=None)
    assert (surplus.unit, surplus.annotator) == (both, kept.annotator)
    assert shared.slots.filter(annotator=kept.annotator, state=SlotState.FILLED).count() == 1
    assert rows_of(other.annotator) == before
    assert Slot.objects.filter(annotator=other.annotator, state=SlotState.LEASED).count() == 2
    assert Session.objects.filter(session_key=session.session_key).exists()
    token.refresh_from_db()
    assert token.revoked_at is None
    active = User.objects.filter(is_active=True).values_list("username", flat=True)
    assert sorted(active) == ["kept", "other", "root"]


def test_one_who_is_gone_is_missed_while_others_are_there(study):
    kept, gone, _other = (taking_part(study, name).annotator for name in ("kept", "gone", "other"))
    Annotator.objects.filter(pk=gone.pk).delete()
    with pytest.raises(MergeRefused, match="no longer exists"):
        merging.merge(kept=kept, duplicate=gone, by=factories.user("root", admin=True))


def test_an_answer_that_fills_no_place_is_neither_a_second_one_nor_counted_once_withdrawn(study):
    kept, twin = (taking_part(study, name).annotator for name in ("kept", "twin"))
    first, second, third, _ = study.tasks.get().units.order_by("position")
    surplus = factories.response(first, who=kept)
    Slot.objects.filter(pk=surplus.slot_id).update(state=SlotState.OPEN, annotator=None)
    Response.objects.filter(pk=surplus.pk).update(slot=None)
    for unit in (first, second, third):
        factories.response(unit, who=twin)
    Response.objects.filter(unit=second).update(withdrawn_at=timezone.now())
    Response.objects.filter(unit=third).update(current=False)
    (plan,) = merging.preview(kept=kept, duplicate=twin).studies
    assert (plan.answers, plan.twice) == (1, 0)
