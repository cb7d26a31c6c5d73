"""Selecting, moving and resizing boxes, and taking it all back."""

import pytest
from playwright.sync_api import expect

from tests.browser.boxes.editor import box, near

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_click_selects_the_smallest_box_under_it_and_the_next_click_the_next(open_editor):
    boxes = [box(50, 50, 400, 400), box(100, 100, 300, 300, id="b"), box(150, 150, 200, 200, id="c")]
    editor = open_editor(boxes=boxes)
    editor.view.focus()
    editor.press("v")

    def selected() -> str:
        return editor.page.locator(".boxes-box[aria-pressed='true']").get_attribute("data-box")

    chosen = []
    for _ in range(4):
        editor.click(185, 185)
        chosen.append(selected())
    assert chosen == ["c", "b", "a", "c"]
    editor.click(450, 450)
    expect(editor.page.locator(".boxes-box[aria-pressed='true']")).to_have_count(0)
    assert editor.reasons() == []


def test_a_drag_moves_a_box_which_stops_at_the_edges_with_its_size(open_editor):
    editor = open_editor(boxes=[box(100, 120, 200, 260)])
    editor.view.focus()
    editor.press("v")
    editor.drag((150, 200), (210, 170))
    assert near(editor.boxes(), (160, 90, 260, 230))
    editor.drag((200, 150), (900, 150))
    assert near(editor.boxes(), (412, 90, 512, 230))
    editor.drag((450, 150), (-300, -300))
    assert near(editor.boxes(), (0, 0, 100, 140))
    assert editor.reasons() == ["move"] * 3


HANDLES = {
    "nw": ((100, 120), (120, 150, 240, 280)),
    "n": ((170, 120), (100, 150, 240, 280)),
    "ne": ((240, 120), (100, 150, 260, 280)),
    "e": ((240, 200), (100, 120, 260, 280)),
    "se": ((240, 280), (100, 120, 260, 310)),
    "s": ((170, 280), (100, 120, 240, 310)),
    "sw": ((100, 280), (120, 120, 240, 310)),
    "w": ((100, 200), (120, 120, 240, 280)),
}
"""Where each handle is, and the box once it was dragged by (20, 30)."""


def test_each_handle_moves_its_own_edges(open_editor):
    editor = open_editor()
    for handle, (start, expected) in HANDLES.items():
        editor.begin_again(box(100, 120, 240, 280))
        editor.call("selectBox", "a")
        expect(editor.page.locator(f"[data-handle={handle}]")).to_have_count(1)
        editor.drag(start, (start[0] + 20, start[1] + 30))
        assert near(editor.boxes(), expected), handle
        assert editor.reasons() == ["resize"], handle


def test_an_edge_drawn_over_its_opposite_turns_the_box_over_and_stays_in_the_image(open_editor):
    editor = open_editor(boxes=[box(100, 120, 240, 280)])
    editor.call("selectBox", "a")
    editor.drag((240, 280), (40, 20))
    assert near(editor.boxes(), (40, 20, 100, 120))
    editor.drag((40, 20), (-200, -200))
    assert near(editor.boxes(), (0, 0, 100, 120))


def test_a_finger_moves_and_resizes_a_box_beside_its_handle(open_editor):
    editor = open_editor(page_width=390, boxes=[box(100, 120, 300, 320)])
    editor.call("selectBox", "a")
    editor.swipe((200, 220), (240, 260))
    assert near(editor.boxes(), (140, 160, 340, 360), within=1.5)
    editor.swipe((350, 370), (400, 430))  # ten pixels off the corner
    assert near(editor.boxes(), (140, 160, 390, 420), within=1.5)
    assert editor.page.evaluate("scrollY") == 0


def test_escape_during_a_drag_leaves_the_box_where_it_was(open_editor):
    editor = open_editor(boxes=[box(100, 120, 200, 260)])
    editor.view.focus()
    editor.press("v")
    editor.page.mouse.move(*editor.at(150, 200))
    editor.page.mouse.down()
    editor.page.mouse.move(*editor.at(300, 300))
    editor.press("Escape")
    editor.page.mouse.move(*editor.at(350, 350))
    editor.page.mouse.up()
    assert editor.boxes() == [(100, 120, 200, 260)]
    assert editor.reasons() == []


def test_a_finger_scrolls_the_page_unless_the_tool_is_armed_or_it_holds_a_box(open_editor):
    editor = open_editor(page_width=390, page_height=660, boxes=[box(100, 300, 300, 460)])
    editor.swipe((400, 440), (480, 250))
    assert len(editor.boxes()) == 2
    assert editor.page.evaluate("scrollY") == 0
    editor.press("v")
    editor.swipe((150, 350), (150, 250))
    assert near(editor.boxes()[:1], (100, 200, 300, 360), within=2)
    assert editor.page.evaluate("scrollY") == 0
    editor.swipe((40, 460), (40, 100))
    editor.until("scrollY > 50")
    assert len(editor.boxes()) == 2


def test_a_finger_moves_the_view_of_a_zoomed_picture(open_editor):
    editor = open_editor(page_width=390, page_height=660)
    for _ in range(4):
        editor.call("zoomIn")
    editor.call("setMode", "pan")
    before = editor.page.evaluate("document.querySelector('.boxes-view').scrollLeft")
    assert before > 0
    editor.swipe((300, 300), (220, 300))
    editor.until(f"document.querySelector('.boxes-view').scrollLeft > {before + 20}")
    assert editor.boxes() == []


def test_every_change_can_be_undone_and_done_again(open_editor):
    editor = open_editor()
    states = [editor.call("allBoxes")]

    def remember() -> None:
        states.append(editor.call("allBoxes"))

    editor.drag((50, 50), (150, 150))
    remember()
    editor.drag((200, 200), (300, 320))
    remember()
    editor.press("v")
    editor.drag((100, 100), (140, 120))
    remember()
    editor.drag((190, 170), (210, 200))  # its lower right corner
    remember()
    editor.press("Delete")
    remember()
    editor.call("assign", "box-2", 12, "poor")
    remember()
    editor.call("remove", ["box-2"])
    remember()
    assert states[-1] == []
    assert states[-2][0]["option"] == 12

    for state in reversed(states[:-1]):
        editor.press("Control+z")
        assert editor.call("allBoxes") == state
    editor.press("Control+z")
    assert "nothing to undo" in editor.said()
    for index, state in enumerate(states[1:]):
        editor.press("Control+Shift+Z" if index % 2 else "Control+y")
        assert editor.call("allBoxes") == state

    editor.press("Control+z", "Control+z")
    editor.press("r")
    editor.drag((400, 400), (450, 450))
    editor.press("Control+y")  # a new step ends what could have been done again
    assert len(editor.boxes()) == len(states[-3]) + 1
    assert editor.reasons()[:7] == ["draw", "draw", "move", "resize", "remove", "assign", "remove"]


def test_several_boxes_are_removed_in_one_step(open_editor):
    editor = open_editor(boxes=[box(10, 10, 50, 50), box(60, 60, 90, 90, id="b")])
    editor.call("remove", ["a", "b"])
    assert editor.boxes() == []
    editor.call("undo")
    assert len(editor.boxes()) == 2
