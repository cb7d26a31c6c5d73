"""Roles of accounts: given and taken with a record, and never so that nobody is left in charge."""

import threading
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connections
from django.test import Client
from django.utils import timezone

from annotation import policies
from annotation.accounts.services import accounts
from annotation.accounts.services.accounts import AccountRefused
from annotation.assignment.services import slots
from annotation.models import ApiToken, AuditEvent, EnrolmentStatus, Slot, SlotState
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin():
    return factories.user("root", admin=True)


def fresh(user):
    return get_user_model().objects.get(pk=user.pk)


def recorded():
    return [(event.what, event.details) for event in AuditEvent.objects.order_by("pk")]


def test_an_admin_is_made_and_unmade_with_a_record_each(admin):
    user = factories.user("amal")
    assert accounts.set_admin(user=user, on=True, by=admin)
    assert policies.is_admin(fresh(user))
    assert fresh(user).is_staff, "Django's administration is open to them"
    assert not accounts.set_admin(user=user, on=True, by=admin), "made twice is made once"
    assert accounts.set_admin(user=user, on=False, by=admin)
    assert not fresh(user).is_staff
    assert recorded() == [("admin made", {"account": user.pk}), ("admin unmade", {"account": user.pk})]


def test_the_last_admin_stays_one(admin):
    with pytest.raises(AccountRefused, match="last admin"):
        accounts.set_admin(user=admin, on=False, by=admin)
    factories.user("no admin")
    asleep = factories.user("asleep", admin=True)
    get_user_model().objects.filter(pk=asleep.pk).update(is_active=False)
    with pytest.raises(AccountRefused, match="last admin"):
        accounts.set_admin(user=admin, on=False, by=admin)
    assert policies.is_admin(fresh(admin))
    assert not policies.is_admin(fresh(asleep))
    assert recorded() == []


def test_nobody_switches_off_their_own_account_or_the_last_admins(admin):
    with pytest.raises(AccountRefused, match="own account"):
        accounts.set_active(user=admin, on=False, by=admin)


def test_who_was_demoted_meanwhile_changes_nothing(admin):
    other = factories.user("other", admin=True)
    accounts.set_admin(user=other, on=False, by=admin)
    with pytest.raises(AccountRefused, match="no longer one"):
        accounts.set_admin(user=admin, on=False, by=other)
    get_user_model().objects.filter(pk=other.pk).update(is_superuser=True, is_active=False)
    with pytest.raises(AccountRefused, match="no longer one"):
        accounts.set_admin(user=admin, on=False, by=other)


def test_what_is_noted_of_an_account_that_takes_no_part_names_it(admin):
    user = factories.user("amal")
    factories.annotator(user=factories.user("another"))
    accounts.set_active(user=user, on=False, by=admin)
    accounts.set_active(user=user, on=True, by=admin)
    accounts.password_link(user=user, by=admin)
    assert recorded() == [
        (what, {"account": user.pk})
        for what in ("account switched off", "account switched on", "password link made")
    ]


def test_an_account_that_was_deleted_meanwhile_is_said_to_be_gone(admin):
    user = factories.user("amal")
    get_user_model().objects.filter(pk=user.pk).delete()
    with pytest.raises(AccountRefused, match="no longer exists"):
        accounts.set_admin(user=user, on=True, by=admin)


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_demote_each_other_at_once_one_stays():
    one, two = factories.user("one", admin=True), factories.user("two", admin=True)
    ready, refused = threading.Barrier(2), []

    def demote(user, by):
        try:
            ready.wait()
            accounts.set_admin(user=user, on=False, by=by)
        except AccountRefused as why:
            refused.append(str(why))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=demote, args=pair) for pair in ((one, two), (two, one))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert get_user_model().objects.filter(is_superuser=True).count() == 1


