"""What the pages and images of a report are made of, before a page is written. No database."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from django.utils.translation import override
from PIL import Image as Pillow

from annotation.models import Study
from metrics.core.marks import scaled_axis
from metrics.dashboards.queries.results import Offensiveness, Pull
from metrics.models import Score, ScoreRun
from metrics.report import pages
from metrics.report.api import ReportQuery
from metrics.report.copies import copy_images

STUDY = Study(name="told", title="A study", translations={"es": {"title": "Un estudio"}})


def content(**fields) -> SimpleNamespace:
    newest = ScoreRun(finished_at=datetime(2026, 3, 17, 12, tzinfo=UTC))
    usual = {"study": STUDY, "sets": [], "runs": SimpleNamespace(newest=newest)}
    return SimpleNamespace(results=SimpleNamespace(simulated=True), **(usual | fields))


def test_the_first_page_is_in_the_default_language_and_offers_it_first(settings, monkeypatch):
    monkeypatch.setattr(pages, "_render", lambda name, context: (name, context))
    with override("en"):  # else the default language would stay for the tests that follow
        settings.LANGUAGE_CODE = "es"
        name, context = pages.first_page(content())
        with override("es"):
            assert context["summary"] == pages._summary(context["title"])
    assert name == "index"
    assert str(context["title"]) == "Un estudio"
    entries = [(one["code"], one["direction"], str(one["title"])) for one in context["entries"]]
    assert entries == [("es", "ltr", "Un estudio"), ("en", "ltr", "A study"), ("ar", "rtl", "A study")]


def test_the_images_have_a_page_where_there_are_image_sets():
    with override("es"):
        shared = pages._shared(content(), "es")
    assert [page["file"] for page in shared["pages"]] == [
        *("index.html", "tables.html", "methods.html", "limits.html", "asked.html")
    ]
    assert "Un estudio" in shared["summary"]
    assert "2026-03-17" in shared["date"]
    assert pages._shared(content(sets=["a set"]), "en")["pages"][-1]["file"] == "images.html"


def test_pull_and_ratings_are_drawn_on_one_axis_each():
    low, high, mean = (Score(value=value) for value in (-0.25, 0.75, 3.0))
    of = SimpleNamespace(score=high)
    pull = Pull(x=low, share=None, s_d_s=None, s_d_ns=None, groups=(of,))
    numbers = [(-0.25, None, None), (0.75, None, None)]
    assert pages._axis_of_pull(pull) == scaled_axis("difference", numbers)
    assert pages._axis_of_pull(None) is None
    assert pages._axis_of_ratings(None) is None
    for found in (
        Offensiveness(mean, None, (), ()),
        Offensiveness(None, mean, (), ()),
        Offensiveness(None, None, (SimpleNamespace(score=mean),), ()),
    ):
        assert pages._axis_of_ratings(found) == scaled_axis("offensive", [(3.0, None, None)])
    assert pages._axis_of_ratings(Offensiveness(None, None, (), (of,))) is None


def test_copies_are_small_and_numbered_over_all_sets(tmp_path):
    data = io.BytesIO()
    Pillow.new("RGB", (960, 480)).save(data, "PNG")

    def picture(found: bytes) -> SimpleNamespace:
        file = SimpleNamespace(open=lambda mode: io.BytesIO(found))
        return SimpleNamespace(image=SimpleNamespace(file=file))

    whole, broken = picture(data.getvalue()), picture(b"no image")
    sets = [SimpleNamespace(pictures=found) for found in ((broken, whole), (whole, broken, broken))]
    one, other = copy_images(sets, tmp_path, copy=True)
    assert (one.broken, other.broken) == (1, 2)
    [first], [second] = one.pictures, other.pictures
    assert (first.file, second.file) == ("images/001.jpg", "images/002.jpg")
    assert (first.width, first.height) == (480, 240)
    assert first.picture is second.picture is whole
    with Pillow.open(tmp_path / second.file) as written:
        assert (written.format, written.size) == ("JPEG", (480, 240))
    assert [(each.pictures, each.broken) for each in copy_images(sets, tmp_path, copy=False)] == [((), 0)] * 2


@pytest.mark.parametrize(("sent", "images"), [({}, True), ({"images": "false"}, False)])
def test_the_api_sends_images_unless_it_is_asked_not_to(sent, images):
    query = ReportQuery(data=sent)
    assert query.is_valid()
    assert query.validated_data == {"images": images}
