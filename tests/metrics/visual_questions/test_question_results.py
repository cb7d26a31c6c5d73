"""Shares by group, beside counts by hand, scipy, and what the paper prints."""

from __future__ import annotations

import pytest
from scipy import stats

from generation.models import Run
from metrics.visual_questions.data import published
from metrics.visual_questions.queries import MOST_SHOWN, results
from metrics.visual_questions.question_file import EMPTY, OTHER, Question
from metrics.visual_questions.sentences import in_words
from tests import factories
from tests.metrics.visual_questions import asked
from tests.metrics.visual_questions.asked import AMERICAN, COUNTRY

pytestmark = pytest.mark.django_db


def shares(found, group: str) -> dict[str, tuple[int, int]]:
    [row] = [row for row in found.groups if row.group.name == group]
    return {each.answer: (each.share.k, each.share.n) for each in row.shares}


def test_answers_are_counted_by_group_with_wilsons_interval():
    run = asked.a_run()
    asked.fill(
        run,
        {
            "White": {"yes": 6, "Yes, of course": 1, "no.": 2, "maybe": 1},
            "Asian": {"no": 9, "NO!": 1, "": 2},
        },
    )
    [found] = results(run, resamples=0)
    assert found.answers == ("yes", "no", OTHER, EMPTY)
    assert shares(found, "White") == {"yes": (7, 10), "no": (2, 10), OTHER: (1, 10), EMPTY: (0, 10)}
    assert shares(found, "Asian") == {"yes": (0, 12), "no": (10, 12), OTHER: (0, 12), EMPTY: (2, 12)}
    assert [each.name for each in found.groups[0].shares][2:] == ["other answers", "empty answers"]
    [white] = [row for row in found.groups if row.group.name == "White"]
    interval = stats.binomtest(7, 10).proportion_ci(method="wilson")
    assert (white.of("yes").low, white.of("yes").high) == pytest.approx((interval.low, interval.high))
    expected = stats.chi2_contingency([[7, 2, 1, 0], [0, 10, 0, 2]], correction=False)
    assert found.test.statistic == pytest.approx(expected.statistic)
    assert (found.test.df, found.test.method) == (3, "permutation")
    assert [row.group.name for row in found.extremes()] == ["White", "Asian"]


def test_questions_are_corrected_for_their_number():
    run = asked.a_run("asked", AMERICAN, Question("tall", "Is this person tall?", ("yes", "no")), COUNTRY)
    asked.fill(run, {"White": {"yes": 30, "no": 10}, "Asian": {"yes": 15, "no": 25}})
    asked.fill(run, {"White": {"yes": 22, "no": 18}, "Asian": {"yes": 18, "no": 22}}, question=1)
    asked.fill(run, {"White": {"france": 3}, "Asian": {"France.": 4}}, question=2)
    one, other, same = results(run, resamples=0)
    expected = [
        stats.chi2_contingency(table, correction=False).pvalue
        for table in ([[30, 10], [15, 25]], [[22, 18], [18, 22]])
    ]
    assert [one.test.p, other.test.p] == pytest.approx(expected)
    assert [one.q, other.q] == pytest.approx(list(stats.false_discovery_control(expected)))
    assert (same.test, same.q, same.counts_for) == (None, None, "france")


def test_open_questions_show_the_most_frequent_answers_and_the_rest_together():
    run = asked.a_run("asked", COUNTRY)
    many = {f"country {number}": 12 - number for number in range(MOST_SHOWN + 2)}
    asked.fill(run, {"White": many, "Asian": {"Country 0!": 2, "": 1}})
    asked.fill(asked.a_run("long", COUNTRY), {"White": {"x" * 201: 1}})
    assert results(Run.objects.get(name="long"), resamples=0)[0].answers == ("x" * 200,)
    [found] = results(run, resamples=0)
    assert found.answers == (*(f"country {number}" for number in range(MOST_SHOWN)), OTHER, EMPTY)
    left = sum(list(many.values())[MOST_SHOWN:])
    assert shares(found, "White")[OTHER] == (left, sum(many.values()))
    assert shares(found, "Asian")["country 0"] == (2, 3)


def test_images_with_several_answers_are_resampled_whole():
    run = asked.a_run(times=4)
    for group, said in (("White", ("yes", "yes", "no")), ("Asian", ("no", "no", "no"))):
        for text in said:
            image = asked.an_image(run, group)
            for number in range(1, 5):
                asked.add(run, image, text, number=number)
    [found] = results(run, resamples=500)
    assert shares(found, "White") == {"yes": (8, 12), "no": (4, 12)}
    [asian, white] = found.groups
    assert (white.images, white.n) == (3, 12)
    # of twelve images it would be [0.39, 0.86]
    assert white.of("yes").low == 0
    assert white.of("yes").high == 1
    assert (asian.of("yes").low, asian.of("yes").high) == (0, 0)
    # two of six images: the same two in one group in 2 of 5 ways
    assert found.test.method == "permutation"
    assert found.test.p == pytest.approx(2 * 3 / 15, abs=0.02)
    assert results(run, resamples=500) == [found]


def test_the_published_numbers_are_those_of_the_paper_and_found_by_name():
    answer, rows = published(Question("any", "is this person an AMERICAN?", ("yes", "no")))
    assert answer == "yes"
    assert {row.group: row.share for row in rows} == {
        "White": 0.967,
        "Black": 0.685,
        "Latina/o": 0.611,
        "Asian": 0.028,
    }
    assert published(COUNTRY) == ("", [])
    assert published(Question("open", AMERICAN.text)) == ("", [])
    factories.group("Spanish-speaking", demonym=" Hispanic")
    run = asked.a_run()
    groups = ("African American", "Martian", "Spanish-speaking", "asian")
    asked.fill(run, {group: {"no": 1} for group in groups})
    [found] = results(run, resamples=0)
    assert [row.published for row in found.groups] == [0.685, None, 0.611, 0.028]


def test_the_published_answer_counts_whatever_the_order():
    run = asked.a_run("asked", Question("american", AMERICAN.text, ("no", "yes")))
    asked.fill(run, {"White": {"yes": 1}})
    [found] = results(run, resamples=0)
    assert found.counts_for == "yes"


def test_two_queries_for_any_number_of_rows(django_assert_num_queries):
    run = asked.a_run()
    with django_assert_num_queries(1):
        assert results(run, resamples=0) == []
    asked.fill(run, {f"Group {number}": {"yes": 2, "no": 1} for number in range(9)})
    with django_assert_num_queries(2):
        results(run, resamples=0)


def test_sentences():
    assert in_words("yes", ("White", 0.967), ("Mexico", 0.028)) == (
        "The model answered “yes” for 96.7 % of the images of “White” and for 2.8 % of the images of "
        "“Mexico”."
    )
    assert in_words("yes", ("White", 1.0), None) == (
        "The model answered “yes” for 100.0 % of the images of “White”."
    )
