"""Pages of answers: each answer once, in both directions, whatever is searched for and however far."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from generation.answers import queries
from generation.answers.queries import Filters, Picture, Text
from generation.models import Run
from tests import factories
from tests.generation.answers.answered import a_run, answer

pytestmark = pytest.mark.django_db


def walk(run, filters, *, limit, backwards=False, **order):
    """The texts of every page, in the order of the list; `backwards`: read from the last to the first."""
    found = queries.find(run, filters, limit=limit, **order)
    pages = [[row.text.start for row in found.rows]]
    while found.next is not None:
        found = queries.find(run, filters, after=found.next, limit=limit, **order)
        pages.append([row.text.start for row in found.rows])
    if not backwards:
        return pages
    pages = [[row.text.start for row in found.rows]]
    while found.previous is not None:
        found = queries.find(run, filters, before=found.previous, limit=limit, **order)
        pages.insert(0, [row.text.start for row in found.rows])
    return pages


def flat(pages):
    return [text for page in pages for text in page]


@pytest.mark.parametrize("number", [0, 1, 3, 4, 6, 7])
def test_every_answer_is_on_one_page_in_both_directions(number):
    run, other = a_run(), a_run()
    for n in range(number):
        answer(run, f"{n}")
        answer(other, "of another run")
    texts = [f"{n}" for n in range(number)]
    forwards = walk(run, Filters(), limit=3)
    assert flat(forwards) == texts
    assert max(map(len, forwards)) <= 3
    assert flat(walk(run, Filters(), limit=3, backwards=True)) == texts
    assert flat(walk(run, Filters(), limit=3, newest_first=True)) == texts[::-1]
    assert flat(walk(run, Filters(), limit=3, newest_first=True, backwards=True)) == texts[::-1]


@pytest.mark.parametrize("searched", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("filters", [Filters(contains="NEEDLE"), Filters(key="x"), Filters("stop", "needle")])
def test_a_search_goes_through_the_whole_run_in_bounded_steps(monkeypatch, searched, filters):
    monkeypatch.setattr(queries, "SEARCHED", searched)
    run = a_run()
    wanted = []
    for n in range(13):
        hit = n in (0, 5, 6, 12)
        wanted += [f"needle {n}"] * hit
        answer(run, f"needle {n}" if hit else f"hay {n}", key=f"{'x' if hit else 'y'}{n}")
    assert flat(walk(run, filters, limit=2)) == wanted
    assert flat(walk(run, filters, limit=2, backwards=True)) == wanted
    assert flat(walk(run, filters, limit=2, newest_first=True)) == wanted[::-1]
    assert flat(walk(run, filters, limit=2, newest_first=True, backwards=True)) == wanted[::-1]


def test_filters_select_what_they_say():
    run = a_run()
    answer(run, "100% sure", key="a1")
    answer(run, "1000 sure", key="a2", ended="length")
    answer(run, "refused", key="b1", ended="filter")
    answer(run, "", key="b%", ended="")

    def texts(**filters):
        return [row.text.start for row in queries.find(run, Filters(**filters), limit=9).rows]

    assert texts(contains="0%") == ["100% sure"]
    assert texts(ended="") == [""]
    assert texts(ended="length") == ["1000 sure"]
    assert texts(key="b") == ["refused", ""]
    assert texts(key="b%") == [""]
    assert texts(key="1") == []
    assert texts(key="a", ended="filter") == []
    assert queries.endings(run) == [("", 1), ("filter", 1), ("length", 1), ("stop", 1)]


def test_a_long_answer_is_cut_in_the_database():
    run = a_run()
    answer(run, "x" * 1_000_000, prompt="p" * 5000)
    with CaptureQueriesContext(connection) as asked:
        row = queries.find(run, Filters(), limit=5).rows[0]
    assert len(asked) == 1
    assert (len(row.text.start), row.text.length, row.text.is_cut) == (queries.SHOWN, 1_000_000, True)
    assert (len(row.prompt.start), row.prompt.length) == (queries.SHOWN, 5000)


def test_a_search_says_whether_it_stopped_before_the_end(monkeypatch):
    monkeypatch.setattr(queries, "SEARCHED", 2)
    run = a_run()
    for n in range(5):
        answer(run, f"needle {n}", key=f"{n}")
    for filters in (Filters(contains="9"), Filters(key="9")):
        for found in (queries.find(run, filters, limit=3), queries.find(run, filters, limit=3, before=10**9)):
            assert (found.rows, found.unfinished) == ([], True)
    first = [queries.find(run, Filters(contains=f"needle {n}"), limit=3).rows for n in range(3)]
    assert [len(rows) for rows in first] == [1, 1, 0]
    found = queries.find(run, Filters(contains="needle"), limit=1)
    assert (len(found.rows), found.unfinished) == (1, False), "there are more on the next page"
    found = queries.find(run, Filters(ended="odd"), limit=3)
    assert (found.next, found.unfinished) == (None, False), "an index finds these"


def test_the_last_answers_of_a_run_come_first():
    run, other = a_run(), a_run()
    for n in range(queries.LATEST + 1):
        answer(run, f"{n}")
        answer(other, "of another run")
    assert [row.text.start for row in queries.latest(run)] == ["5", "4", "3", "2", "1"]


def test_an_answer_about_an_image_names_it():
    run, image = a_run("descriptions"), factories.image(index=7, file="images/7.png", sha256="0" * 64)
    answer(run, image=image)
    answer(run, image=factories.image(group_name="Indian"))
    answer(run)
    pictures = [row.picture for row in queries.find(run, Filters(), limit=3).rows]
    assert pictures[0] == Picture(image.pk, "images/7.png", "Mexican 7")
    assert (pictures[1].file, pictures[1].name, pictures[2]) == ("", "Indian 1", None)
    assert [row.ranked for row in queries.latest(run)] == [[], [], []]


def test_batches_give_every_answer_once(monkeypatch):
    monkeypatch.setattr(queries, "_PER_BATCH", 2)
    run = a_run()
    for n in range(5):
        answer(run, f"{n}", ended="stop" if n % 2 else "length")
    answer(a_run(), "of another run")
    assert [[one.text for one in batch] for batch in queries.batches(run, Filters())] == [
        ["0", "1"],
        ["2", "3"],
        ["4"],
    ]
    assert [one.text for batch in queries.batches(run, Filters(ended="stop")) for one in batch] == ["1", "3"]


def test_the_answers_beside_one_are_the_nearest():
    run = a_run()
    jobs = [answer(run, f"{n}").pk for n in range(5)]
    found = queries.one(run, jobs[2])
    assert (found.previous, found.next) == (jobs[1], jobs[3])
    assert (queries.one(run, jobs[0]).previous, queries.one(run, jobs[4]).next) == (None, None)


def test_an_empty_page_leads_back_to_the_answer_it_was_asked_from():
    run = a_run()
    first, last = answer(run, "0").pk, answer(run, "1").pk
    for position, order, previous, following in (
        ({"after": last}, False, last + 1, None),
        ({"before": first}, False, None, first - 1),
        ({"after": first}, True, first - 1, None),
        ({"before": last}, True, None, last + 1),
    ):
        found = queries.find(run, Filters(), **position, limit=3, newest_first=order)
        assert (found.rows, found.previous, found.next) == ([], previous, following)


def test_what_a_run_has_used_is_of_prompts_and_answers():
    prices = {"price_in": 1, "price_out": 10}
    spent = queries.spent(Run(tokens_in=1_000_000, tokens_out=3_000_000, limits=prices))
    assert (spent.tokens, spent.cost, spent.limits.price_out) == (4_000_000, 31, 10)


def test_the_most_frequent_ending_comes_first_then_by_name():
    run = a_run()
    for n, ended in enumerate(["a", "stop", "stop", "length"]):
        answer(run, f"{n}", ended=ended)
    assert queries.endings(run) == [("stop", 2), ("a", 1), ("length", 1)]


def test_texts_of_many_characters_or_lines_are_long_and_those_that_lack_some_are_cut():
    shown = [Text(start, len(start)) for start in ("x" * 300, "x" * 301, "\n" * 6, "\n" * 7)]
    assert [text.is_long for text in shown] == [False, True, False, True]
    assert [Text("abc", length).is_cut for length in (3, 4)] == [False, True]
