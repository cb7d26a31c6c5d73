"""The admin's pages in a real browser: readable, quiet under the Content-Security-Policy, and alive."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.assignment.services import slots
from annotation.models import Annotator, AuditEvent, Enrolment
from annotation.participation.services import annotators, invitations
from metrics.models import ScoreRun
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def admin():
    return factories.user("root", admin=True)


@pytest.fixture
def study(admin):
    """One person by an account and an invitation, the same by a platform, and a lead."""
    study = factories.rating_study(name="words", title="Which attributes can be seen in an image?")
    lead = factories.user("lena")
    study.leads.add(lead)
    link = invitations.create(study=study, by=admin, label="mailing of May")
    amal = factories.enrolment(study, user=factories.user("amal"), pseudonym="a-amal")
    again = factories.enrolment(study, who=annotators.newcomer())
    Enrolment.objects.filter(pk=amal.pk).update(invitation=link)
    Enrolment.objects.filter(pk=again.pk).update(crowd_participant="5f9abc")
    unit = study.tasks.get().units.earliest("position")
    for each in (amal, again):
        factories.response(unit, who=each.annotator)
    slots.lease_next(enrolment=again)
    return study


def failed_run(study, number: int = 0) -> ScoreRun:
    return ScoreRun.objects.create(
        study=study,
        metric="consensus",
        version=1,
        variant="corrected",
        digest=f"{number:064}",
        resamples=0,
        state="failed",
        error="ValueError: there is nothing to count",
        finished_at=timezone.now(),
    )


def test_from_the_list_to_one_person_of_two(new_page, admin, study, accessible):
    page = new_page(admin, width=390)
    duplicate = Annotator.objects.exclude(pseudonym="a-amal").get().pseudonym
    page.goto("/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="People").click()
    page.wait_for_url("**/people/")
    accessible(page)
    page.get_by_label("Name, e-mail, pseudonym or platform id").fill("amal")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("1 person")).to_be_visible()
    page.get_by_role("link", name="amal", exact=True).click()
    expect(page.get_by_label("Pseudonym of the duplicate")).to_be_visible()
    accessible(page)
    page.get_by_label("Pseudonym of the duplicate").fill(duplicate)
    page.get_by_role("button", name="Preview the merge").click()
    expect(page.get_by_text("the first answer stays")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Merge").click()
    expect(page.get_by_text("The two are merged.")).to_be_visible()
    page.get_by_role("link", name="Erase permanently").click()
    expect(page.get_by_role("button", name="Erase permanently")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_text("The person was erased.")).to_be_visible()
    assert not Annotator.objects.exists()
    assert AuditEvent.objects.filter(what="person erased").exists()


def test_a_new_password_by_its_link(new_page, admin, accessible):
    user = factories.user("amal")
    page = new_page(admin)
    page.goto(f"/people/u{user.pk}/password/")
    page.get_by_role("button", name="Create the link").click()
    link = page.get_by_label("Link", exact=True).input_value()
    accessible(page)
    theirs = new_page(width=390)
    theirs.goto(link)
    accessible(theirs)
    theirs.locator("#id_new_password1").fill("thirteen green hats")
    theirs.locator("#id_new_password2").fill("thirteen green hats")
    theirs.get_by_role("button", name="Set the password").click()
    expect(theirs.get_by_text("Your password is set. You can now log in.")).to_be_visible()
    theirs.goto(link)
    expect(theirs.get_by_text("This link has been used or is too old.")).to_be_visible()


def test_health_follows_by_itself_and_a_failure_is_tried_again(new_page, admin, study, accessible):
    page = new_page(admin, width=390, dark=True)
    page.goto("/health/")
    expect(page.get_by_role("heading", name="Nothing needs attention")).to_be_visible()
    accessible(page)
    failed = failed_run(study)
    expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
    expect(page.get_by_text("there is nothing to count")).to_be_visible()
    accessible(page)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Nothing needs attention")).to_be_visible()
    failed.refresh_from_db()
    assert failed.state == "pending"


def test_djangos_administration_breaks_no_rule_of_the_browser(new_page, admin, study):
    """The fixture fails on any complaint in the console, such as of the Content-Security-Policy."""
    factories.association()
    run = failed_run(study)
    page = new_page(admin)
    for url in (
        "",
        "annotation/identitygroup/?region__exact=Europe",
        "annotation/identitygroup/add/",
        "annotation/association/",
        "annotation/auditevent/",
        f"annotation/consenttext/{study.consent_texts.get().pk}/change/",
        "auth/user/",
        "auth/user/add/",
        f"auth/user/{admin.pk}/change/",
        f"metrics/scorerun/{run.pk}/change/",
    ):
        answer = page.goto(f"/admin/{url}")
        assert answer.status == 200
        assert "default-src 'self'" in answer.headers["content-security-policy"]
