"""The rating kinds and practice items in a real browser, by keyboard and by touch."""

import pytest
from playwright.sync_api import expect

from annotation.models import Enrolment, EnrolmentStatus, Judgement, Option, Purpose, Response, TaskKind, Unit
from tests import factories
from tests.browser.annotation_page import IDLE, open_item, wait_for_item, wait_until_saved
from tests.waiting import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGE = "/studies/ratings/annotate/"
WORDING = {
    TaskKind.PREVALENCE: "Do you know of the opinion that [id] are [attr]?",
    TaskKind.OFFENSIVENESS: "How offensive would it be to say that most [id] are [attr]?",
    TaskKind.ASSOCIATION: "How biased is it to associate '[id]' with '[attr]'?",
}


def association_unit(task, group: str, text: str, **fields) -> Unit:
    of = factories.association(group_name=group, text=text)
    unit = Unit.objects.create(task=task, position=task.units.count() + 1, association=of, **fields)
    Option.objects.create(unit=unit, attribute=of.attribute, position=1)
    factories.open_slots(unit)
    return unit


@pytest.fixture
def study():
    made = factories.study("ratings", title="Opinions", contact="studies@example.org")
    factories.consent_text(made)
    for kind, wording in WORDING.items():
        task = factories.task(made, kind=kind, wording=wording)
        association_unit(task, "Mexican", f"merry {kind.label}")
        association_unit(task, "Indian", f"tall {kind.label}")
    return made


@pytest.fixture
def amal(study):
    who = factories.user("amal")
    factories.enrolment(study, who=factories.annotator(user=who), consented=True)
    return who


def test_prevalence_offensiveness_and_bias_by_keyboard(new_page, accessible, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Do you know of the opinion that Mexican are merry stereotype prevalence?")
    expect(page.get_by_text("not whether you hold it")).to_be_visible()
    accessible(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("Indian are tall")
    wait_for_item(page)
    expect(heading).to_be_focused()
    expect(page.get_by_text("not whether you hold it")).to_be_visible()  # every time
    page.keyboard.press("3")
    page.keyboard.type("2 of us disagree")
    page.keyboard.press("Control+Enter")
    expect(heading).to_contain_text("How offensive")
    wait_for_item(page)
    expect(page.get_by_role("radio")).to_have_count(6)
    accessible(page)
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("Indian")  # nobody presses the next key before they have seen the item
    wait_for_item(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(heading).to_have_text(
        "How biased is it to associate 'Mexican' with 'merry bias of an association'?"
    )
    wait_for_item(page)
    expect(page.get_by_text("about the association itself")).to_be_visible()
    accessible(page)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("Indian")
    wait_for_item(page)
    page.keyboard.press("6")
    page.keyboard.type("I cannot say")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/thanks/")
    kept = Judgement.objects.order_by("pk").values_list("value", "justification")
    assert list(kept) == [(1, ""), (-1, "2 of us disagree"), (4, ""), (-1, ""), (4, ""), (0, "I cannot say")]


def test_a_phone_is_enough(new_page, amal):
    page = new_page(amal, width=360, height=740, has_touch=True, is_mobile=True)
    open_item(page, PAGE)
    page.get_by_text("Non-stereotypical").tap()
    page.get_by_role("button", name="Submit and continue").tap()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Indian")
    wait_until_saved(page)
    assert Judgement.objects.get().value == 0


@pytest.fixture
def practising(study, amal):
    """Amal, with one practice item before her work; returns its unit."""
    of = factories.association(group_name="French", text="snobbish")
    unit = Unit.objects.create(
        task=study.tasks.get(kind=TaskKind.PREVALENCE),
        position=9,
        association=of,
        purpose=Purpose.TRAINING,
        feedback="Many people know it.",
    )
    Option.objects.create(unit=unit, attribute=of.attribute, position=1, expected=[1])
    Enrolment.objects.update(status=EnrolmentStatus.TRAINING)
    return unit


def test_a_practice_item_says_what_was_expected_before_it_goes_on(new_page, accessible, amal, practising):
    page = new_page(amal)
    open_item(page, PAGE)
    practise(page)
    wait_for_item(page)
    accessible(page)
    wait_until_saved(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Mexican are merry")
    wait_for_item(page)
    expect(page.get_by_text("Practice item")).to_have_count(0)
    assert Response.objects.get().unit == practising


def test_work_comes_although_what_was_asked_before_practice_ended_is_answered_after_it(
    new_page, amal, practising
):
    page = new_page(amal)
    held = []

    def slowly(route) -> None:
        """The first question is answered at once, with nothing yet; the answer is long under way."""
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route("**/annotate/items/", slowly)
    open_item(page, PAGE)
    wait_for(lambda: page.evaluate("true") and held, "the page asks for nothing")
    practise(page)
    wait_for_item(page)
    wait_until_saved(page)
    route, reply = held[0]
    with page.expect_event("requestfinished"):
        route.fulfill(response=reply)
    page.evaluate(IDLE)  # the page has read it
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Mexican are merry")


def practise(page) -> None:
    expect(page.get_by_text("Practice item")).to_be_visible()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.locator("[data-feedback]")).to_be_focused()
    expect(page.locator("[data-feedback]")).to_contain_text("Many people know it.")


def test_the_last_answers_can_be_looked_at_and_corrected_by_keyboard(new_page, accessible, amal):
    page = new_page(amal)
    open_item(page, PAGE)
    heading = page.get_by_role("heading", level=1)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("Indian")
    wait_for_item(page)
    page.keyboard.press("2")  # half-way: stays as a draft
    page.keyboard.press("b")
    dialog = page.get_by_role("dialog", name="Your last answers")
    expect(dialog.get_by_text("Stereotypical", exact=True)).to_be_visible()
    accessible(page)
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("Mexican")
    wait_for_item(page)
    expect(page.get_by_role("radio", name="Stereotypical", exact=False).first).to_be_checked()
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(heading).to_contain_text("Indian")
    wait_for_item(page)
    expect(page.get_by_role("radio", name="Non-stereotypical")).to_be_checked()
    expect(page.get_by_text("The correction is saved.")).to_be_visible()
    revisions = Response.objects.order_by("revision").values_list("revision", "current", "judgements__value")
    assert list(revisions) == [(1, False, 1), (2, True, 0)]
