"""The lead's pages about people: pseudonyms, numbers, blocking, invitation links."""

import re
from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.urls import reverse
from django.utils import timezone

from annotation.assignment.services import slots
from annotation.models import (
    AuditEvent,
    Enrolment,
    EnrolmentStatus,
    Invitation,
    Option,
    Purpose,
    Response,
    Skip,
    Slot,
    Study,
    StudyStatus,
    TaskKind,
    Unit,
)
from annotation.participation.services import invitations
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return factories.rating_study(name="words", leads=[lead])


@pytest.fixture
def page(client, lead, study):
    client.force_login(lead)
    return lambda name="people", *more: client.get(reverse(name, args=[study.name, *more]))


def row_of(page, pseudonym: str) -> str:
    return next(row for row in page.text.split("<tr>") if pseudonym in row)


def told(sent) -> list[str]:
    """The messages that wait for the next page."""
    return [str(message) for message in get_messages(sent.wsgi_request)]


def test_the_lead_sees_pseudonyms_and_numbers_and_no_account(page, study):
    account = factories.user("maria.gonzalez")
    enrolment = factories.enrolment(study, user=account, pseudonym="a-maria")
    Enrolment.objects.filter(pk=enrolment.pk).update(answered=7)
    shown = page()
    assert shown.status_code == 200
    assert "a-maria" in shown.text
    assert '<td class="number">7</td>' in row_of(shown, "a-maria")
    assert "gonzalez" not in shown.text


def test_skips_surplus_open_work_and_last_seen_are_counted_for_each(page, study):
    task = study.tasks.get()
    first, second, _third = task.units.order_by("position")
    one = factories.enrolment(study, consented=True, pseudonym="a-one")
    other = factories.enrolment(study, consented=True, pseudonym="a-two")
    now = timezone.now()
    answered = factories.response(first, who=one.annotator)
    Response.objects.filter(pk=answered.pk).update(slot=None)
    Slot.objects.filter(annotator=one.annotator).update(state="open", annotator=None)
    Skip.objects.create(
        unit=second,
        annotator=one.annotator,
        client_key="00000000-0000-0000-0000-000000000001",
        reason="unclear",
        at=now + timedelta(days=1),
    )
    slots.lease_next(enrolment=other)
    people = {row.enrolment.annotator.pseudonym: row for row in page().context["page"].rows}
    mine, theirs = people["a-one"], people["a-two"]
    assert (mine.skips, mine.surplus, mine.held) == (1, 1, 0)
    assert (theirs.skips, theirs.surplus, theirs.held) == (0, 0, 1)
    assert mine.last_seen == now + timedelta(days=1)
    assert theirs.last_seen is not None


def test_only_current_answers_to_items_that_had_enough_are_surplus(page, study):
    first, second, gold = study.tasks.get().units.order_by("position")
    Unit.objects.filter(pk=gold.pk).update(purpose=Purpose.GOLD)
    one = factories.enrolment(study, consented=True).annotator
    for unit, current in ((first, True), (first, False), (gold, True)):
        late = factories.response(unit, who=one)
        Response.objects.filter(pk=late.pk).update(slot=None, current=current)
        Slot.objects.filter(annotator=one).update(state="open", annotator=None)
    factories.response(second, who=one)
    assert [row.surplus for row in page().context["page"].rows] == [1]


def test_checks_count_as_right_when_they_were_answered_as_expected(page, study):
    gold, attention, data = study.tasks.get().units.order_by("position")
    Unit.objects.filter(pk=gold.pk).update(purpose=Purpose.GOLD)
    Unit.objects.filter(pk=attention.pk).update(purpose=Purpose.ATTENTION)
    Option.objects.filter(unit__in=[gold, attention]).update(expected=[4, 5])
    enrolment = factories.enrolment(study, consented=True, pseudonym="a-one")
    for unit, value in ((gold, 5), (attention, 1), (data, 1)):
        factories.response(unit, values=[value], who=enrolment.annotator)
    for change in ({"current": False}, {"withdrawn_at": timezone.now()}):
        earlier = factories.response(gold, values=[1])
        Response.objects.filter(pk=earlier.pk).update(annotator=enrolment.annotator, slot=None, **change)
    (row,) = page().context["page"].rows
    assert (row.right, row.checked, row.accuracy) == (1, 2, 50)


def test_of_a_check_only_what_is_expected_has_to_be_right(page, study):
    gold = factories.page_unit(factories.task(study, kind=TaskKind.DEPICTION), picture=factories.image())
    Unit.objects.filter(pk=gold.pk).update(purpose=Purpose.GOLD)
    Option.objects.filter(unit=gold, position=1).update(expected=[1])
    enrolment = factories.enrolment(study, consented=True, pseudonym="a-one")
    factories.response(gold, values=[1] * gold.options.count(), who=enrolment.annotator)
    (row,) = page().context["page"].rows
    assert (row.right, row.checked) == (1, 1)


