"""The lead's pages in a real browser: readable, reachable by keyboard, alive, and whole without scripts."""

import io
import re

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from PIL import Image as Picture
from playwright.sync_api import expect

from annotation.models import Box, Judgement
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast
from tests.pure import made_once

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("few_resamples"),
]

# Both at one moment: the focus scrolls the page after the panel opens.
SAME_PLACE = """
(panel, selectors) => {
  const [one, other] = selectors.map((selector) => panel.querySelector(selector).getBoundingClientRect());
  return ["x", "y", "width", "height"].every((side) => Math.abs(one[side] - other[side]) < 0.5);
}
"""


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    """One study with both kinds of task, boxes, and a simulated annotator."""
    made = cast.depiction_study(name="pictures", title="Pictures", leads=[lead])
    task = factories.task(made, strata=("origin: Asia", "origin: Europe", "any"))
    for text, values in (("hat", [5, 5, 4]), ("kind", [1, 3, 1]), ("poor", [4, 4])):
        unit = factories.attribute_unit(task, text)
        for value in values:
            factories.response(unit, values=[value], who=factories.annotator(simulated=True))
    for number, judgement in enumerate(Judgement.objects.filter(value=1, option__attribute__isnull=False)):
        if judgement.response.unit.image_id:
            left = 20 * number
            corners = {"x0": left, "y0": 10, "x1": left + 90, "y1": 200}
            Box.objects.create(judgement=judgement, **corners, image_width=512, image_height=512)
    return made


def at_rest(page, url: str) -> None:
    """Open a page whose scores nobody has asked for yet. What says so comes after the page, above what is
    pointed at, and moves it away."""
    page.goto(url)
    expect(page.locator("[data-stale]")).to_be_visible()


def compute(study) -> None:
    depicted = ("tendency", "likelihood", "offensiveness")
    for metric in (*depicted, "consensus", "visual_rules", "visual_nature", "agreement"):
        score_runs.request(study=study, metric=metric, variant="corrected")
    score_runs.compute_pending()


def urls(study) -> list[str]:
    return [
        reverse("overview", args=[study.name]),
        reverse("identities", args=[study.name]),
        reverse("identity", args=[study.name, factories.group("Mexican").pk]),
        reverse("methods"),
        reverse("attributes", args=[study.name]),
        reverse("attribute", args=[study.name, factories.attribute("hat").pk]),
        reverse("gallery", args=[study.name]),
        reverse("compare", args=[study.name]),
        reverse("quality", args=[study.name]),
        reverse("plan_study", args=[study.name]),
        reverse("figures", args=[study.name]),
        reverse("agreement", args=[study.name]),
    ]


def test_differences_between_groups_of_annotators_fit_a_phone(new_page, accessible_everywhere, lead):
    people = [factories.annotator(profile={"gender": said}) for said in ("man", "woman") for _ in range(5)]
    said = {f"word {place}": [5, 4, 1, 2, place + 1] + [place % 2 + 4] * 5 for place in range(5)}
    study = cast.visual_study(said, people=people, strata=["any"] * 10, name="words", leads=[lead])
    score_runs.request(study=study, metric="agreement", variant="corrected", parameters={"by": "gender"})
    score_runs.compute_pending()
    page = new_page(lead, width=360)
    page.goto(f"{reverse('agreement', args=['words'])}?by=gender")
    table = page.get_by_role("region", name="Differences between groups").first
    expect(table).to_contain_text("within “man” minus within “woman”")
    expect(table).to_contain_text("q = ")
    assert table.evaluate("part => part.scrollWidth <= part.clientWidth"), "all of it is seen at once"
    accessible_everywhere(page)


def test_every_page_is_accessible_and_fits_its_window_and_paper(new_page, accessible_everywhere, study, lead):
    compute(study)
    page = new_page(lead)
    with made_once():  # a plan of few simulated studies looks like any other
        for url in urls(study):
            page.goto(url)
            check_on_paper(page)
            page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
            accessible_everywhere(page)


def test_fresh_scores_appear_by_themselves(new_page, study, lead):
    page = new_page(lead)
    page.goto(urls(study)[1])
    expect(page.get_by_text("being computed")).to_be_visible()
    score_runs.compute_pending()
    expect(page.get_by_role("link", name="Mexican")).to_be_visible()
    expect(page.get_by_text("being computed")).to_have_count(0)


