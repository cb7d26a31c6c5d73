"""Nothing is ever lost: broken networks, servers that fail, sessions that end, reloads, two windows."""

import json
import threading

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import OperationalError
from playwright.sync_api import expect

from annotation.annotate.services import items
from annotation.annotate.views import endpoints
from annotation.models import Enrolment, Judgement, Response, Skip, Study
from tests import factories
from tests.browser.annotation_page import (
    IDLE,
    open_filled,
    open_item,
    wait_for_attribute,
    wait_for_status,
    wait_until_saved,
)
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.real_time, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/words/annotate/"
WORDS = [f"word {number:02}" for number in range(14)]


@pytest.fixture
def study():
    return factories.rating_study(name="words", title="What can be seen?", texts=WORDS)


@pytest.fixture
def amal(study):
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


def answer(page, word: str, key: str) -> None:
    wait_for_attribute(page, word)
    page.keyboard.press(key)
    page.keyboard.press("Control+Enter")


def test_an_answer_given_without_a_network_is_sent_when_it_is_back(new_page, amal, offline_is_expected):
    page = new_page(amal)
    open_item(page, PAGE)
    page.context.set_offline(True)
    for word in WORDS[:3]:
        answer(page, word, "2")
    wait_for_status(page, "not sent yet: 3")
    expect(page.locator("[data-waiting]")).to_be_visible()
    assert not Response.objects.exists()
    page.context.set_offline(False)
    wait_until_saved(page)
    wait_for_attribute(page, WORDS[3])
    assert list(Judgement.objects.order_by("pk").values_list("option__attribute__text", "value")) == [
        (word, 4) for word in WORDS[:3]
    ]


def test_an_answer_given_without_a_network_survives_that_the_window_is_closed(
    new_page, amal, offline_is_expected
):
    page = new_page(amal)
    open_item(page, PAGE)
    page.context.set_offline(True)
    answer(page, WORDS[0], "4")
    wait_for_status(page, "not sent yet: 1")
    page.close()
    page.context.set_offline(False)
    again = page.context.new_page()
    open_item(again, PAGE)
    wait_for_attribute(again, WORDS[1])
    wait_until_saved(again)
    assert Judgement.objects.get().value == 1


def test_a_server_that_fails_twice_gets_the_answer_the_third_time(new_page, amal):
    page = new_page(amal)
    failures = []

    def fail(route) -> None:
        if len(failures) < 2:
            failures.append(route.request.url)
            route.fulfill(status=500, body="sorry")
        else:
            route.continue_()

    page.route("**/annotate/answers/", fail)
    open_item(page, PAGE)
    answer(page, WORDS[0], "1")
    wait_for_attribute(page, WORDS[1])
    wait_for_status(page, "not sent yet: 1")
    wait_until_saved(page)
    assert len(failures) == 2
    assert Judgement.objects.get().value == 5


def test_the_reply_to_an_answer_brings_the_next_item(new_page, amal):
    page = new_page(amal)
    open_filled(page, PAGE)
    asked = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 2)[1]))
    for word in WORDS[:10]:
        answer(page, word, "1")
        wait_until_saved(page)
    wait_for_attribute(page, WORDS[10])
    page.evaluate(IDLE)
    assert asked == ["answers"] * 10
    assert Response.objects.count() == 10


def test_an_answer_does_not_wait_for_a_next_item_that_the_server_cannot_give(new_page, amal, monkeypatch):
    give, failures = items.next_items, []

    def fail(*, sweep=True, **wanted):
        if not sweep:
            failures.append(wanted)
            raise OperationalError("no items today")
        return give(sweep=sweep, **wanted)

    monkeypatch.setattr(items, "next_items", fail)
    page = new_page(amal)
    # an answer asks for no item while one is being asked for
    open_filled(page, PAGE)
    answer(page, WORDS[0], "1")
    wait_until_saved(page)
    assert failures
    for word in WORDS[1:4]:
        answer(page, word, "1")
    wait_until_saved(page)
    wait_for_attribute(page, WORDS[4])
    assert Response.objects.filter(slot__isnull=False).count() == 4


def test_a_reply_that_gets_lost_does_not_make_two_answers(new_page, amal):
    page = new_page(amal)
    lost = []

    def swallow(route) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.fetch().status)  # the server has taken it
            route.fulfill(status=502, body="")

    page.route("**/annotate/answers/", swallow)
    open_item(page, PAGE)
    answer(page, WORDS[0], "1")
    wait_for_attribute(page, WORDS[1])
    wait_until_saved(page)
    assert lost == [200]
    assert Response.objects.count() == 1
    expect(page.locator("[data-notice]")).to_be_hidden()  # nothing to tell anybody


