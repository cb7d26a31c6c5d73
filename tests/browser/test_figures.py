"""Figures in a real browser: drawn without scripts, alive with them, under the strict security policy.

`new_page` fails a test whose page complains in its console, so every page here is free of such complaints.
"""

from itertools import cycle
from urllib.parse import urlencode

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import IdentityGroup
from metrics.dashboards.figures import FIGURES
from tests import factories
from tests.metrics import cast, drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    made = cast.depiction_study(name="pictures", title="Pictures", leads=[lead])
    IdentityGroup.objects.filter(name="Mexican").update(country="Mexico")
    IdentityGroup.objects.filter(name="Nepali").update(country="Nepal")
    task = factories.task(made)
    for text in ("hat", "sombrero"):
        unit = factories.attribute_unit(task, text)
        for _ in range(3):
            factories.response(unit, values=[5])
    return made


@pytest.fixture
def asked(live_server):
    """Where the pages' requests went: asked(page) to begin with, then a list of addresses elsewhere."""
    elsewhere: list[str] = []

    def listen(page):
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((live_server.url, "data:", "blob:"))
                else elsewhere.append(request.url)
            ),
        )
        return elsewhere

    return listen


def page_of(name: str) -> str:
    return reverse("figure_page", args=["pictures", name])


def alive(page):
    """The figure once it is drawn by the page itself."""
    figure = page.locator("[data-figure][data-alive]").first
    expect(figure.locator("svg").first).to_be_visible()
    return figure


def middle_of(page, figure, text: str) -> tuple[float, float]:
    """Where the mark of the datum whose `country` begins with `text` is."""
    found = figure.evaluate(
        """(figure, text) => {
            for (const mark of figure.querySelectorAll("svg path")) {
                const datum = mark.__data__?.datum;
                if (!datum?.country?.startsWith(text) || !datum.state) continue;
                const box = mark.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }
        }""",
        text,
    )
    assert found, f"{text} is not on the map"
    return found[0], found[1]


def test_a_map_says_what_it_shows_and_leads_to_the_group(new_page, study, lead, asked):
    page = new_page(lead, height=1000)
    elsewhere = asked(page)
    page.goto(page_of("map-stereotypes"))
    figure = alive(page)
    expect(figure.locator("img")).to_be_hidden()
    where = middle_of(page, figure, "Mexico")
    page.mouse.move(*where)
    tooltip = page.locator("#vg-tooltip-element")
    expect(tooltip).to_be_visible()
    expect(tooltip).to_contain_text("Mexico (Mexican)")
    expect(tooltip).to_contain_text("hat 0.67, sombrero 0.17")
    page.mouse.click(*where)
    page.wait_for_url(f"**/identities/{factories.group('Mexican').pk}/")
    assert elsewhere == []


def test_without_scripts_there_are_picture_files_and_numbers(new_page, study, lead):
    page = new_page(lead, javascript=False)
    page.goto(reverse("figures", args=["pictures"]))
    page.get_by_role("link", name="Show this figure").first.click()
    picture = page.get_by_role("img", name="World map")
    expect(picture).to_be_visible()
    page.get_by_text("The same numbers as a table").click()
    expect(page.get_by_role("rowheader", name="Mexican")).to_be_visible()
    expect(page.get_by_role("link", name="PDF")).to_be_visible()


def test_the_list_fetches_each_figure_when_it_comes_into_sight(new_page, study, lead, asked):
    page = new_page(lead)
    elsewhere = asked(page)
    page.goto(reverse("figures", args=["pictures"]))
    alive(page)
    assert page.locator("[data-figure-slot]").count() > 0, "those further down have not been asked for"
    for name in FIGURES:
        page.locator(f"#of-{name}").scroll_into_view_if_needed()
    expect(page.get_by_text("No image of study 'pictures' has its file here.")).to_be_visible()
    assert elsewhere == []


def test_a_figure_that_does_not_come_can_be_asked_for_again(new_page, study, lead):
    page = new_page(lead)
    # htmx complains of the error too, which is what is wanted here
    page.add_init_script("console.error = () => {}")
    address = f"**{page_of('map-stereotypes')}"
    page.route(address, lambda route: route.fulfill(status=503, body="no"))
    page.goto(reverse("figures", args=["pictures"]))
    expect(page.get_by_text("The figure could not be drawn.").first).to_be_visible()
    page.unroute(address)
    page.get_by_role("button", name="Try again").first.click()
    expect(page.get_by_role("group", name="Visual stereotypes by country")).to_be_visible()


def test_every_page_is_accessible_and_fits_its_window(new_page, accessible_everywhere, study, lead):
    page = new_page(lead)
    page.goto(page_of("consensus"))
    alive(page)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    accessible_everywhere(page)
    page.goto(page_of("map-stereotypes"))
    alive(page)
    accessible_everywhere(page)


def test_every_figures_page_is_accessible_and_fits_its_window(new_page, accessible, lead):
    """Each at one size, the sizes in turn; those of the test before at all of them."""
    drawn.study_with_every_figure(name="pictures", leads=[lead])
    sizes = cycle(((1280, True), (360, False), (768, False), (360, True), (768, True), (1280, False)))
    pages = {}
    others = [name for name in FIGURES if name not in {"consensus", "map-stereotypes"}]
    for name, size in zip(others, sizes, strict=False):
        if size not in pages:
            width, dark = size
            pages[size] = new_page(lead, width=width, dark=dark)
        page = pages[size]
        page.goto(f"{page_of(name)}?{urlencode(drawn.ASKED.get(name, {}))}")
        alive(page)
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        accessible(page)
