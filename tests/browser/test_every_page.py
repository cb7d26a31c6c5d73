"""Each page there is, by the list of addresses: on a phone, in the dark, and from right to left."""

from urllib.parse import urlsplit

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from annotation.models import Study, StudyStatus
from tests import factories
from tests.annotation.releases.world import ASIAN_WOMAN, EUROPEAN_MAN, answered, people
from tests.pure import made_once
from tests.test_access import EXPECTED, LOGIN, ROLES, World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OUR_ERRORS = ("403.html", "403_csrf.html", "404.html", "413.html", "500.html", "507.html")
PARTS = {"health_live", "overview_live", "fresh_scores", "fill_rates", "run_progress"}
"""What pages fetch to be shown within them; there it is looked at by the tests of those pages."""
DATA = {"image_file", "thumbnail_file", "run_answer_text", "try_token", "work_last", "work_token"}
"""What is no page though its address ends in a slash."""


def who_sees(name: str) -> str | None:
    """The first of these roles that gets something to read at an address, if any does."""
    seen = EXPECTED[name][0]
    return next(
        (
            role
            for role in ("admin", "lead", "annotator", "anonymous")
            if 200 <= seen[ROLES.index(role)] < LOGIN
        ),
        None,
    )


def is_page(answer) -> bool:
    return answer.headers["content-type"].startswith("text/html")


@pytest.fixture
def _made_once():
    with made_once():
        yield


@pytest.mark.usefixtures("_made_once")
def test_no_page_has_a_fault_that_axe_can_find_or_scrolls_sideways(new_page, accessible):
    world = World()
    pages: dict[str, object] = {}
    seen = []
    addresses = [
        (name, role, world.url(name)) for name in EXPECTED if name not in PARTS and (role := who_sees(name))
    ]
    for name, role, address in addresses:
        if role not in pages:
            pages[role] = new_page(world.people.get(role), width=360, dark=True, language="ar")
        page = pages[role]
        # asked for once: to make a page takes as long as to look at it
        if name in DATA or not address.endswith("/"):
            assert not is_page(page.request.get(address)), f"{name} is a page"
            continue
        assert is_page(page.goto(address)), f"{name} is no page: it belongs to DATA"
        assert urlsplit(page.url).path == address, f"{role} is sent away from {address}"
        accessible(page)
        seen.append(address)
    assert len(seen) >= 50


def test_pages_are_as_sound_with_less_and_with_more_on_them(new_page, accessible):
    """What the first of those who may see a page, in a world of little, does not see of it."""
    world = World()
    answered(people((ASIAN_WOMAN, 6), (EUROPEAN_MAN, 2)), units=2, leads=[world.people["lead"]])
    page = new_page(world.people["admin"])
    for address in (
        # no export was asked for yet
        reverse("export_page", args=["live"]),
        # with a table, with an error above the form, and with one beside a field
        reverse("release_page", args=["live"]),
        reverse("release_page", args=["pictures"]),
        reverse("release_page", args=["live"]) + "?k=1",
    ):
        page.goto(address)
        accessible(page)
    # leads and takes part, only takes part, neither; and once nothing is open, leads only, and nothing at all
    for status in (StudyStatus.OPEN, StudyStatus.PAUSED):
        Study.objects.update(status=status)
        for role in ("lead", "annotator", "stranger"):
            page = new_page(world.people[role])
            page.goto(reverse("home"))
            accessible(page)


# Swagger UI's own markup: its colours, buttons within buttons, the levels of its headings, and what stands
# before its <main>.
OF_SWAGGER_UI = ("color-contrast", "nested-interactive", "heading-order", "region")


def test_the_page_of_the_api_is_sound_but_for_what_swagger_ui_brings(new_page, accessible):
    page = new_page(factories.user("reader"), width=360)
    page.goto(reverse("api:docs"))
    page.locator(".opblock").first.wait_for()
    accessible(page, without=OF_SWAGGER_UI)


def test_pages_of_errors_are_as_sound_as_all_others(new_page, accessible):
    page = new_page(width=360, dark=True)
    for name in OUR_ERRORS:
        page.route("**/as-if/", as_if(render_to_string(name)))
        page.goto("/as-if/")
        assert page.get_by_role("heading", level=1).count() == 1, name
        accessible(page)
        page.unroute("**/as-if/")


def as_if(html: str):
    """Answers with this page."""
    return lambda route: route.fulfill(content_type="text/html", body=html)
