"""How each annotator works in a large study: shown at once, counted after, marked when answers changed."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import Judgement
from annotation.participation.services import withdrawals
from metrics.core import studies
from metrics.quality.queries import work
from tests import factories
from tests.metrics.quality.test_quality_page import check, page, rated, rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def large(lead, monkeypatch):
    """A study of which the page does not wait for a count, however often one is made."""
    monkeypatch.setattr(studies, "MAX_SMALL", 2)
    monkeypatch.setattr(work, "_REST_FACTOR", 0)
    return rated({"a": [5, 4], "b": [5, 4], "odd": [5, 5]}, leads=[lead])


def fragment(client, study, **query):
    """What the page is told when it asks for itself."""
    return client.get(
        reverse("quality", args=[study.name]), {"sort": "who", **query}, headers={"HX-Request": "true"}
    )


def test_a_large_study_is_counted_after_the_page_is_there(client, lead, large):
    text = page(client, lead, large, sort="who")
    assert "Counting answers." in text
    assert "<code>odd</code>" not in text
    assert 'hx-get="?sort=who&amp;page=1&amp;check" hx-trigger="load, retry"' in text
    told = fragment(client, large, check="").text
    assert "<code>odd</code>" in told
    assert "<html" not in told
    assert "hx-get" not in told, "it is asked once"
    assert 'href="?sort=flags&amp;dir=desc"' in told, "a link does not wait for a count again"
    text = page(client, lead, large, sort="who")
    assert "<code>odd</code>" in text, "the last count is shown at once"
    assert "Counted at" in text
    assert 'hx-get="?sort=who&amp;page=1" ' in text, "and compared with today's answers"
    assert fragment(client, large).status_code == 204


def test_numbers_of_older_answers_are_marked_until_they_are_counted_again(client, lead, large, monkeypatch):
    page(client, lead, large, check="")
    who = rows_of(large)["a"].annotator
    check(large, who, True)
    told = fragment(client, large).text
    assert "Answers have changed since these numbers were counted." in told
    assert "out of date" in told
    assert '&amp;check" hx-trigger="load, retry"' in told
    monkeypatch.setattr(work, "_REST_FACTOR", 10**9)
    told = fragment(client, large, check="").text
    assert "reload the page later" in told, "a count may take a small part of the time only"
    assert "hx-get" not in told
    monkeypatch.setattr(work, "_REST_FACTOR", 0)
    told = fragment(client, large, check="").text
    assert "Answers have changed" not in told
    assert "1 / 1" in told


def test_who_withdrew_is_gone_at_once_whenever_it_was_counted(client, lead, large):
    page(client, lead, large, check="")
    who = rows_of(large)["odd"].annotator
    assert "<code>odd</code>" in page(client, lead, large)
    factories.enrolment(large, who=who)
    withdrawals.withdraw(annotator=who, study=large, by=None)
    assert "<code>odd</code>" not in page(client, lead, large)


def test_without_scripts_the_page_counts_when_asked_to(client, lead, large):
    text = page(client, lead, large, check="")
    assert "<code>odd</code>" in text
    assert "hx-get" not in text


def test_the_page_of_a_large_study_reads_no_answer(client, lead, large):
    """Neither before the first count nor after: as many queries, and none of judgements."""
    counted = []
    for more in (0, 3, 9):
        for _ in range(more):
            unit = factories.attribute_unit(large.tasks.get())
            factories.response(unit, values=[4], who=factories.annotator())
        page(client, lead, large, check="")
        with CaptureQueriesContext(connection) as queries:
            page(client, lead, large)
        said = [query["sql"] for query in queries]
        assert not [sql for sql in said if Judgement._meta.db_table in sql]
        counted.append(len(said))
    assert len(set(counted)) == 1