def test_who_withdrew_is_counted_and_not_listed(page, study):
    factories.enrolment(study, pseudonym="a-here")
    gone = factories.enrolment(study, pseudonym="a-gone")
    Enrolment.objects.filter(pk=gone.pk).update(status=EnrolmentStatus.WITHDRAWN)
    shown = page()
    assert [row.enrolment.annotator.pseudonym for row in shown.context["page"].rows] == ["a-here"]
    assert "a-gone" not in shown.text
    assert (shown.context["page"].withdrawn, shown.context["page"].total) == (1, 1)
    assert page("person_action", gone.pk, "block").status_code == 404


@pytest.mark.parametrize(
    ("status", "may_be"),
    [
        (EnrolmentStatus.QUALIFIED, True),
        (EnrolmentStatus.BLOCKED, False),
        (EnrolmentStatus.SCREENED_OUT, False),
    ],
)
def test_who_is_out_already_is_not_offered_for_blocking(page, study, status, may_be):
    enrolment = factories.enrolment(study)
    Enrolment.objects.update(status=status)
    shown = page()
    assert [row.may_be_blocked for row in shown.context["page"].rows] == [may_be]
    assert (reverse("person_action", args=[study.name, enrolment.pk, "block"]) in shown.text) == may_be


def test_simulated_annotators_are_marked(page, study):
    factories.enrolment(study, simulated=True, pseudonym="a-robot")
    assert "badge-simulated" in row_of(page(), "a-robot")


def test_the_page_asks_as_many_queries_for_many_as_for_few(client, lead, study, django_assert_num_queries):
    client.force_login(lead)
    url = reverse("people", args=[study.name])
    client.get(url)
    for _ in range(12):
        factories.enrolment(study)
    with django_assert_num_queries(10):
        client.get(url)


def test_a_hundred_stand_on_a_page(page, client, study):
    for _ in range(101):
        factories.enrolment(study)
    assert len(page().context["page"].rows) == 100
    older = client.get(reverse("people", args=[study.name]), {"page": "2"})
    assert [row.enrolment for row in older.context["page"].rows] == [study.enrolments.earliest("pk")]
    assert client.get(reverse("people", args=[study.name]), {"page": "x"}).context["page"].number == 1


def test_blocking_is_confirmed_first_and_then_done_and_recorded(page, client, study, lead):
    enrolment = factories.enrolment(study, consented=True, pseudonym="a-one")
    slots.lease_next(enrolment=enrolment)
    asked = page("person_action", enrolment.pk, "block")
    enrolment.refresh_from_db()
    assert "1 item in progress goes to others" in asked.text
    assert enrolment.status == EnrolmentStatus.QUALIFIED, "looking changes nothing"
    url = reverse("person_action", args=[study.name, enrolment.pk, "block"])
    done = client.post(url, follow=True)
    enrolment.refresh_from_db()
    assert enrolment.status == EnrolmentStatus.BLOCKED
    assert "a-one is blocked" in done.text
    assert AuditEvent.objects.get().by == lead


def test_unblocking_and_releasing_work_the_same_way(client, lead, study):
    client.force_login(lead)
    enrolment = factories.enrolment(study, consented=True)
    slots.lease_next(enrolment=enrolment)
    who = enrolment.annotator.pseudonym
    for action, words in (
        ("release", f"1 item of {who} was released."),
        ("block", f"{who} is blocked and gets no more items."),
        ("unblock", f"{who} is unblocked."),
    ):
        sent = client.post(reverse("person_action", args=[study.name, enrolment.pk, action]))
        assert told(sent)[-1] == words
        assert not Slot.objects.filter(state="leased").exists()
    enrolment.refresh_from_db()
    assert enrolment.status == EnrolmentStatus.QUALIFIED


def test_nobody_is_blocked_through_another_study_or_by_another_word(client, lead, study):
    client.force_login(lead)
    theirs = factories.enrolment(factories.study("theirs"))
    for pk, action in ((theirs.pk, "block"), (0, "block"), (10**18, "block"), (theirs.pk, "delete")):
        assert client.post(reverse("person_action", args=[study.name, pk, action])).status_code == 404
    theirs.refresh_from_db()
    assert theirs.status == EnrolmentStatus.QUALIFIED


def test_a_link_is_made_listed_with_its_uses_and_taken_back(page, client, study):
    url = reverse("invitations", args=[study.name])
    made = client.post(url, {"label": "pilot", "max_uses": "3", "expires_at": ""}, follow=True)
    invitation = Invitation.objects.get()
    assert f"http://testserver/join/{invitation.code}/" in made.text
    invitations.accept(code=invitation.code, user=factories.user())
    assert "1 of 3 people joined" in page("invitations").text
    client.post(reverse("revoke_invitation", args=[study.name, invitation.pk]))
    shown = page("invitations")
    assert "revoked" in shown.text
    assert invitation.code not in shown.text


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("max_uses", "0", "greater than or equal to 1"),
        ("max_uses", "many", "whole number"),
        ("expires_at", "2001-01-01T00:00", "has passed"),
        ("label", "x" * 121, "at most 120"),
    ],
)
def test_what_is_wrong_with_a_link_is_said_beside_the_field(client, lead, study, field, value, says):
    client.force_login(lead)
    sent = client.post(reverse("invitations", args=[study.name]), {field: value})
    assert sent.status_code == 422
    assert says in str(sent.context["form"].errors[field])
    assert f'id="id_{field}_error"' in sent.text
    assert not Invitation.objects.exists()


