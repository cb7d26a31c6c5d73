"""A report that is opened from its folder, without a network: sound in every language, width and light."""

import pytest

from metrics.report import services
from metrics.report.figures import WANTED
from tests.metrics.report import world

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = ("index", "tables", "table-tendency", "methods", "limits", "asked", "images")
ONE = tuple(wanted for wanted in WANTED if wanted.name == "consensus")
"""One figure is enough: drawing takes long."""


def test_a_report_needs_no_network_and_no_server(
    browser, accessible, accessible_everywhere, tmp_path, settings, monkeypatch
):
    monkeypatch.setattr("metrics.report.figures.WANTED", ONE)
    settings.MEDIA_ROOT = tmp_path / "media"
    study = world.study_with_people()
    world.compute(study, "tendency", "visual_nature", "consensus", "agreement")
    folder = tmp_path / "report"
    services.write(study=study, path=folder)
    # one of its own: axe reads the stylesheet once more, which a browser refuses for files and complains of
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    failed: list[str] = []
    page.on(
        "requestfailed",
        lambda request: failed.append(request.url) if request.resource_type != "xhr" else None,
    )
    page.goto(f"file://{folder}/index.html")
    accessible(page)
    page.get_by_role("link", name="English").click()
    page.wait_for_url("**/en/index.html")  # whole: what is left too early counts as failed
    for name in PAGES:
        page.goto(f"file://{folder}/en/{name}.html")
        accessible_everywhere(page)
        assert page.evaluate("[...document.images].every(one => one.complete && one.naturalWidth > 0)")
        assert page.evaluate("getComputedStyle(document.body).margin") == "0px"
    page.goto(f"file://{folder}/en/table-tendency.html")
    page.get_by_role("link", name="العربية").click()
    page.wait_for_url("**/ar/table-tendency.html")
    accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("navigation").first.get_by_role("link").first.click()
    page.wait_for_url("**/ar/index.html")
    accessible(page)
    # what is printed has no navigation, and its tables are whole
    page.emulate_media(media="print")
    assert page.get_by_role("navigation").count() == 0
    assert failed == []
    assert [url for url in asked if not url.startswith("file://")] == []
    context.close()
