"""Whoever is quicker than the page's script, or busy elsewhere on the page, is not moved away from there."""

import threading

import pytest
from django.core.handlers.wsgi import WSGIHandler
from playwright.sync_api import expect

from tests import factories
from tests.browser.annotation_page import wait_for_attribute, wait_for_item
from tests.browser.test_annotate import tab_to
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/words/annotate/"
FOCUSED = "document.activeElement.textContent.trim()"


@pytest.fixture
def amal():
    study = factories.rating_study(
        name="words", texts=[f"word {number}" for number in range(3)], support_text="A helpline is at hand."
    )
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


@pytest.fixture
def late_script(monkeypatch):
    """The page is shown and its script has not come; set it to let the script come."""
    let_through = threading.Event()
    in_time = WSGIHandler.__call__

    def late(handler, environ, start_response):
        if environ["PATH_INFO"].endswith("/annotate.js"):
            assert let_through.wait(PATIENCE_SECONDS)
        return in_time(handler, environ, start_response)

    monkeypatch.setattr(WSGIHandler, "__call__", late)
    yield let_through
    let_through.set()


def test_help_that_is_being_asked_for_keeps_the_focus_when_the_script_comes(new_page, amal, late_script):
    page = new_page(amal)
    page.goto(PAGE, wait_until="commit")
    tab_to(page, "Support and contact")
    late_script.set()
    wait_for_item(page)
    assert page.evaluate(FOCUSED) == "Support and contact"
    page.keyboard.press("Enter")
    expect(page.get_by_role("contentinfo").get_by_text("A helpline")).to_be_visible()


def test_a_choice_made_before_the_script_came_stays_and_has_the_focus(new_page, amal, late_script):
    page = new_page(amal)
    page.goto(PAGE, wait_until="commit")
    tab_to(page, "Strongly agree")
    page.keyboard.press("ArrowDown")
    late_script.set()
    wait_for_item(page)
    expect(page.get_by_role("radio", name="Agree").nth(1)).to_be_checked()
    assert page.evaluate("document.activeElement.id") == "value-2"
    page.keyboard.press("Enter")
    wait_for_attribute(page, "word 1")
