"""The annotator's way through a study in a real browser: by keyboard alone, on a phone, without scripts."""

import time

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Judgement, ProfileAnswer, Response, Slot, SlotState, Study, StudyStatus
from tests import factories
from tests.browser.annotation_page import open_item, wait_for_attribute, wait_for_item, wait_until_saved

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/words/annotate/"


@pytest.fixture
def study():
    return factories.rating_study(
        name="words", title="What can be seen in a picture?", texts=["sombrero", "kind", "poor", "turban"]
    )


@pytest.fixture
def amal(study):
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


def tab_to(page, words: str, *, most: int = 40) -> None:
    """Press Tab until what has the focus is called `words`."""
    for _ in range(most):
        page.keyboard.press("Tab")
        # a page that has only begun to come has the focus as a whole, and all words in it
        named = page.evaluate(
            "(e => e === document.body ? '' : (e.labels?.[0] ?? e).textContent.trim() || e.value || '')"
            "(document.activeElement)"
        )
        if words in named:
            return
    raise AssertionError(f"Tab never came to '{words}' on {page.url}")


def test_everything_can_be_done_by_keyboard_alone(new_page, study):
    factories.user("amal")
    page = new_page()
    page.goto("/accounts/login/")
    tab_to(page, "Username")
    page.keyboard.type("amal")
    page.keyboard.press("Tab")
    page.keyboard.type("a-long-password")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Studies")
    tab_to(page, "View study")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("What can be seen in a picture?")
    tab_to(page, "Begin")
    page.keyboard.press("Enter")
    expect(page.get_by_text("What you may see")).to_be_visible()
    tab_to(page, "agree")
    page.keyboard.press("Enter")
    page.wait_for_url("**/profile/")
    tab_to(page, "Choose: Where you are from")
    while page.evaluate("document.activeElement.value") != "Asia":
        page.keyboard.press("ArrowDown")
    tab_to(page, "Save and continue")
    page.keyboard.press("Enter")

    # Enter says what is missing; digit, Enter
    wait_for_attribute(page, "sombrero")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Please choose one of the answers.")
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    # Unsure: the box for the reason has the focus at once; Enter there is a new line, Ctrl+Enter sends
    wait_for_attribute(page, "kind")
    page.keyboard.press("5")
    page.keyboard.type("3 of my friends")
    page.keyboard.press("Enter")
    page.keyboard.type("would differ")
    page.keyboard.press("Control+Enter")
    # the keys, and away with them; digits do nothing meanwhile
    wait_for_attribute(page, "poor")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("4")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    # Tab and arrow keys, as in any form
    tab_to(page, "Strongly agree")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+Enter")
    wait_for_attribute(page, "turban")
    page.keyboard.press("4")
    tab_to(page, "Submit and continue")
    page.keyboard.press("Enter")
    page.wait_for_url("**/thanks/")

    assert list(Judgement.objects.order_by("pk").values_list("value", flat=True)) == [5, 3, 4, 1]
    assert Judgement.objects.get(value=3).justification == "3 of my friends\nwould differ"
    assert ProfileAnswer.objects.get().value == "Asia"
    assert all(Response.objects.values_list("active_ms", flat=True))


