"""The admin's pages about everybody."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.accounts.queries import accounts as account_queries
from annotation.accounts.services import accounts
from annotation.assignment.services import slots
from annotation.models import Annotator, AuditEvent, Enrolment, EnrolmentStatus, Slot, SlotState
from annotation.participation.services import annotators, invitations
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    user = factories.user("root", admin=True)
    client.force_login(user)
    return user


@pytest.fixture
def study():
    return factories.rating_study(name="words", title="Words", crowd_parameters={"participant": "PID"})


def names(text: str = "", role: str = "", state: str = "", page: int = 1) -> list[str]:
    return [each.name for each in account_queries.people(text=text, role=role, state=state, page=page)[1]]


def test_everybody_is_listed_once_with_roles_studies_and_work_in_hand(client, admin, study):
    lead = factories.user("lena")
    study.leads.add(lead)
    lead.email = "lena@example.org"
    lead.save()
    link = invitations.create(study=study, by=lead, label="mailing of May")
    taking = factories.enrolment(study, user=factories.user("amal"), pseudonym="a-amal")
    Enrolment.objects.filter(pk=taking.pk).update(invitation=link)
    slots.lease_next(enrolment=taking)
    lone = factories.enrolment(study, pseudonym="a-lone", simulated=True)
    page = client.get("/people/").text
    rows = {re.search(r"<a href=[^>]*>([^<]*)", row)[1]: row for row in page.split("<tr>")[2:]}
    assert sorted(rows) == ["a-lone", "amal", "lena", "root"]
    assert "leads 1 study" in rows["lena"]
    assert "lena@example.org" in rows["lena"]
    assert all(each in rows["amal"] for each in ("a-amal", "Words", "mailing of May", "Qualified"))
    assert '<td class="number">1</td>' in rows["amal"]
    assert "no account" in rows["a-lone"]
    assert lone.annotator.pk


def test_search_and_filters(admin, study):
    lead, maker, gone = factories.user("lena"), factories.user("maker"), factories.user("gone")
    study.leads.add(lead)
    lead.first_name, lead.last_name, lead.email = "Lena", "Haddad", "lh@example.org"
    lead.save()
    accounts.set_may_create_studies(user=maker, on=True, by=admin)
    accounts.set_active(user=gone, on=False, by=admin)
    blocked = factories.enrolment(study, user=factories.user("amal"), pseudonym="a-amal")
    Enrolment.objects.filter(pk=blocked.pk).update(status=EnrolmentStatus.BLOCKED)
    crowd = factories.enrolment(study, who=annotators.newcomer())
    Enrolment.objects.filter(pk=crowd.pk).update(crowd_participant="5f9abc")
    lone = factories.enrolment(study, pseudonym="a-lone")
    Enrolment.objects.filter(pk=lone.pk).update(crowd_participant="7c0def")
    for text in ("LENA", "haddad", "Lena Haddad", "lh@exam"):
        assert names(text) == ["lena"], text
    assert names("a-am") == ["amal"]
    assert names("a-lone") == ["a-lone"]
    assert names("5f9abc") == [crowd.annotator.user.username]
    assert names("7c0def") == ["a-lone"]
    assert names("5f9") == [], "a platform's id is not to be guessed piece by piece"
    assert names(role="admin") == ["root"]
    assert names(role="set_up") == ["maker"]
    assert names(role="lead") == ["lena"]
    assert sorted(names(role="annotator")) == sorted(["amal", "a-lone", crowd.annotator.user.username])
    assert names(role="none") == ["gone"]
    assert names(state="off") == ["gone"]
    assert names(state="no_account") == ["a-lone"]
    assert names(state="blocked") == ["amal"]
    assert names("amal", role="annotator", state="blocked") == ["amal"]
    assert names("amal", role="lead") == []
    assert len(names(role="nonsense", state="nonsense")) == len(names())


def test_the_newest_come_first_and_so_do_their_studies(study):
    factories.user("old")
    lone = factories.enrolment(study, pseudonym="a-lone").annotator
    user = factories.user("amal")
    for number, title in enumerate(("Words", "Images")):
        taken = factories.enrolment(factories.study(title=title), who=lone)
        Enrolment.objects.filter(pk=taken.pk).update(joined_at=timezone.now() + timedelta(days=2 - number))
        factories.study(title=title, leads=[user])
    amal, lone, _ = account_queries.people()[1]
    assert ([each.title for each in amal.leads], names()) == (["Images", "Words"], ["amal", "a-lone", "old"])
    assert [each.enrolment.study.title for each in lone.enrolments] == ["Words", "Images", study.title]


def test_the_platforms_id_is_shown_nowhere(client, admin, study):
    enrolment = factories.enrolment(study, who=annotators.newcomer())
    Enrolment.objects.filter(pk=enrolment.pk).update(crowd_participant="5f9abc")
    for url in ("/people/", f"/people/u{enrolment.annotator.user_id}/"):
        assert "5f9abc" not in client.get(url).text


def test_pages_of_fifty_and_a_constant_number_of_queries(client, admin, study):
    def fill(number):
        for each in range(number):
            who = annotators.newcomer() if each % 2 else factories.annotator()
            enrolment = factories.enrolment(study, who=who)
            study.leads.add(factories.user())
            if each == 0:
                slots.lease_next(enrolment=enrolment)

    fill(2)
    with CaptureQueriesContext(connection) as few:
        client.get("/people/")
    fill(28)
    with CaptureQueriesContext(connection) as many:
        page = client.get("/people/")
    assert len(many) == len(few) <= 16
    assert page.text.count("<tr>") == 51
    older = client.get("/people/?page=2&role=")
    assert "Previous" in older.text
    assert client.get("/people/?page=nonsense").status_code == 200
    everybody = names(page=1) + names(page=2)
    assert len(everybody) == len(set(everybody)) == 61


@pytest.mark.parametrize("who", ["u0", "a0", "x1", "u", "u1x", "u" + "9" * 30, "U1", "u-1", "u١"])
def test_guessed_people_are_not_found(client, admin, who):
    assert client.get(f"/people/{who}/").status_code == 404
    assert client.get(f"/people/{who}/erase/").status_code == 404


def test_an_annotator_with_an_account_has_one_address(client, admin):
    annotator = factories.annotator(user=factories.user("amal"))
    assert client.get(f"/people/a{annotator.pk}/").status_code == 404
    assert client.get(f"/people/u{annotator.user_id}/").status_code == 200


ON_ACCOUNTS = (
    *("make-admin", "unmake-admin", "let-set-up", "unlet-set-up"),
    *("switch-off", "switch-on", "password", "lead", "unlead"),
)


@pytest.mark.parametrize("action", [*ON_ACCOUNTS, "block", "release", "erase"])
def test_looking_at_the_question_changes_nothing(client, admin, study, action):
    enrolment = factories.enrolment(study, user=factories.user("amal"))
    slots.lease_next(enrolment=enrolment)
    who = f"u{enrolment.annotator.user_id}"
    page = client.get(f"/people/{who}/{action}/?study=words")
    assert page.status_code == 200
    assert "This action is recorded" in page.text
    assert not AuditEvent.objects.exists()
    assert Slot.objects.filter(state=SlotState.LEASED).exists()
    assert get_user_model().objects.filter(username="amal", is_active=True, is_superuser=False).exists()


@pytest.mark.parametrize("action", ["nonsense", "delete", *ON_ACCOUNTS])
def test_what_cannot_be_done_to_somebody_is_not_found(client, admin, action):
    lone = factories.annotator()
    for send in (client.get, client.post):
        assert send(f"/people/a{lone.pk}/{action}/").status_code == 404
    assert client.get(f"/people/u{admin.pk}/block/").status_code == 404, "no annotator"
    assert client.get(f"/people/u{admin.pk}/lead/?study=nosuch").status_code == 404


def test_each_action_does_what_it_says(client, admin, study):
    user = factories.user("amal")
    other = factories.rating_study(name="other")

    def do(action, **more):
        answer = client.post(f"/people/u{user.pk}/{action}/", more, follow=True)
        assert answer.status_code == 200
        user.refresh_from_db()
        return answer.text

    do("make-admin")
    assert user.is_superuser
    do("unmake-admin")
    assert not user.is_superuser
    do("let-set-up")
    assert "sets up studies" in client.get(f"/people/u{user.pk}/").text
    do("unlet-set-up")
    do("lead", study="other")
    assert other.leads.get() == user
    do("unlead", study="other")
    assert not other.leads.exists()
    enrolment = factories.enrolment(study, user=user)
    slots.lease_next(enrolment=enrolment)
    do("release")
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()
    do("block")
    assert Enrolment.objects.get().status == "blocked"
    do("switch-off")
    assert not user.is_active
    do("switch-on")
    gone = client.post(f"/people/u{user.pk}/erase/", follow=True)
    assert "The person was erased." in gone.text
    assert not Annotator.objects.exists()
    assert all(event.by == admin for event in AuditEvent.objects.all())
    assert "amal" not in str(list(AuditEvent.objects.values_list("what", "details")))


def test_what_is_refused_says_why_and_changes_nothing(client, admin):
    for action in ("unmake-admin", "switch-off", "erase"):
        answer = client.post(f"/people/u{admin.pk}/{action}/", follow=True)
        assert "notice-warning" in answer.text
    admin.refresh_from_db()
    assert (admin.is_superuser, admin.is_active) == (True, True)
    assert not AuditEvent.objects.exists()


def test_who_gives_up_their_own_role_is_led_to_the_first_page(client, admin):
    factories.user("other", admin=True)
    third = factories.user("third", admin=True)
    assert client.post(f"/people/u{third.pk}/unmake-admin/").url == f"/people/u{third.pk}/"
    answer = client.post(f"/people/u{admin.pk}/unmake-admin/")
    assert answer.url == "/"
    assert client.get("/people/").status_code == 404


@pytest.mark.parametrize(("role", "sees"), [("lead", 404), ("admin", 200)])
def test_an_account_is_made_and_its_link_leads_in(client, admin, role, sees):
    data = {"username": "lena", "email": "lena@example.org", "role": role}
    page = client.post("/people/", data)
    link = re.search(r'value="(http://testserver(/accounts/reset/[^"]+))"', page.text)[2]
    assert "The account lena is created" in page.text
    again = client.post("/people/", {**data, "username": "Lena"})
    assert again.status_code == 422
    assert "There is an account with this user name already." in again.text
    client.logout()
    form = client.get(link, follow=True).redirect_chain[-1][0]
    client.post(form, {"new_password1": "green hats 13", "new_password2": "green hats 13"})
    client.post("/accounts/login/", {"username": "lena", "password": "green hats 13"})
    assert client.get("/people/").status_code == sees
    assert client.get("/setup/").status_code == 200
    assert User.objects.get(username="lena").email == "lena@example.org"


def test_a_password_link_works_once_and_then_no_more(client, admin):
    user = factories.user("amal")
    page = client.post(f"/people/u{user.pk}/password/")
    link = re.search(r'value="(http://testserver(/accounts/reset/[^"]+))"', page.text)[2]
    assert link not in client.get(f"/people/u{user.pk}/").text, "shown once"
    client.logout()
    form = client.get(link, follow=True)
    assert "log in as amal" in form.text
    sent = client.post(
        form.redirect_chain[-1][0], {"new_password1": "green hats 13", "new_password2": "green hats 13"}
    )
    assert sent.url == "/accounts/login/"
    entered = client.post("/accounts/login/", {"username": "amal", "password": "green hats 13"})
    assert entered.url == "/"
    client.logout()
    assert "has been used or is too old" in client.get(link, follow=True).text


def test_a_password_link_is_too_old_after_three_days_and_dies_with_a_login(client, admin, settings):
    user = factories.user("amal")
    page = client.post(f"/people/u{user.pk}/password/")
    link = re.search(r'value="http://testserver(/accounts/reset/[^"]+)"', page.text)[1]
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "too old" in client.get(link, follow=True).text
    settings.PASSWORD_RESET_TIMEOUT = 60
    assert "log in as" in client.get(link, follow=True).text
    user.last_login = timezone.now() + timedelta(minutes=1)
    user.save()
    assert "too old" in client.get(link, follow=True).text


def test_merging_by_page(client, admin, study):
    stays = factories.enrolment(study, user=factories.user("amal"), pseudonym="a-stays")
    goes = factories.enrolment(study, pseudonym="a-goes")
    unit = study.tasks.get().units.earliest("position")
    for each in (stays, goes):
        factories.response(unit, who=each.annotator)
    url = f"/people/u{stays.annotator.user_id}/merge/"
    preview = client.get(url, {"with": " a-goes "})
    assert "Merge a-goes into a-stays?" in preview.text
    assert "the first answer stays" in preview.text
    assert Annotator.objects.count() == 2
    done = client.post(url, {"with": "a-goes"}, follow=True)
    assert "The two are merged." in done.text
    assert Annotator.objects.get().pseudonym == "a-stays"
    for wrong in ("a-goes", "", "nobody"):
        assert "Nobody has this pseudonym" in client.post(url, {"with": wrong}, follow=True).text
    assert "the same annotator" in client.get(url, {"with": "a-stays"}, follow=True).text


def test_merging_into_somebody_without_an_account_leads_to_their_new_address(client, admin):
    lone, account = factories.annotator(pseudonym="a-lone"), factories.annotator(user=factories.user("amal"))
    done = client.post(f"/people/a{lone.pk}/merge/", {"with": account.pseudonym})
    assert done.url == f"/people/u{account.user_id}/"
    assert client.get(done.url).status_code == 200
