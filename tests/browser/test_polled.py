"""Parts of pages that ask for news by themselves, and what they say while none comes."""

from datetime import UTC, datetime

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from metrics.core import studies
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics import cast

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("few_resamples"),
]


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="pictures", title="Pictures", leads=[lead])


def the_server_is_away(page, address: str):
    """Answers that say so, for whatever asks `address`; htmx complains of them, which is what is wanted."""
    page.route(address, lambda route: route.fulfill(status=503, body="no"))


def test_numbers_that_could_not_be_updated_say_since_when_until_they_are(new_page, study, lead, accessible):
    page = new_page(lead)
    page.add_init_script("console.error = () => {}")
    page.clock.install(time=datetime(2026, 3, 1, 12, tzinfo=UTC))
    page.goto(reverse("overview", args=[study.name]))
    late = page.locator("[role=status] [data-late]:visible")
    expect(page.locator("dt:text-is('Responses')")).to_be_visible()
    expect(late).to_have_count(0)
    the_server_is_away(page, "**/overview/live/**")
    page.clock.run_for(11_000)
    expect(late).to_contain_text("Not updated since 2026-03-01 12:0")
    expect(late).to_have_count(1)
    since = late.text_content()
    page.clock.run_for(30_000)
    assert late.text_content() == since, "it is said once"
    accessible(page)
    page.unroute("**/overview/live/**")
    page.clock.run_for(11_000)
    expect(late).to_have_count(0)


def test_a_count_and_a_check_that_failed_are_tried_again_by_themselves(new_page, study, lead, monkeypatch):
    monkeypatch.setattr(studies, "MAX_SMALL", 2)
    page = new_page(lead)
    page.add_init_script("console.error = () => {}")
    page.clock.install()
    asked = ("**/overview/live/**", "**/scores/fresh/**")
    for address in asked:
        the_server_is_away(page, address)
    page.goto(reverse("overview", args=[study.name]))
    late = page.locator("[role=status] [data-late]:visible")
    expect(late).to_have_count(2)
    expect(page.get_by_text("Counting responses.")).to_be_visible()
    for address in asked:
        page.unroute(address)
    page.clock.run_for(11_000)
    expect(page.locator("dt:text-is('Responses')")).to_be_visible()
    expect(late).to_have_count(0)


def test_a_network_that_is_cut_is_told_and_forgotten_when_it_is_back(
    new_page, study, lead, offline_is_expected
):
    page = new_page(lead)
    page.add_init_script("console.error = () => {}")
    page.clock.install()
    page.goto(reverse("identities", args=[study.name]))
    late = page.locator("[role=status] [data-late]:visible")
    expect(page.get_by_text("being computed")).to_be_visible()
    page.context.set_offline(True)
    page.clock.run_for(3_000)
    expect(late).to_be_visible()
    score_runs.compute_pending()
    page.context.set_offline(False)
    page.clock.run_for(3_000)
    expect(page.get_by_role("link", name="Mexican")).to_be_visible()
    expect(late).to_have_count(0)


def test_how_annotators_of_a_large_study_work_appears_by_itself(new_page, study, lead, monkeypatch):
    monkeypatch.setattr(studies, "MAX_SMALL", 2)
    page = new_page(lead)
    page.add_init_script("console.error = () => {}")
    page.clock.install()
    the_server_is_away(page, "**/quality/**check")
    page.goto(reverse("quality", args=[study.name]))
    expect(page.get_by_text("Counting answers.")).to_be_visible()
    expect(page.locator("[role=status] [data-late]:visible")).to_have_count(1)
    page.unroute("**/quality/**check")
    page.clock.run_for(11_000)
    expect(page.get_by_role("region", name="Annotators").get_by_role("row")).to_have_count(4)
    expect(page.locator("[data-late]:visible")).to_have_count(0)