def test_no_page_has_a_fault_that_axe_can_find(new_page, accessible_everywhere, study, amal):
    def accessible(page, *, at_work: bool = False) -> None:
        accessible_everywhere(page, widths=(1280, 320), both=at_work)

    stranger = new_page()
    stranger.goto("/accounts/login/")
    accessible(stranger)
    stranger.get_by_label("Username").fill("amal")
    stranger.get_by_label("Password").fill("wrong")
    stranger.get_by_role("button", name="Log in").click()
    expect(stranger.get_by_role("alert")).to_be_visible()
    accessible(stranger)

    page = new_page(amal)
    paths = ["/", "/profile/", "/accounts/password_change/", "/nowhere/"]
    paths += [f"/studies/words/{part}" for part in ("", "consent/", "profile/", "thanks/")]
    for path in paths:
        page.goto(path)
        accessible(page)
    page.goto(PAGE)
    accessible(page, at_work=True)
    wait_for_item(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    accessible(page, at_work=True)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("radio", name="Unsure").check()
    accessible(page, at_work=True)
    page.get_by_role("button", name="Submit and continue").click()
    expect(page.get_by_role("alert")).to_be_visible()
    accessible(page, at_work=True)
    Study.objects.update(status=StudyStatus.PAUSED)
    page.goto(PAGE)
    accessible(page)


def test_the_reason_is_asked_for_only_when_unsure_and_keeps_the_focus_after_a_refusal(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    reason = page.get_by_label("Why are you unsure?")
    expect(reason).to_be_hidden()
    page.keyboard.press("5")
    expect(reason).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("Please write in a few words why")
    expect(reason).to_be_focused()
    expect(page.get_by_role("radio", name="Unsure")).to_be_checked()
    # nothing lies over what has to be put right
    seen = reason.evaluate(
        """element => {
            const box = element.getBoundingClientRect();
            return document.elementFromPoint(box.x + 20, box.bottom - 6) === element;
        }"""
    )
    assert seen


def test_a_draft_survives_a_reload_and_is_gone_with_the_next_item(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    page.keyboard.press("5")
    page.keyboard.type("half a thou")
    page.reload()
    wait_for_item(page)
    expect(page.get_by_label("Why are you unsure?")).to_have_value("half a thou")
    expect(page.get_by_role("radio", name="Unsure")).to_be_checked()
    wait_for_item(page)

    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("'kind'")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)
    wait_until_saved(page)
    page.reload()
    wait_for_attribute(page, "kind")
    expect(page.get_by_role("radio", checked=True)).to_have_count(0)


def test_a_rating_is_undone_and_done_again(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    radios = [page.locator(f"#value-{number}") for number in (1, 2)]
    page.keyboard.press("1")
    page.keyboard.press("2")
    expect(radios[1]).to_be_checked()
    page.keyboard.press("Control+z")
    expect(radios[0]).to_be_checked()
    expect(radios[0]).to_be_focused()
    page.keyboard.press("Control+z")
    expect(page.locator("input[name=value]:checked")).to_have_count(0)
    page.keyboard.press("Control+y")
    page.keyboard.press("Control+Shift+z")
    expect(radios[1]).to_be_checked()


def test_a_double_click_sends_once(new_page, amal):
    page = new_page(amal)
    sent = []
    page.on("request", lambda request: sent.append(request.url) if "answers" in request.url else None)
    open_item(page, PAGE)
    page.keyboard.press("2")
    page.get_by_role("button", name="Submit and continue").dblclick()
    expect(page.get_by_role("heading", level=1)).to_contain_text("'kind'")
    wait_for_item(page)
    wait_until_saved(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    assert len(sent) == 1
    assert Response.objects.count() == 1


def test_time_away_is_not_time_at_work(new_page, amal):
    page = new_page(amal)
    begun = time.monotonic()
    page.clock.install(time=timezone.now())
    open_item(page, PAGE)
    page.clock.run_for(5_000)
    page.keyboard.press("Shift")
    page.clock.run_for(20 * 60_000)  # a break
    page.keyboard.press("Shift")
    page.clock.run_for(2_000)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("'kind'")
    wait_for_item(page)
    wait_until_saved(page)
    response = Response.objects.get()
    # the page's clock goes on by itself meanwhile
    test_ms = 1000 * (time.monotonic() - begun)
    assert 7_000 <= response.active_ms < 7_000 + test_ms
    assert 20 * 60_000 <= response.idle_ms < 20 * 60_000 + test_ms


def test_it_all_works_without_scripts(new_page, amal):
    page = new_page(amal, width=360, height=740, javascript=False)
    page.goto(PAGE)
    expect(page.locator("[data-open-keys]")).to_be_hidden()
    page.get_by_role("radio", name="Unsure").check()
    page.get_by_label("Why are you unsure?").fill("hard to say")
    page.get_by_role("button", name="Submit and continue").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("'kind'")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Stop for now").click()
    expect(page.get_by_text("Everything you rated is saved")).to_be_visible()
    assert Judgement.objects.get().justification == "hard to say"
    assert not Slot.objects.filter(state=SlotState.LEASED).exists()


def test_two_tabs_show_the_same_item_and_count_it_once(new_page, amal):
    one = new_page(amal)
    open_item(one, PAGE)
    two = one.context.new_page()
    open_item(two, PAGE)
    wait_for_attribute(two, "sombrero")
    one.keyboard.press("1")
    one.keyboard.press("Enter")
    expect(two.get_by_text("answered in another window")).to_be_visible()
    wait_for_attribute(two, "kind")
    wait_until_saved(one)
    assert Response.objects.count() == 1
