"""The page of one machine judge, its figure and its API."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import IdentityGroup, TaskKind
from generation.models import Run, RunState
from metrics.machine_judges.queries import requests as asked
from metrics.machine_judges.queries.results import MOST_Q, results
from metrics.models import ScoreRun
from tests import factories
from tests.metrics import cast
from tests.metrics.machine_judges import stored
from tests.metrics.machine_judges.judged import judge, planned
from tests.metrics.machine_judges.stored import agreement, score_run

pytestmark = pytest.mark.django_db
ALL = "reading: nominal"


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="hats", leads=[lead])


@pytest.fixture
def run(study):
    return judge(study, TaskKind.DEPICTION, lambda option, *_: int(option.attribute_id is None), name="j")


def text(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]+>", " ", html)).split()).replace(" ,", ",")


def address(run: Run, name: str = "judge", *more: str) -> str:
    return reverse(name, args=["hats", run.pk, *more])


def shown(client, run, **query) -> str:
    answer = client.get(address(run), query)
    assert answer.status_code == 200
    return text(answer.text)


def rows_of(html: str, caption: str) -> list[list[str]]:
    table = re.search(rf"<caption>{caption}</caption>(.*?)</table>", html, re.DOTALL).group(1)
    body = table.split("<tbody>")[1]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [[text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]


def with_agreement(study, run, more=(), **chosen):
    everything = agreement(ALL, (62.0, 58.0, 66.0), (71.0, 65.0, 77.0), (-9.0, -13.0, -5.0), q=0.01)
    europe = agreement(f"{ALL}; region: Europe", 70.0, 72.0, (-2.0, -6.0, 2.0), q=MOST_Q)
    south = agreement(f"{ALL}; region: Latin America", 50.0, 71.0, (-21.0, -30.0, -12.0), q=0.001)
    return score_run(study, run, "judge_agreement", [*everything, *europe, *south, *more], **chosen)


def test_without_scores_the_page_says_what_the_judge_is(client, run):
    html = client.get(address(run)).text
    assert "fake-judge" in html
    assert "simulated judge" in html
    assert "4 of 4 questions" in text(html)
    assert "No scores yet." in html
    assert "has not heard those who differ" in html
    assert "Its answers are in no score of the study" in html


def test_unknown_groups_of_annotators_are_all_of_them(client, run):
    assert client.get(address(run), {"by": "height"}).context["by"] == "none"


def test_scores_are_asked_for_with_the_judge_by_name(client, study, run):
    question = unescape(
        re.search(r'hx-get="([^"]+fresh[^"]+)"', client.get(address(run), {"by": "gender"}).text)[1]
    )
    assert question.endswith("?judge=j&by=gender")
    assert "being computed" in client.get(question).text
    asked = dict(ScoreRun.objects.values_list("metric", "parameters"))
    assert sorted(asked) == ["judge_agreement", "judge_scores"], "not refused ones"
    assert '"by": "gender"' in asked["judge_agreement"]
    assert '"judge": "j"' in asked["judge_scores"]


@pytest.mark.parametrize("query", [{"judge": "other"}, {"judge": ""}, {"judge": "j", "by": "height"}])
def test_what_no_page_asks_for_is_not_found(client, run, query):
    assert client.get(reverse("fresh_scores", args=["hats"]), query).status_code == 404
    assert not ScoreRun.objects.exists()


@pytest.mark.parametrize("state", [RunState.PLANNED, RunState.RUNNING])
def test_a_judge_that_still_answers_is_not_scored(client, study, state):
    """Though it has answers."""
    run = judge(study, TaskKind.DEPICTION, lambda *_: 1, name="j")
    run.jobs.update(state=JobState.PENDING)
    Run.objects.filter(pk=run.pk).update(state=state)
    page = shown(client, run)
    assert "The judge has not finished: 0 of 4 questions are answered." in page
    assert "hx-get" not in client.get(address(run)).text
    client.get(reverse("fresh_scores", args=["hats"]), {"judge": "j"})
    assert not ScoreRun.objects.exists()


def test_a_paused_judge_without_an_answer_says_why_there_is_nothing(client, study):
    judge(study, TaskKind.DEPICTION, lambda *_: 1, name="answered")
    run = planned(study, TaskKind.DEPICTION, name="j")
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED)
    page = shown(client, run)
    assert "not finished" not in page
    assert "The judge is paused: 0 of 4 questions are answered." in page
    for state, cure in (
        (RunState.PAUSED, "resume it"),
        (RunState.DONE, "try them again"),
        (RunState.CANCELLED, "was cancelled: plan the judge again"),
    ):
        Run.objects.filter(pk=run.pk).update(state=state)
        page = shown(client, run)
        assert "The machine judge 'j' has no answer." in page
        assert cure in page


def test_a_judge_that_an_error_paused_says_so(client, study):
    run = planned(study, TaskKind.DEPICTION, name="j")
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, error="Every job fails. <b>No key</b>")
    for url in (address(run), reverse("judges", args=["hats"])):
        assert "Every job fails. &lt;b&gt;No key&lt;/b&gt;" in client.get(url).text
    assert "An error paused the run." in shown(client, run)


def test_questions_that_failed_say_why(client, study):
    run = planned(study, TaskKind.DEPICTION, name="j")
    run.jobs.update(state=JobState.FAILED, error="The server refused it.")
    run.jobs.filter(pk=run.jobs.first().pk).update(state=JobState.PENDING, error="Not given up.")
    page = shown(client, run)
    assert "Questions that failed: The server refused it. (3)" in page
    assert "Not given up." not in page


def test_those_who_may_start_it_find_its_run(client, lead, study):
    run = planned(study, TaskKind.DEPICTION, name="j")
    link = f'href="{reverse("run", args=[run.pk])}"'
    assert link not in client.get(address(run)).text
    maker = factories.user("maker", lead=True)
    study.leads.add(maker)
    client.force_login(maker)
    html = client.get(address(run)).text
    assert html.count(link) == 2
    assert "Start it on the page of its run" in html


def test_without_peoples_answers_it_is_still_known_how_stable_it_is(client, study, run):
    rows = [
        ("stability", "variant: order", 0.8, {}),
        ("unusable", "problem: empty", 0.25, {"n": 4, "k": 1}),
    ]
    score_run(study, run, "judge_agreement", rows)
    page = shown(client, run)
    assert "Nothing can be compared yet" in page
    assert results(study, run).readings == ()
    assert "The choices in another order 0.800" in page
    assert "nothing was answered (1 of 4)" in page


@pytest.mark.usefixtures("undrawn")
def test_the_finding_comes_first_and_the_warning_with_it(client, study, run):
    with_agreement(study, run)
    score_run(
        study,
        run,
        "judge_alternative_annotator",
        [
            ("winning_rate", "", 0.7, {"n": 10, "k": 7}),
            ("advantage", "", (0.82, 0.75, 0.89), {"n": 10}),
        ],
    )
    page = shown(client, run)
    finding = page.split("What was found")[1].split("The judge with people, and")[0]
    assert "62.0 % of pairs of their answers (95 % interval 58.0 to 66.0)" in finding
    assert "71.0 % of pairs" in finding
    assert "agrees less with people than people do with each other: −9.0 points" in finding
    assert "furthest from people for Latin America: −21.0 points" in finding
    assert "wins against 7 of 10 annotators: ω = 0.70. It passes" in finding
    assert finding.strip().endswith("both can be wrong, and in the same way.")


@pytest.mark.usefixtures("undrawn")
def test_the_places_where_it_fails_are_sorted_and_marked(client, study, run):
    women = agreement(f"{ALL}; region: Europe; annotators: woman", 40.0, 80.0, (-40.0, -50.0, -30.0), q=0.0)
    more = agreement(f"{ALL}; region: Africa", 80.0, 70.0, (10.0, 2.0, 18.0), q=0.02)
    unknown = agreement(f"{ALL}; region: East Asia", None, None, None)
    ordinal = agreement("reading: ordinal; region: Oceania", 80.0, 70.0, 10.0)
    with_agreement(study, run, [*women, *more, *unknown, *ordinal], by="gender")
    html = client.get(address(run), {"by": "gender"}).text
    rows = rows_of(html, "By region and group of annotators")
    assert [row[0] for row in rows] == [
        "Europe, “woman” less than people",
        "Latin America, all annotators less than people",
        "Europe, all annotators",
        "Africa, all annotators more than people",
        "East Asia, all annotators",
    ]
    assert rows[1] == [rows[1][0], "50.0 n = 40", "71.0 n = 40", "−21.0 [−30.0, −12.0] n = 40", "0.001"]
    assert "Groups of fewer than three people are not shown" in html
    html = client.get(address(run)).text
    assert "No scores yet." in html, "those of all annotators are other scores"
    assert 'href="?by=gender"' in html, "and the way back to these stays"


@pytest.mark.usefixtures("undrawn")
def test_groups_and_the_worst_attributes_are_listed(client, study, run):
    mexican = IdentityGroup.objects.get(name="Mexican")
    words = [factories.attribute(f"word {place:02}") for place in range(25)]
    rows = agreement(ALL, 60.0, 70.0, (-10.0, -20.0, -1.0), q=0.04, group=mexican)
    for place, word in enumerate(words):
        rows += agreement(ALL, 50.0, 70.0, float(place - 20), attribute=word)
    rows += agreement(ALL, 5.0, 95.0, -90.0, group=mexican, attribute=words[24])
    for about in ({"group": mexican}, {"attribute": words[24]}):
        rows += agreement("reading: ordinal", 1.0, 99.0, -98.0, **about)
    rows += agreement(ALL, None, None, None, attribute=factories.attribute("unknown"))
    with_agreement(study, run, rows)
    html = client.get(address(run)).text
    [[group, judged, *_]] = rows_of(html, "By identity group")
    assert (group, judged) == ("Mexican less than people", "60.0 n = 40")
    listed = rows_of(html, "The attributes with the lowest differences")
    assert [row[0] for row in listed] == [f"word {place:02}" for place in range(20)]
    assert results(study, run).overall.scores["judge_percentage"].value == 62.0


@pytest.mark.usefixtures("undrawn")
def test_confusions_have_peoples_answers_in_rows(client, study, run):
    with_agreement(
        study,
        run,
        [
            ("confusion", "people: 1; judge: 1", 0.25, {"n": 8, "k": 2}),
            ("confusion", "people: 1; judge: 0", 0.75, {"n": 8, "k": 6}),
            ("confusion", "people: 0; judge: 0", 1.0, {"n": 5, "k": 5}),
        ],
    )
    html = client.get(address(run)).text
    table = re.search(r"<caption>Of people’s answers.*?</table>", html, re.DOTALL)[0]
    rows = [text(row) for row in re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL)]
    assert rows == ["Depicted 25 % 2 of 8 75 % 6 of 8", "Not depicted – 100 % 5 of 5"]


@pytest.mark.usefixtures("undrawn")
def test_stability_and_problems_are_in_words(client, study, run):
    with_agreement(
        study,
        run,
        [
            ("stability", "variant: language-es", 0.9, {}),
            ("stability", "variant: order", 0.8, {}),
            ("unusable", "problem: box", 0.05, {"n": 40, "k": 2}),
            ("unusable", "problem: empty", 0.0, {"k": 0}),
        ],
    )
    page = shown(client, run)
    assert "In another language: es 0.900" in page
    assert "The choices in another order 0.800" in page
    assert (
        "Unusable answers 2: a chosen attribute without a place in the image, or a box that is none (2 of 40)"
        in page
    )
    assert "nothing was answered" not in page


@pytest.mark.usefixtures("undrawn")
def test_scores_stand_beside_those_of_people(client, study, run):
    group = IdentityGroup.objects.get(name="Mexican")
    rows = [
        (f"theta{end}", f"of: {of}", value, {"group": group})
        for end, of, value in (
            ("", "judge", 3.0),
            ("", "people", 2.0),
            ("", "difference", (0.41, 0.1, 0.7)),
            ("_p", "difference", 0.01),
            ("_q", "difference", 0.02),
        )
    ]
    whole = [
        ("theta", "of: judge", float("inf"), {}),
        ("theta", "of: judge", 9.0, {"attribute": factories.attribute("a word")}),
    ]
    score_run(study, run, "judge_scores", [*rows, *whole])
    html = client.get(address(run)).text
    table = rows_of(html, "θ: L\\(stereo\\) divided by L\\(random\\)")
    assert table[0][:3] == ["everything", "∞ n = 40", "–"]
    assert table[1] == ["Mexican", "3.00 n = 40", "2.00 n = 40", "0.41 [0.10, 0.70] n = 40", "0.010", "0.020"]
    assert stored.NOT_RANDOM in html


@pytest.mark.usefixtures("undrawn")
def test_combined_estimates_stand_beside_people_alone(client, study, run):
    sides = (
        ("of: combined", (0.3, 0.28, 0.32)),
        ("of: people", (0.31, 0.2, 0.4)),
        ("of: judge", 0.5),
    )
    rows = [("l_stereo", part, value, {}) for part, value in sides]
    score_run(study, run, "judge_combined", [*rows, ("tuning", "of: l_stereo", 0.8, {})])
    [row] = rows_of(
        client.get(address(run)).text, "L\\(stereo\\): mean likelihood of the stereotypical attributes"
    )
    assert row[1:] == ["0.300 [0.280, 0.320] n = 40", "0.310 [0.200, 0.400] n = 40", "0.500 n = 40", "0.80"]


@pytest.mark.usefixtures("undrawn")
def test_a_test_with_too_few_annotators_says_why(client, study, run):
    with_agreement(study, run)
    page = shown(client, run)
    assert "There is no alternative annotator test: The test leaves one annotator out at a time." in page


def test_a_score_without_values_says_why_its_last_run_failed(study, run):
    def failed(metric: str, error: str, *, of=study, state=JobState.FAILED, **chosen) -> None:
        made = score_run(of, run, metric, **chosen)
        made.state, made.error, made.digest = state, error, f"{made.pk:064}"
        made.finished_at = made.finished_at if state == JobState.FAILED else None
        made.save()

    wanted = asked.wanted_scores(study, run)
    assert asked.refusals(study, wanted, []) == wanted.refused
    failed("judge_scores", "Before the last.")
    failed("judge_scores", "There was no room.")
    failed("judge_combined", "It is refused already.")
    failed("judge_agreement", "It was of genders.", by="gender")
    failed("judge_scores", "It was another study's.", of=factories.study("words"))
    found = {**wanted.refused, "judge_scores": "There was no room."}
    assert asked.refusals(study, wanted, []) == found
    assert asked.refusals(study, wanted, ["judge_scores"]) == wanted.refused
    failed("judge_scores", "It is tried again.", state=JobState.PENDING)
    assert asked.refusals(study, wanted, []) == wanted.refused


def test_the_figure_is_drawn_and_has_a_file_for_each_format(client, study, run):
    assert client.get(address(run, "judge_figure", "agreement", "csv")).status_code == 404
    with_agreement(
        study, run, agreement(ALL, 60.0, 70.0, -10.0, group=IdentityGroup.objects.get(name="Mexican"))
    )
    html = client.get(address(run)).text
    picture = unescape(re.search(r'<img src="([^"]+)" alt="([^"]+)"', html)[1])
    assert client.get(picture).headers["Content-Type"] == "image/svg+xml"
    rows = client.get(address(run, "judge_figure", "agreement", "csv")).text.splitlines()
    assert "Region: Latin America,,judge with people,0.5," in "\n".join(rows)
    assert [row.split(",")[0] for row in rows[1::2]] == [
        "All items",
        "Region: Latin America",
        "Region: Europe",
        "Group: Mexican",
    ]
    assert client.get(address(run, "judge_figure", "other", "csv")).status_code == 404
    assert client.get(address(run, "judge_figure", "agreement", "exe")).status_code == 404


@pytest.mark.usefixtures("undrawn")
def test_the_page_asks_as_many_questions_for_one_row_as_for_many(client, study, run):
    one = {"group": IdentityGroup.objects.first()}, {"attribute": factories.attribute("a word")}
    first = with_agreement(
        study, run, [row for each in one for row in agreement(ALL, 1.0, 2.0, -1.0, **each)]
    )
    client.get(address(run))
    counts = []
    for number in (0, 12):
        more = []
        for place in range(number):
            more += agreement(ALL, 1.0, 2.0, -1.0, group=factories.group(f"People {place}"))
            more += agreement(ALL, 1.0, 2.0, -1.0, attribute=factories.attribute(f"word {place}"))
            more += agreement(f"{ALL}; annotators: a{place}", 1.0, 2.0, -1.0)
        stored.Score.objects.bulk_create(stored.score(n, v, part=p, run=first, **f) for n, p, v, f in more)
        with CaptureQueriesContext(connection) as queries:
            client.get(address(run))
        counts.append(len(queries))
    assert counts[0] == counts[1]
