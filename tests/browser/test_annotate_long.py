"""Hours at the page: many answers in a row, each of them recorded as it was clicked and compared with the
database one by one, and what the page keeps meanwhile.

ANSWERS=500 makes the first test as long as a working day.
"""

from __future__ import annotations

import os
import random

import pytest
from django.core.files.base import ContentFile
from playwright.sync_api import Page, expect

from annotation.models import Judgement, Response, Skip, Slot, SlotState, TaskKind
from tests import factories
from tests.browser.annotation_page import drag, open_item, png, wait_for_item, wait_until_saved

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ANSWERS = int(os.environ.get("ANSWERS", "45"))
VALUES = {"1": 5, "2": 4, "3": 2, "4": 1, "5": 3}
ROWS = """name => new Promise((done, failed) => {
    const opening = indexedDB.open(name);
    opening.onerror = () => failed(opening.error);
    opening.onsuccess = () => {
        const reading = opening.result.transaction(["entries", "drafts"]);
        const [entries, drafts] = ["entries", "drafts"].map(store => reading.objectStore(store).getAllKeys());
        reading.oncomplete = () => {
            opening.result.close();
            done({ entries: entries.result, drafts: drafts.result });
        };
    };
})"""


def enrolled(study, name: str):
    who = factories.user(name)
    return who, factories.enrolment(study, who=factories.annotator(user=who), consented=True)


def judged_word(page: Page) -> str:
    wait_for_item(page)
    return page.locator("h1.statement strong").inner_text()


class Weight:
    """What the page weighs, after the garbage was collected."""

    def __init__(self, page: Page) -> None:
        self._devices = page.context.new_cdp_session(page)
        self._devices.send("Performance.enable")

    def now(self) -> dict[str, float]:
        self._devices.send("HeapProfiler.collectGarbage")
        metrics = self._devices.send("Performance.getMetrics")["metrics"]
        wanted = {"JSHeapUsedSize", "Nodes", "JSEventListeners"}
        return {one["name"]: one["value"] for one in metrics if one["name"] in wanted}


def test_many_answers_in_a_row_are_in_the_database_as_they_were_clicked(new_page):
    study = factories.rating_study(name="words", texts=[f"word {number:03}" for number in range(ANSWERS)])
    amal, enrolment = enrolled(study, "amal")
    page = new_page(amal)
    open_item(page, "/studies/words/annotate/")
    weight = Weight(page)
    rng = random.Random(11)
    clicked: list[tuple[str, int, str]] = []  # every answer in its order, corrections as well
    skipped: list[str] = []
    early: dict[str, float] = {}
    for number in range(1, ANSWERS + 1):
        word = judged_word(page)
        if number == 12:
            wait_until_saved(page)
            early = weight.now()
        if number == ANSWERS:
            wait_until_saved(page)
            late = weight.now()
            rows = page.evaluate(ROWS, f"visage-work-{enrolment.pk}")
        if number % 25 == 0:
            page.keyboard.press("s")
            page.get_by_label("I do not understand it").check()
            page.keyboard.press("Enter")
            skipped.append(word)
            continue
        key = rng.choice("12345")
        if rng.random() < 0.2:
            page.keyboard.press(rng.choice("1234"))  # a change of mind before it is sent
        page.keyboard.press(key)
        reason = f"because of {word}, {rng.randint(1, 9)} times" if key == "5" else ""
        if reason:
            page.keyboard.type(reason)
        page.keyboard.press("Control+Enter" if reason or rng.random() < 0.5 else "Enter")
        clicked.append((word, VALUES[key], reason))
        if number % 30 == 10:
            clicked.append(corrected(page, clicked[-1][0], rng.choice("1234")))
    page.wait_for_url("**/thanks/")

    kept = Judgement.objects.order_by("response__pk").values_list(
        "option__attribute__text", "value", "justification"
    )
    assert list(kept) == clicked
    assert list(Skip.objects.order_by("pk").values_list("unit__attribute__text", flat=True)) == skipped
    answered = {word for word, _value, _reason in clicked}
    filled = Slot.objects.filter(annotator=enrolment.annotator, state=SlotState.FILLED)
    assert set(filled.values_list("unit__attribute__text", flat=True)) == answered
    assert Response.objects.filter(current=True).count() == filled.count() == len(answered)
    last_said = {word: value for word, value, _reason in clicked}
    current = Judgement.objects.filter(response__current=True)
    assert dict(current.values_list("option__attribute__text", "value")) == last_said

    # nothing piles up: neither in the browser's storage nor in the page
    assert rows["entries"] == []
    assert set(rows["drafts"]) <= {"since-break"}
    assert late["Nodes"] <= early["Nodes"] + 30, (early, late)
    assert late["JSEventListeners"] <= early["JSEventListeners"] + 10, (early, late)
    assert late["JSHeapUsedSize"] <= early["JSHeapUsedSize"] + 4_000 * ANSWERS, (early, late)


