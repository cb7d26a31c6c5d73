"""Getting in and out in a real browser: by an invitation, from a crowd platform, by keyboard, on a phone."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Enrolment, EnrolmentStatus, Response, Slot, SlotState, StudyStatus
from annotation.participation.services import invitations
from tests import factories
from tests.browser.annotation_page import wait_for_item
from tests.browser.test_annotate import tab_to

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
ENTER = "/studies/words/enter/?PROLIFIC_PID=5f8d&STUDY_ID=64aa&SESSION_ID=77bb"


@pytest.fixture
def study():
    made = factories.rating_study(
        name="words",
        title="What can be seen in a picture?",
        description="Attributes of people, and whether a picture could show them.",
        texts=["sombrero"],
        support_text="If something stays with you, a helpline is at https://example.org/help.",
        completion_code="C1AB2",
        completion_url="https://app.prolific.com/submissions/complete?cc=C1AB2",
        session_cap=1,
        questions=[{"field": "religion", "label": "Religion", "choices": ["Islam", "Hinduism"]}],
        leads=[factories.user("lead")],
    )
    made.consent_texts.create(version=1, language="ar", text="معنى المشاركة", content_warning="تنبيه")
    return made


def title(page):
    return page.get_by_role("heading", level=1)


def test_an_invitation_is_followed_and_left_again_by_keyboard_alone(new_page, study):
    invitation = invitations.create(study=study, by=study.leads.get())
    page = new_page()
    page.goto(f"/join/{invitation.code}/")
    expect(title(page)).to_have_text("You are invited")
    tab_to(page, "Read about taking part")
    page.keyboard.press("Enter")
    expect(title(page)).to_have_text("Before you begin")
    tab_to(page, "I have read this and agree")
    page.keyboard.press("Enter")
    expect(title(page)).to_have_text("About you")
    tab_to(page, "Continue without saving")
    page.keyboard.press("Enter")
    expect(title(page)).to_contain_text("sombrero")

    tab_to(page, "Support and contact", most=60)
    page.keyboard.press("Enter")
    expect(page.get_by_role("contentinfo").get_by_text("a helpline is at")).to_be_visible()
    tab_to(page, "Withdraw my data")
    page.keyboard.press("Enter")
    expect(title(page)).to_have_text("Stop, or withdraw your data")
    tab_to(page, "Only stop taking part")
    page.keyboard.press("ArrowDown")
    tab_to(page, "I want to withdraw my answers")
    page.keyboard.press("Space")
    tab_to(page, "Confirm")
    page.keyboard.press("Enter")
    expect(title(page)).to_have_text("You have withdrawn")
    assert Enrolment.objects.get().status == EnrolmentStatus.WITHDRAWN
    assert not Slot.objects.exclude(state=SlotState.OPEN).exists()


def test_somebody_from_a_platform_does_the_work_and_gets_the_code(new_page, study):
    page = new_page(width=320, height=640)
    page.goto(ENTER)
    page.get_by_role("button", name="I have read this and agree").click()
    page.get_by_role("link", name="Continue without saving").click()
    expect(title(page)).to_contain_text("sombrero")
    wait_for_item(page)
    page.get_by_text("Strongly agree").click()
    page.get_by_role("button", name="Submit and continue").click()
    expect(title(page)).to_have_text("Enough for today")
    expect(page.get_by_text("C1AB2", exact=True)).to_be_visible()
    back = page.get_by_role("link", name="Submit and return to the platform")
    expect(back).to_have_attribute("href", "https://app.prolific.com/submissions/complete?cc=C1AB2")
    assert Response.objects.count() == 1


def test_every_page_is_accessible_and_fits_a_phone(new_page, accessible_everywhere, study):
    def accessible(page) -> None:
        accessible_everywhere(page, widths=(1280, 320))

    amal = factories.user("amal")
    code = invitations.create(study=study, by=study.leads.get()).code
    guest = new_page(height=640)

    def look(page, path: str, words: str) -> None:
        page.goto(path)
        expect(title(page)).to_have_text(words)
        accessible(page)

    look(guest, f"/join/{code}/", "You are invited")
    look(guest, "/studies/words/enter/?PROLIFIC_PID=5f8d", "This link is incomplete")
    Slot.objects.update(state=SlotState.FILLED)
    look(guest, ENTER, "All places are taken")
    Slot.objects.update(state=SlotState.OPEN)
    study.invitations.update(expires_at=timezone.now() - timedelta(days=1))
    look(guest, f"/join/{code}/", "This invitation has ended")

    page = new_page(amal, height=640)
    look(page, ENTER, "Take part through the platform?")
    look(page, "/studies/words/consent/", "Before you begin")
    enrolment = factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    Enrolment.objects.update(crowd_participant="5f8d")
    look(page, "/studies/words/profile/", "About you")
    look(page, "/studies/words/", study.title)
    look(page, "/studies/words/withdraw/", "Stop, or withdraw your data")
    page.get_by_label("Stop and withdraw my answers").check()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Please confirm: this cannot be undone.")).to_be_visible()
    accessible(page)
    look(page, "/studies/words/thanks/", "Thank you")
    for status, words in (
        (EnrolmentStatus.BLOCKED, "You get no more items in this study"),
        (EnrolmentStatus.SCREENED_OUT, "Thank you for taking part in the training"),
        (EnrolmentStatus.FINISHED, "You have stopped"),
        (EnrolmentStatus.WITHDRAWN, "You have withdrawn"),
    ):
        Enrolment.objects.update(status=status)
        look(page, "/studies/words/thanks/", words)
    Enrolment.objects.update(
        status=EnrolmentStatus.QUALIFIED, session_units=1, session_started_at=timezone.now()
    )
    look(page, "/studies/words/thanks/", "Enough for today")
    Enrolment.objects.update(session_units=0, answered=1)
    factories.response(study.tasks.get().units.get(), who=enrolment.annotator)
    look(page, "/studies/words/thanks/", "Thank you")
    study.status = StudyStatus.PAUSED
    study.save()
    look(page, "/studies/words/thanks/", "The study is paused")


def test_the_care_at_the_foot_of_a_page_opens_without_leaving_it(new_page, accessible, study):
    amal = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=amal), consented=True)
    page = new_page(amal, width=320, height=640)
    page.goto("/studies/words/annotate/")
    page.get_by_text("Support and contact").click()
    expect(page.get_by_role("link", name="https://example.org/help")).to_be_visible()
    expect(title(page)).to_contain_text("sombrero")
    accessible(page)