def test_a_session_that_ended_keeps_the_answer_until_somebody_logs_in_again(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    Session.objects.all().delete()
    answer(page, WORDS[0], "1")
    wait_for_status(page, "You were logged out")
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Log in again").click()
    login = opened.value
    login.get_by_label("Username").fill("amal")
    login.get_by_label("Password").fill("a-long-password")
    login.get_by_role("button", name="Log in").click()
    login.wait_for_url("**/annotate/")
    login.close()
    page.bring_to_front()
    wait_until_saved(page)  # with the token of the new session
    answer(page, WORDS[1], "2")
    wait_until_saved(page)
    assert list(Judgement.objects.order_by("pk").values_list("value", flat=True)) == [5, 4]


def test_answers_wait_while_somebody_else_is_logged_in(new_page, amal, study):
    factories.enrolment(study, who=factories.annotator(user=factories.user("bo")), consented=True)
    page = new_page(amal)
    open_item(page, PAGE)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    other = page.context.new_page()
    other.goto("/accounts/login/")
    other.get_by_label("Username").fill("bo")
    other.get_by_label("Password").fill("a-long-password")
    other.get_by_role("button", name="Log in").click()
    expect(other.get_by_role("heading", level=1)).to_have_text("Studies")
    page.bring_to_front()
    answer(page, WORDS[0], "1")
    wait_for_status(page, "Somebody else is logged in")
    assert not Response.objects.exists()


def test_a_browser_without_storage_works_and_says_so(new_page, amal):
    page = new_page(amal)
    page.add_init_script("Object.defineProperty(window, 'indexedDB', { value: undefined })")
    open_item(page, PAGE)
    expect(page.locator("[data-warning]")).to_contain_text("cannot store answers")
    answer(page, WORDS[0], "1")
    wait_until_saved(page)
    assert Judgement.objects.get().value == 5


# The page waits a quarter of a minute for its storage, and longer for a page that does not come. Not here.
IMPATIENT = """
    const later = window.setTimeout;
    window.setTimeout = (work, ms, ...rest) => later(work, [15_000, 25_000].includes(ms) ? 500 : ms, ...rest);
"""
STUCK = """
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (...of) {
        if (!window.stuck) return begin.apply(this, of);
        const store = { add: () => ({}), put: () => ({}), delete: () => ({}), getAll: () => ({}) };
        return { objectStore: () => store };
    };
"""


def test_a_storage_that_never_opens_is_done_without(new_page, amal):
    page = new_page(amal)
    page.add_init_script(IMPATIENT + "IDBFactory.prototype.open = () => ({});")
    page.goto(PAGE)  # not open_item(): whoever works does not wait for the storage
    for word in WORDS[:5]:  # more than were at hand: new ones come as well
        answer(page, word, "1")
    expect(page.locator("[data-warning]")).to_contain_text("cannot store answers")
    wait_until_saved(page)
    assert Response.objects.count() == 5


def test_a_storage_that_stops_answering_is_done_without_and_nothing_is_lost(
    new_page, amal, offline_is_expected
):
    page = new_page(amal)
    page.add_init_script(IMPATIENT + STUCK)
    open_item(page, PAGE)
    answer(page, WORDS[0], "1")
    wait_until_saved(page)
    page.evaluate("window.stuck = true")
    answer(page, WORDS[1], "1")
    expect(page.locator("[data-warning]")).to_contain_text("cannot store answers")
    wait_until_saved(page)
    assert Response.objects.count() == 2
    # what is in memory alone outlives the page all the same, in the quick storage
    page.context.set_offline(True)
    answer(page, WORDS[2], "2")
    wait_for_status(page, "not sent yet: 1")
    page.route("**/annotate/answers/", lambda route: route.abort())
    page.context.set_offline(False)
    page.on("dialog", lambda dialog: dialog.accept())  # it asks before it is left
    page.reload()
    page.unroute("**/annotate/answers/")
    wait_for_attribute(page, WORDS[3])
    wait_until_saved(page)
    assert Response.objects.count() == 3


def test_an_item_that_was_let_go_of_by_mistake_comes_back(new_page, amal, offline_is_expected):
    """Whatever made the page believe that somebody else has it: the server knows better."""
    page = new_page(amal)
    replies = ["wrong"]

    def reply(route) -> None:
        if not replies:
            route.continue_()
        elif replies[0] == "none":
            route.abort()
        else:
            replies[0] = "none"
            answered = route.fetch()
            route.fulfill(response=answered, json=answered.json() | {"held": []})

    page.route("**/annotate/items/", reply)
    page.goto(PAGE)
    # not open_item(): the item may be let go of before anybody can look at it
    expect(page.locator("[data-waiting]")).to_be_visible()
    replies.clear()
    for word in WORDS[:4]:
        answer(page, word, "1")
    wait_until_saved(page)
    assert Response.objects.count() == 4


def test_the_item_on_the_screen_stays_when_the_server_no_longer_lists_it(new_page, amal):
    """Somebody has begun to answer it: the page goes on saying that it has it, and sends the answer."""
    page = new_page(amal)
    open_filled(page, PAGE)
    page.keyboard.press("2")
    asked = []

    def let_go(route) -> None:
        asked.append(route.request.post_data_json["have"])
        answered = route.fetch()
        route.fulfill(response=answered, json=answered.json() | {"held": asked[0][1:]})

    page.route("**/annotate/items/", let_go)
    for _ in range(2):
        with page.expect_response("**/annotate/items/"):
            page.evaluate("dispatchEvent(new Event('online'))")
        page.evaluate(IDLE)
    assert asked[1][0] == asked[0][0]
    wait_for_attribute(page, WORDS[0])
    page.keyboard.press("Control+Enter")
    wait_until_saved(page)
    assert Judgement.objects.get().option.attribute.text == WORDS[0]


def test_an_item_reached_while_the_server_was_asked_for_fewer_stays(new_page, amal, monkeypatch):
    """The page has six at hand and asks for three; while the reply is under way, the fourth is reached."""
    computed, on_its_way = threading.Event(), threading.Event()
    on_its_way.set()
    told_in_time = endpoints.JsonResponse

    def told(said, **options):
        if "next" in said and not on_its_way.is_set():
            computed.set()
            on_its_way.wait(PATIENCE_SECONDS)
        return told_in_time(said, **options)

    monkeypatch.setattr(endpoints, "JsonResponse", told)
    page = new_page(amal)
    page.route(
        "**/annotate/items/",
        lambda route: route.continue_(post_data=json.dumps(route.request.post_data_json | {"wanted": 6})),
        times=1,
    )
    with page.expect_response("**/annotate/items/"):
        open_item(page, PAGE)
    on_its_way.clear()
    answer(page, WORDS[0], "1")
    assert computed.wait(PATIENCE_SECONDS)
    for word in WORDS[1:4]:
        answer(page, word, "1")
    wait_for_attribute(page, WORDS[4])
    with page.expect_response("**/annotate/answers/"):
        on_its_way.set()
    for word in WORDS[4:]:
        answer(page, word, "1")
    page.wait_for_url("**/thanks/")
    assert Response.objects.count() == len(WORDS)


def test_whoever_does_not_get_away_from_the_page_goes_on_with_what_is_left(new_page, amal):
    page = new_page(amal)
    page.add_init_script(IMPATIENT)
    nothing = {"state": "done", "held": [], "items": [], "progress": {"answered": 0}}
    page.route("**/annotate/items/", lambda route: route.fulfill(json=nothing), times=1)
    ways = iter(["in", "out"])
    page.route(
        "**/annotate/",
        lambda route: route.continue_() if next(ways) == "in" else route.fulfill(status=204),
        times=2,
    )
    with page.expect_response(lambda response: response.status == 204):
        page.goto(PAGE, wait_until="commit")  # the page may want to leave before it has loaded
    for word in WORDS[:4]:
        answer(page, word, "1")
    wait_until_saved(page)
    assert Response.objects.count() == 4


def test_the_back_button_leaves_and_coming_back_goes_on(new_page, amal):
    page = new_page(amal)
    page.goto("/studies/words/")
    page.get_by_role("link", name="Continue").click()
    answer(page, WORDS[0], "1")
    answer(page, WORDS[1], "2")
    wait_for_attribute(page, WORDS[2])
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("What can be seen?")
    page.go_forward()
    wait_for_attribute(page, WORDS[2])
    wait_until_saved(page)
    assert Response.objects.count() == 2


def test_an_answer_left_at_once_by_a_reload_is_not_lost(new_page, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    for word in WORDS[:5]:
        answer(page, word, "3")
        page.reload()
    wait_for_attribute(page, WORDS[5])
    wait_until_saved(page)
    assert Response.objects.count() == 5


# As if the page were left at the moment at which it takes an acknowledged answer out of its journal.
GONE_AFTER_THE_ENTRY = """() => {
    let over = false;
    const begin = IDBDatabase.prototype.transaction;
    const forget = IDBObjectStore.prototype.delete;
    IDBObjectStore.prototype.delete = function (key) {
        over ||= this.name === "entries";
        return forget.call(this, key);
    };
    IDBDatabase.prototype.transaction = function (...of) {
        if (over) throw new Error("the page is gone");
        return begin.apply(this, of);
    };
}"""
DRAFTS = """async () => {
    const [{ name }] = await indexedDB.databases();
    const answered = (asked) => new Promise((done) => (asked.onsuccess = () => done(asked.result)));
    const database = await answered(indexedDB.open(name));
    const kept = await answered(database.transaction("drafts").objectStore("drafts").getAll());
    return kept.filter((draft) => "value" in draft);
}"""


def test_an_acknowledged_answer_leaves_no_draft_that_would_bring_it_back(new_page, amal):
    """An item that was answered a moment before the page was loaded is passed over, unless it was begun: a
    draft left behind would ask for the same answer once more."""
    page = new_page(amal)
    open_filled(page, PAGE)
    page.evaluate(GONE_AFTER_THE_ENTRY)
    answer(page, WORDS[0], "3")
    wait_for_attribute(page, WORDS[1])
    expect(page.locator("[data-progress]")).to_contain_text(f"1 of {len(WORDS)}")
    page.reload()
    wait_for_attribute(page, WORDS[1])
    assert page.evaluate(DRAFTS) == []


def test_an_answer_that_the_server_refuses_comes_back_with_what_was_said(new_page, amal):
    page = new_page(amal)
    refused = []

    def refuse(route) -> None:
        if refused:
            route.continue_()
        else:
            refused.append(1)
            route.fulfill(status=422, json={"error": "Not like this.", "field": "answers"})

    page.route("**/annotate/answers/", refuse)
    open_item(page, PAGE)
    answer(page, WORDS[0], "1")
    expect(page.locator("[data-notice]")).to_contain_text("Not like this.")
    answer(page, WORDS[1], "2")
    wait_for_attribute(page, WORDS[0])
    expect(page.get_by_role("radio", name="Strongly agree")).to_be_checked()
    page.keyboard.press("Enter")
    wait_for_attribute(page, WORDS[2])
    wait_until_saved(page)
    assert Response.objects.count() == 2


def test_a_skip_made_without_a_network_is_sent_later(new_page, amal, offline_is_expected):
    page = new_page(amal)
    open_item(page, PAGE)
    page.context.set_offline(True)
    page.keyboard.press("s")
    page.get_by_role("dialog").get_by_role("button", name="Skip").click()
    expect(page.get_by_role("alert")).to_contain_text("choose a reason")
    page.get_by_label("I do not understand it").check()
    page.get_by_role("dialog").get_by_role("button", name="Skip").click()
    wait_for_attribute(page, WORDS[1])
    wait_for_status(page, "not sent yet: 1")
    page.context.set_offline(False)
    wait_until_saved(page)
    assert Skip.objects.get().reason == "unclear"
    page.reload()
    wait_for_attribute(page, WORDS[1])


def test_a_break_is_offered_after_the_studys_minutes_of_work_and_again_not_at_once(new_page, amal):
    Study.objects.update(break_after=1)
    page = new_page(amal)
    page.clock.install()
    open_item(page, PAGE)
    for _ in range(8):
        page.clock.run_for(10_000)
        page.keyboard.press("Shift")
    page.clock.run_for(10_000)
    dialog = page.get_by_role("dialog", name="Time for a break?")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog).to_be_hidden()
    page.clock.run_for(20_000)
    expect(dialog).to_be_hidden()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    wait_for_attribute(page, WORDS[1])


def test_the_sessions_cap_ends_on_a_page_that_says_why(new_page, amal):
    Study.objects.update(session_cap=2)
    page = new_page(amal)
    open_item(page, PAGE)
    answer(page, WORDS[0], "1")
    wait_until_saved(page)
    answer(page, WORDS[1], "1")
    page.wait_for_url("**/thanks/")
    assert Enrolment.objects.get().session_units == 2
