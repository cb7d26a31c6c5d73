"""Drawing boxes by mouse, touch and pen, compared in pixels of the image."""

import pytest

from tests.browser.boxes.editor import box, near

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_drag_in_any_direction_draws_a_box_in_pixels_of_the_image(open_editor):
    editor = open_editor()
    left, top, right, bottom = 60, 80, 200, 300
    for start, end in (
        ((left, top), (right, bottom)),
        ((right, bottom), (left, top)),
        ((right, top), (left, bottom)),
        ((left, bottom), (right, top)),
    ):
        editor.begin_again()
        editor.drag(start, end)
        assert near(editor.boxes(), (left, top, right, bottom))
        assert editor.reasons() == ["draw"]
        assert editor.call("boxesOf", 11) == editor.call("allBoxes")
        assert editor.call("boxesOf", 12) == []


def test_two_clicks_draw_a_box_and_escape_gives_up_the_first(open_editor):
    editor = open_editor()
    editor.click(100, 100)
    assert editor.boxes() == []
    assert "Set the opposite corner" in editor.said()
    editor.page.mouse.move(*editor.at(150, 170))
    editor.click(180, 220)
    assert near(editor.boxes(), (100, 100, 180, 220))

    editor.click(300, 300)
    editor.press("Escape")
    editor.page.mouse.move(*editor.at(400, 400))
    editor.click(400, 400)  # a first corner again
    editor.press("Escape")
    assert len(editor.boxes()) == 1


def test_a_drag_after_a_stray_click_is_a_box_of_its_own(open_editor):
    editor = open_editor()
    editor.click(20, 20)
    editor.drag((200, 200), (300, 320))
    assert near(editor.boxes(), (200, 200, 300, 320))


def test_a_box_may_begin_and_end_outside_the_image_and_is_clipped_at_its_edge(open_editor):
    editor = open_editor()
    for start, end, expected in (
        ((-15, -15), (90, 70), (0, 0, 90, 70)),
        ((527, 527), (400, 450), (400, 450, 512, 512)),
        ((200, -15), (300, 60), (200, 0, 300, 60)),
        ((430, 200), (700, 260), (430, 200, 512, 260)),
        ((-15, 100), (700, 140), (0, 100, 512, 140)),
    ):
        editor.begin_again()
        editor.drag(start, end)
        assert near(editor.boxes(), expected)
        x0, y0, x1, y1 = editor.boxes()[0]
        assert 0 <= x0 < x1 <= 512
        assert 0 <= y0 < y1 <= 512


def test_an_armed_tool_draws_inside_over_and_across_other_boxes(open_editor):
    editor = open_editor(boxes=[box(100, 100, 300, 300)])
    editor.drag((150, 150), (250, 250))  # inside
    editor.drag((250, 250), (400, 400))  # from the corner of one, across another
    editor.drag((50, 50), (350, 350))  # around
    editor.drag((300, 300), (200, 320))  # from where a handle of the first would be
    assert near(
        editor.boxes(),
        (100, 100, 300, 300),
        (150, 150, 250, 250),
        (250, 250, 400, 400),
        (50, 50, 350, 350),
        (200, 300, 300, 320),
    )


def test_slips_of_the_hand_make_no_box(open_editor):
    editor = open_editor()
    x, y = editor.at(100, 100)
    editor.page.mouse.move(x, y)
    editor.page.mouse.down()
    editor.page.mouse.move(x + 200, y + 3)
    editor.page.mouse.up()
    assert editor.boxes() == []
    assert "Too small" in editor.said()
    editor.page.mouse.dblclick(x, y)
    assert editor.boxes() == []
    editor.page.mouse.click(*editor.at(300, 300), button="right")
    assert editor.boxes() == []
    assert editor.reasons() == []


def test_nothing_is_drawn_without_an_attribute_to_draw_for(open_editor):
    editor = open_editor(idle="yes")
    editor.press("r")
    editor.view.focus()
    editor.press("r")
    editor.drag((50, 50), (200, 200))
    assert editor.boxes() == []
    assert "Choose what you want to draw" in editor.said()


def test_a_finger_draws_by_dragging_and_by_tapping_two_corners(open_editor):
    editor = open_editor(page_width=390)
    editor.swipe((40, 60), (240, 260))
    assert near(editor.boxes(), (40, 60, 240, 260), within=1.5)
    for corner in ((300, 300), (480, 420)):
        editor.touch("touchStart", corner)
        editor.touch("touchEnd")
    assert near(editor.boxes(), (40, 60, 240, 260), (300, 300, 480, 420), within=1.5)
    assert editor.page.evaluate("scrollY") == 0


def test_a_pen_draws_and_the_hand_that_holds_it_does_not(open_editor):
    editor = open_editor()
    editor.pen("mousePressed", 50, 60)
    editor.pen("mouseMoved", 100, 100)
    wide = editor.seen()["width"]
    editor.touch("touchStart", (400, 400))
    editor.touch("touchStart", (400, 400), (450, 450))
    editor.touch("touchMove", (380, 380), (480, 480))
    editor.pen("mouseMoved", 210, 160)
    editor.touch("touchEnd")
    editor.pen("mouseReleased", 210, 160)
    assert near(editor.boxes(), (50, 60, 210, 160))
    assert editor.seen()["width"] == wide


def test_drawing_that_the_system_takes_away_leaves_nothing(open_editor):
    editor = open_editor()
    editor.touch("touchStart", (40, 60))
    editor.touch("touchMove", (240, 260))
    editor.touch("touchCancel")
    assert editor.boxes() == []
    editor.swipe((40, 60), (240, 260))
    assert len(editor.boxes()) == 1