def test_typing_filters_the_table_at_once(new_page, study, lead):
    compute(study)
    page = new_page(lead)
    page.goto(urls(study)[2])
    page.get_by_label("Search attribute").fill("SOMB")
    table = page.get_by_role("region", name="Table of attributes")
    expect(table.get_by_role("rowheader")).to_have_text(["sombrero"])
    expect(page.get_by_text("1 of 5 rows.")).to_be_visible()


def test_a_wall_of_images_is_used_by_keyboard(new_page, study, lead, accessible):
    picture_of(study)
    page = new_page(lead)
    at_rest(page, urls(study)[2])
    tiles = page.locator(".tile")
    panels = page.locator("article.image-page")
    for panel in panels.all():
        expect(panel).to_be_hidden()
    tiles.nth(0).focus()
    page.keyboard.press("Enter")
    expect(panels.nth(0)).to_be_visible()
    expect(panels.nth(0)).to_be_focused()
    accessible(page)
    page.keyboard.press("ArrowRight")
    expect(panels.nth(0)).to_be_hidden()
    expect(panels.nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")  # there is none after it
    expect(panels.nth(1)).to_be_visible()
    panels.nth(1).get_by_role("link", name="Previous").click()
    expect(panels.nth(0)).to_be_focused()
    panels.nth(0).locator("tr[data-row] a").first.click()  # a box is in it, so it stays open
    expect(panels.nth(0)).to_be_visible()
    page.keyboard.press("Escape")
    expect(panels.nth(0)).to_be_hidden()
    expect(tiles.nth(0)).to_be_focused()
    boxes = tiles.nth(0).locator("svg.over")
    expect(boxes).to_be_hidden()
    page.get_by_label("Show boxes").check()
    expect(boxes).to_be_visible()
    # only links that were followed are steps back: to the box, and to the image
    page.go_back()
    page.go_back()
    expect(page).not_to_have_url(re.compile("#"))


def test_a_row_brings_out_its_boxes_by_mouse_and_by_keyboard(new_page, study, lead):
    page = new_page(lead)
    at_rest(page, urls(study)[2])
    page.locator(".tile").first.click()
    panel = page.locator("article.image-page").first
    boxes = panel.locator("g.box")
    row = panel.locator("tr[data-row]").nth(1)
    expect(boxes.nth(1)).not_to_have_class("box box-s is-highlighted")
    row.hover()
    expect(boxes.nth(1)).to_have_class("box box-s is-highlighted")
    expect(boxes.nth(0)).to_have_css("opacity", "0.15")
    page.mouse.move(0, 0)
    expect(boxes.nth(1)).to_have_class("box box-s")
    row.get_by_role("link").focus()
    expect(boxes.nth(1)).to_have_class("box box-s is-highlighted")


def test_a_link_to_an_image_opens_it(new_page, study, lead):
    page = new_page(lead)
    at_rest(page, urls(study)[2])
    second = page.locator("article.image-page").nth(1)
    expect(second).to_be_hidden()
    page.get_by_role("link", name="Mexican2.png").first.click()
    expect(second).to_be_visible()
    expect(second.locator("svg.frame")).to_be_in_viewport()


def test_numbers_that_move_do_so_by_themselves_and_leave_what_is_open_open(new_page, study, lead):
    page = new_page(lead)
    page.clock.install()
    at_rest(page, urls(study)[0])
    expect(page.locator("dt:text-is('Responses')")).to_be_visible()
    page.get_by_text("Responses a day, last 14 days").click()
    before = page.locator("#live dl dd").first.text_content()
    unit = factories.attribute_unit(study.tasks.get(kind="visual_nature"), "new")
    factories.response(unit, values=[5])
    page.clock.run_for(11_000)
    expect(page.locator("#live dl dd").first).not_to_have_text(before)
    expect(page.locator("#days")).to_have_attribute("open", "")


def test_a_failed_run_is_tried_again_from_where_it_is_told(new_page, study, lead):
    run = score_runs.request(study=study, metric="tendency", variant="corrected")
    type(run).objects.filter(pk=run.pk).update(state="failed", error="odd", finished_at="2026-01-01T00:00Z")
    page = new_page(lead)
    page.goto(urls(study)[1])
    page.get_by_role("button", name="Try again").click()
    expect(page).to_have_url(re.compile("/identities/$"))
    expect(page.get_by_text("being computed")).to_be_visible()


def test_an_annotators_boxes_can_be_hidden_by_keyboard(new_page, study, lead):
    page = new_page(lead)
    page.goto(reverse("gallery", args=[study.name]))
    first = page.locator(".picture").first
    boxes = first.locator("g.by-1 rect.line")
    expect(boxes.first).to_be_visible()
    first.get_by_label("A", exact=True).focus()
    page.keyboard.press("Space")
    expect(boxes.first).to_be_hidden()
    expect(first.locator("g.by-2 rect.line").first).to_be_visible()


def test_blurred_images_are_revealed_one_by_one(new_page, study, lead):
    study.blur_images = True
    study.save()
    picture_of(study)
    page = new_page(lead)
    page.goto(reverse("gallery", args=[study.name]))
    image = page.locator(".picture image").first
    expect(image).to_have_css("filter", "blur(24px)")
    page.get_by_label("Show this image without blur").first.check()
    expect(image).to_have_css("filter", "none")


def check_on_paper(page) -> None:
    """There is no navigation, and no table is cut."""
    page.emulate_media(media="print")
    for gone in (".site-header", ".site-footer", ".dash-nav", "form"):
        for part in page.locator(gone).all():
            expect(part).to_be_hidden()
    cut = page.evaluate(
        "[...document.querySelectorAll('.table-wrap')].some("
        "part => part.scrollHeight > part.clientHeight + 1"
        " && getComputedStyle(part).overflowY !== 'visible')"
    )
    assert not cut, page.url
    page.emulate_media(media="screen")


def picture_of(study):
    """An image of the study whose file is here."""
    task = study.tasks.get(kind="depiction")
    task.image_set = factories.image_set()
    task.save()
    image = task.units.first().image
    image.sha256 = "0" * 64
    pixels = io.BytesIO()
    Picture.new("RGB", (512, 512), "grey").save(pixels, format="PNG")
    image.file.save("a.png", ContentFile(pixels.getvalue()))
    return image


def test_an_image_that_is_here_is_shown_under_its_boxes(new_page, study, lead, accessible):
    image = picture_of(study)
    page = new_page(lead)
    with page.expect_response(lambda answer: f"/images/{image.pk}/" in answer.url) as seen:
        page.goto(urls(study)[2])
    assert seen.value.status == 200
    accessible(page)


def test_an_image_whose_file_is_gone_says_so_and_keeps_its_boxes(new_page, study, lead, accessible):
    image = picture_of(study)
    image.file.storage.delete(image.file.name)
    page = new_page(lead)
    page.goto(urls(study)[2])
    tile = page.locator(".tile").first
    expect(tile.get_by_text("Image missing")).to_be_visible()
    tile.click()
    panel = page.locator("article.image-page").first
    expect(panel.get_by_text("Image missing")).to_be_visible()
    # as high as the image was, under its boxes
    assert panel.evaluate(SAME_PLACE, [".picture-none", "svg.frame"])
    accessible(page)
    page.goto(urls(study)[6])
    expect(page.get_by_role("img", name="Image missing").first).to_be_visible()


def test_everything_works_without_scripts(new_page, study, lead):
    compute(study)
    page = new_page(lead, javascript=False)
    page.goto(urls(study)[1])
    page.get_by_role("link", name="L(random)").click()
    page.wait_for_url("**sort=l_random**")
    page.get_by_label("Search group or region").fill("nobody")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("No group or region contains “nobody”")).to_be_visible()
    page.get_by_role("link", name="Show all").click()
    page.get_by_role("link", name="Mexican").click()
    page.locator(".tile").first.click()
    panel = page.locator("article.image-page").first
    panel.locator("tr[data-row] a").first.click()
    expect(panel.locator("g.box").nth(1)).to_have_css("opacity", "0.15")
    panel.get_by_role("link", name="Close").click()
    expect(panel).to_be_hidden()