def test_a_closed_study_makes_no_links(client, lead):
    closed = factories.study("over", status=StudyStatus.CLOSED, leads=[lead])
    client.force_login(lead)
    sent = client.post(reverse("invitations", args=[closed.name]), {"label": "late"})
    assert "closed" in sent.text
    assert not Invitation.objects.exists()


def test_the_link_to_pass_on_is_one_that_works_for_anybody(page, study, lead):
    now = timezone.now()
    invitations.create(study=study, by=lead, max_uses=5)
    invitations.create(study=study, by=lead, expires_at=now + timedelta(days=1))
    invitations.revoke(invitation=invitations.create(study=study, by=lead), by=lead)
    assert page("invitations").context["link"] == ""
    made = invitations.create(study=study, by=lead)
    assert made.code in page("invitations").context["link"]


def test_that_a_study_was_opened_is_said_while_it_is_open(client, lead, study):
    client.force_login(lead)
    url = reverse("invitations", args=[study.name])
    assert client.get(url, {"opened": ""}).context["opened"]
    Study.objects.update(status=StudyStatus.PAUSED)
    assert not client.get(url, {"opened": ""}).context["opened"]


def test_a_link_of_another_study_cannot_be_taken_back(client, lead, study):
    client.force_login(lead)
    theirs = Invitation.objects.create(study=factories.study("theirs"), code="abc")
    assert client.post(reverse("revoke_invitation", args=[study.name, theirs.pk])).status_code == 404
    theirs.refresh_from_db()
    assert theirs.revoked_at is None


def test_an_invited_only_study_is_not_offered_to_others(client, study):
    study.self_enrol = False
    study.save()
    stranger, invited = factories.user(), factories.user()
    factories.rating_study(name="for-all", self_enrol=True)
    invitations.accept(code=Invitation.objects.create(study=study, code="abc").code, user=invited)
    client.force_login(stranger)
    assert client.get("/studies/words/").status_code == 404
    client.force_login(invited)
    assert client.get("/studies/words/").status_code == 200


def test_fill_rates_say_what_is_open_and_who_could_fill_it(client, lead):
    client.force_login(lead)
    study = factories.rating_study(
        name="mixed", leads=[lead], texts=("hat", "kind"), strata=("origin: Asia", "any")
    )
    asian = factories.enrolment(study, profile={"origin": "Asia"}, consented=True)
    factories.enrolment(study, consented=True)
    factories.response(study.tasks.get().units.get(position=1), who=asian.annotator)
    shown = client.get("/studies/mixed/fill-rates/")
    rates = {rate.stratum: rate for rate in shown.context["fill"].rates}
    assert (rates["origin: Asia"].wanted, rates["origin: Asia"].filled, rates["origin: Asia"].people) == (
        2,
        1,
        1,
    )
    assert (rates["any"].open, rates["any"].people) == (2, 2)
    assert "The 2 people enrolled can fill all quotas" in shown.text


@pytest.mark.parametrize(("status", "badge"), [("open", "open"), ("paused", "Paused"), ("closed", "Closed")])
def test_a_study_that_is_not_open_is_not_said_to_be_so(client, lead, study, status, badge):
    client.force_login(lead)
    closed_at = timezone.now() if status == "closed" else None
    Study.objects.update(status=status, closed_at=closed_at)
    factories.enrolment(study)
    Invitation.objects.create(study=study, code="a-link")
    shown = client.get(reverse("invitations", args=[study.name])).text
    assert f'<h3>Link <span class="badge">{badge}</span></h3>' in shown
    shown = client.get(reverse("fill_rates", args=[study.name])).text
    assert ("The 1 person enrolled" in shown) == (status != "closed")


def test_the_lead_pauses_resumes_and_closes_on_the_overview(client, lead, study):
    client.force_login(lead)
    url = reverse("study_status", args=[study.name])
    for to, offered in (
        ("paused", ["paused", "closed"]),
        ("open", ["open", "closed"]),
        ("closed", ["paused", "closed"]),
    ):
        shown = client.get(reverse("overview", args=[study.name])).text
        assert re.findall('name="to" value="([a-z]+)"', shown) == offered
        sent = client.post(url, {"to": to})
        assert (sent.url, told(sent)) == (reverse("overview", args=[study.name]), [f"The study is {to}."])
        study.refresh_from_db()
        assert study.status == to
    refused = client.post(url, {"to": "open"}, follow=True)
    assert "A closed study cannot be reopened." in refused.text


def test_a_draft_is_not_opened_past_its_checks(client, lead):
    draft = factories.study("draft", status=StudyStatus.DRAFT, leads=[lead])
    client.force_login(lead)
    assert client.post(reverse("study_status", args=["draft"]), {"to": "open"}).status_code == 404
    draft.refresh_from_db()
    assert draft.status == StudyStatus.DRAFT