def corrected(page: Page, word: str, key: str) -> tuple[str, int, str]:
    """Change one's mind about the last answer; what is said now."""
    wait_for_item(page)
    page.keyboard.press("b")
    dialog = page.get_by_role("dialog", name="Your last answers")
    expect(dialog.get_by_role("button", name="Change").first).to_be_focused()
    page.keyboard.press("Enter")
    assert judged_word(page) == word
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.get_by_text("The correction is saved.")).to_be_visible()
    return word, VALUES[key], ""


@pytest.fixture
def pictures():
    made = factories.study("pictures", contact="studies@example.org")
    factories.consent_text(made)
    drawn = factories.image_set("drawn")
    task = factories.task(made, kind=TaskKind.DEPICTION, image_set=drawn, wording="What is depicted?")
    for number in range(1, 7):
        width, height = (400, 300) if number % 2 else (300, 500)
        image = factories.image(index=number, width=width, height=height, image_set=drawn)
        image.sha256 = f"{number}" * 64
        image.file.save(f"{number}.png", ContentFile(png(20 * number, width=width, height=height)))
        for page in (1, 2):
            factories.page_unit(task, picture=image, page=page)
    return made


Fractions = tuple[float, float, float, float]


def test_boxes_drawn_page_after_page_are_in_the_database_as_they_were_drawn(new_page, pictures):
    """Overlapping boxes, boxes inside boxes, boxes made larger, moved, removed and brought back."""
    amal, _enrolment = enrolled(pictures, "amal")
    page = new_page(amal)
    open_item(page, "/studies/pictures/annotate/")
    rng = random.Random(5)
    drawn: list[dict[str, list[Fractions] | None]] = []  # attribute -> its boxes; None: the image as a whole
    for number in range(12):
        wait_for_item(page)
        texts = [text.strip() for text in page.locator(".option .choice-name").all_text_contents()]
        if number % 5 == 4:
            page.keyboard.press("0")
            page.keyboard.press("Control+Enter")
            drawn.append({})
            continue
        said: dict[str, list[Fractions] | None] = {}
        for place in sorted(rng.sample(range(4), rng.randint(1, 3))):
            page.keyboard.press(str(place + 1))
            if rng.random() < 0.25:
                page.keyboard.press("w")
                said[texts[place]] = None
            else:
                said[texts[place]] = [draw(page, rng) for _ in range(rng.randint(1, 3))]
        page.keyboard.press("Control+Enter")
        drawn.append(said)
    page.wait_for_url("**/thanks/")

    responses = Response.objects.order_by("pk").select_related("unit__image")
    for response, said in zip(responses, drawn, strict=True):
        image = response.unit.image
        chosen = response.judgements.filter(value=1).select_related("option__attribute")
        found = {one.option.attribute.text: one for one in chosen if one.option.attribute}
        assert found.keys() == said.keys()
        assert len(chosen) == max(1, len(said))
        for text, boxes in said.items():
            assert found[text].whole_image == (boxes is None)
            kept = [(box.x0, box.y0, box.x1, box.y1) for box in found[text].boxes.order_by("pk")]
            size = (image.width, image.height) * 2
            wanted = [tuple(f * s for f, s in zip(box, size, strict=True)) for box in boxes or []]
            assert len(kept) == len(wanted)
            for one, other in zip(kept, wanted, strict=True):
                assert one == pytest.approx(other, abs=1.5)


def draw(page: Page, rng: random.Random) -> Fractions:
    """Draw a box anywhere, and perhaps change it; where it is in the end."""
    x0, y0 = rng.uniform(0.02, 0.5), rng.uniform(0.02, 0.5)
    x1, y1 = x0 + rng.uniform(0.15, 0.35), y0 + rng.uniform(0.15, 0.35)
    boxes = page.locator("[data-box]")
    before = boxes.count()
    page.keyboard.press("r")
    drag(page, x0, y0, x1, y1)
    expect(boxes).to_have_count(before + 1)
    change = rng.choice(["none", "resize", "move", "undo"])
    if change == "undo":
        page.keyboard.press("Control+z")
        expect(boxes).to_have_count(before)
        page.keyboard.press("Control+Shift+z")
        expect(boxes).to_have_count(before + 1)
    elif change == "resize":
        page.keyboard.press("v")
        to_x, to_y = x1 + 0.1, y1 + 0.08
        drag(page, x1, y1, to_x, to_y)
        x1, y1 = to_x, to_y
    elif change == "move":
        page.keyboard.press("v")
        middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        drag(page, *middle, middle[0] + 0.05, middle[1] + 0.06)
        x0, x1, y0, y1 = x0 + 0.05, x1 + 0.05, y0 + 0.06, y1 + 0.06
    return x0, y0, x1, y1
