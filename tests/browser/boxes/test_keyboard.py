"""Boxes by keyboard alone, and what is said of them."""

import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from playwright.sync_api import expect

from annotation.annotate import texts
from tests.browser.boxes.editor import box

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_page_has_a_text_for_all_that_the_editor_says():
    main = Path(finders.find("annotation/boxes.js"))
    source = "".join(each.read_text() for each in [main, *main.with_suffix("").glob("*.js")])
    said = set(re.findall(r'announce\("(\w+)"|essages\.(\w+)', source))
    names = {name for each in said for name in each if name}
    assert {"armed", "cross", "reveal", "tools", "tooSmall"} <= names <= set(texts.box_editor())


def test_a_box_is_drawn_moved_resized_and_deleted_by_keyboard_alone(open_editor):
    editor = open_editor()
    status = editor.page.get_by_role("status").last
    editor.view.focus()
    editor.press("n", "ArrowLeft", "Control+ArrowUp", "Shift+ArrowRight")
    assert "Cross at 247, 206 of 512 by 512" in editor.said()
    editor.press("Enter")
    assert "First corner at 247, 206" in editor.said()
    editor.press("Control+ArrowRight", "ArrowDown", "ArrowDown", "Shift+ArrowDown")
    assert editor.said() == "Left 247, top 206, width 50, height 21"
    editor.press("Enter")
    assert editor.boxes() == [(247, 206, 297, 227)]
    expect(status).to_have_text("Box 1 of sombrero: left 247, top 206, width 50, height 21 of 512 by 512")
    # the second, begun at the last corner, to the left and upwards
    editor.press("Enter", "Control+ArrowLeft", "Control+ArrowUp", "Enter")
    assert editor.boxes()[1] == (247, 177, 297, 227)
    assert editor.said().startswith("Box 2 of sombrero:")

    editor.press("[")
    assert editor.said().startswith("Box 1 of sombrero:")
    editor.press("ArrowRight", "Shift+ArrowDown")
    assert editor.boxes()[0] == (257, 207, 307, 228)
    editor.press("Alt+ArrowRight", "Alt+Shift+ArrowUp", "Alt+Control+ArrowDown")
    assert editor.boxes()[0] == (257, 207, 317, 277)
    expect(status).to_have_text("Box 1 of sombrero: left 257, top 207, width 60, height 70 of 512 by 512")
    editor.press(*["Control+ArrowRight"] * 6)
    assert editor.boxes()[0] == (452, 207, 512, 277)
    editor.press(*["Alt+Control+ArrowLeft"] * 3)
    assert editor.boxes()[0] == (452, 207, 453, 277)
    editor.press("Delete")
    assert editor.boxes() == [(247, 177, 297, 227)]
    expect(status).to_have_text("Deleted. 1 left.")
    editor.press("]", "Backspace")
    assert editor.boxes() == []
    expect(editor.view).to_be_focused()


def test_boxes_of_the_attribute_in_hand_are_tab_stops_that_arrows_move(open_editor):
    editor = open_editor(
        boxes=[
            box(10, 10, 60, 60),
            box(100, 100, 160, 160, id="b", option=12),
            box(200, 200, 260, 260, id="c"),
        ]
    )
    editor.view.focus()
    stops = []
    for _ in range(2):
        editor.press("Tab")
        stops.append(editor.page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert stops == [
        "Box 1 of sombrero: left 10, top 10, width 50, height 50 of 512 by 512",
        "Box 2 of sombrero: left 200, top 200, width 60, height 60 of 512 by 512",
    ]
    editor.press("ArrowUp")
    assert editor.boxes()[2] == (200, 190, 260, 250)
    # the same element still has the focus, and a new name
    assert "top 190" in editor.page.evaluate("document.activeElement.getAttribute('aria-label')")
    editor.press("Tab")
    expect(editor.page.get_by_label("A field")).to_be_focused()


def test_an_arrow_key_held_down_is_one_step_to_undo(open_editor):
    editor = open_editor(boxes=[box(100, 100, 200, 200)])
    editor.call("selectBox", "a")
    editor.view.focus()
    for _ in range(5):
        editor.page.keyboard.down("ArrowRight")  # repeats while it is down
    editor.page.keyboard.up("ArrowRight")
    editor.press("ArrowRight")
    assert editor.boxes() == [(160, 100, 260, 200)]
    editor.press("Control+z")
    assert editor.boxes() == [(150, 100, 250, 200)]
    editor.press("Control+z")
    assert editor.boxes() == [(100, 100, 200, 200)]


def test_keys_outside_the_editor_are_left_to_the_page(open_editor):
    editor = open_editor(boxes=[box(100, 100, 200, 200)])
    editor.call("selectBox", "a")
    editor.page.get_by_label("A field").fill("abc")
    editor.press("Backspace", "r", "Control+ArrowLeft", "Delete")
    assert len(editor.boxes()) == 1
    taken = editor.page.evaluate(
        """() => {
            const key = (name) => new KeyboardEvent("keydown", { key: name });
            const keys = ["5", "0", "Enter", "ArrowLeft", "s", "r", "Delete"];
            return keys.map((name) => window.editor.handleKey(key(name)));
        }"""
    )
    assert taken == [False, False, False, False, False, True, True]
    assert editor.boxes() == []