def test_leave_to_set_up_studies_comes_and_goes(admin):
    user = factories.user()
    # one of Django's own, which an admin gave
    user.user_permissions.add(Permission.objects.get(codename="view_session"))
    accounts.set_may_create_studies(user=user, on=True, by=admin)
    assert policies.may_create_studies(fresh(user))
    accounts.set_may_create_studies(user=user, on=False, by=admin)
    assert not policies.may_create_studies(fresh(user))


def test_a_lead_is_made_and_unmade_but_not_of_what_they_take_part_in(admin):
    user = factories.user()
    study, answered = factories.rating_study(), factories.rating_study()
    factories.enrolment(answered, user=user)
    factories.enrolment(study, user=factories.user("another"))
    assert accounts.set_lead(user=user, study=study, on=True, by=admin)
    assert policies.leads(fresh(user), study)
    with pytest.raises(AccountRefused, match="take part"):
        accounts.set_lead(user=user, study=answered, on=True, by=admin)
    assert accounts.set_lead(user=user, study=study, on=False, by=admin)
    assert not policies.leads(fresh(user), study)
    assert [event.study for event in AuditEvent.objects.all()] == [study, study]


@pytest.mark.parametrize("role", ["admin", "set_up", "lead"])
def test_no_role_for_an_account_that_any_link_logs_in(admin, role):
    user = factories.user()
    user.set_unusable_password()
    user.save()
    give = {
        "admin": lambda: accounts.set_admin(user=user, on=True, by=admin),
        "set_up": lambda: accounts.set_may_create_studies(user=user, on=True, by=admin),
        "lead": lambda: accounts.set_lead(user=user, study=factories.study(), on=True, by=admin),
    }[role]
    with pytest.raises(AccountRefused, match="no password"):
        give()


def test_switching_off_ends_sessions_tokens_and_leases_and_names_no_annotator(admin, client):
    user = factories.user("amal")
    study = factories.rating_study()
    enrolment = factories.enrolment(study, user=user)
    slots.lease_next(enrolment=enrolment)
    ApiToken.objects.create(
        user=user, name="mine", prefix="p", digest="0" * 64, expires_at=timezone.now(), scopes=["read"]
    )
    long_ago = timezone.now() - timedelta(days=9)
    ended = {"name": "old", "prefix": "o", "digest": "2" * 64, "expires_at": long_ago, "revoked_at": long_ago}
    ApiToken.objects.create(user=user, scopes=["read"], **ended)
    other = Client()
    other.force_login(admin)
    others = ApiToken.objects.create(
        user=admin, name="theirs", prefix="q", digest="1" * 64, expires_at=timezone.now(), scopes=["read"]
    )
    client.force_login(user)
    assert accounts.set_active(user=user, on=False, by=admin)
    assert client.get("/").status_code == 302, "out at once"
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()
    assert list(ApiToken.objects.filter(revoked_at__isnull=True)) == [others], "nobody else's"
    assert ApiToken.objects.get(name="old").revoked_at == long_ago
    assert other.get("/people/").status_code == 200
    assert accounts.set_active(user=user, on=True, by=admin)
    assert client.get("/").status_code == 302, "the old session is gone for good"
    assert recorded() == [("account switched off", {}), ("account switched on", {})]


def test_blocking_and_releasing_reach_every_study(admin):
    who = factories.annotator()
    studies = [factories.rating_study() for _ in range(3)]
    enrolments = [factories.enrolment(study, who=who) for study in studies]
    enrolments[2].status = EnrolmentStatus.WITHDRAWN
    enrolments[2].save()
    for enrolment in enrolments[:2]:
        slots.lease_next(enrolment=enrolment)
    assert accounts.release_everywhere(annotator=who, by=admin) == 2
    assert not Slot.objects.exclude(state=SlotState.OPEN).exists()
    assert accounts.block_everywhere(annotator=who, by=admin) == 2
    assert accounts.block_everywhere(annotator=who, by=admin) == 0
    statuses = [each.status for each in who.enrolments.order_by("pk")]
    assert statuses == ["blocked", "blocked", "withdrawn"]
    assert who.pseudonym not in str(recorded())
