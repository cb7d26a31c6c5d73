"""Each page there is, by the list of addresses: on a phone, in the dark, and from right to left."""

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from tests.test_access import EXPECTED, LOGIN, ROLES, World

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
OUR_ERRORS = ("403.html", "403_csrf.html", "404.html", "413.html", "500.html", "507.html")
PARTS = {"health_live", "overview_live", "fresh_scores", "fill_rates", "run_progress"}
"""What pages fetch to be shown within them; there it is looked at by the tests of those pages."""


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


def test_no_page_has_a_fault_that_axe_can_find_or_scrolls_sideways(new_page, accessible):
    world = World()
    pages: dict[str, object] = {}
    seen = []
    addresses = [
        (role, world.url(name)) for name in EXPECTED if name not in PARTS and (role := who_sees(name))
    ]
    for role, address in [*addresses, ("admin", reverse("api:docs"))]:
        if role not in pages:
            pages[role] = new_page(world.people.get(role), width=360, dark=True, language="ar")
        page = pages[role]
        found = page.request.get(address)
        if not found.headers["content-type"].startswith("text/html"):
            continue
        page.goto(address)
        accessible(page)
        seen.append(address)
    assert len(seen) > 50


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
