"""Agreement within and between groups of annotators, as a lead reads it."""

import re
from html import unescape
from itertools import combinations, product

import pytest
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import Annotator
from metrics.agreement import queries
from metrics.agreement.scores.rows import MEASURES
from metrics.models import Score, ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_resamples")]
# (gender, what they said of each of three attributes)
SAID = (
    ("woman", (5, 5, 1)),
    ("woman", (5, 4, 1)),
    ("woman", (5, 5, 2)),
    ("man", (1, 5, 1)),
    ("man", (5, 5, 1)),
    ("man", (1, 5, 2)),
    ("nonbinary", (2, 2, 2)),
)


@pytest.fixture
def study(lead):
    made = factories.study("words", leads=[lead])
    task = factories.task(made, strata=("any",) * len(SAID))
    people = [factories.annotator(profile={"gender": gender}) for gender, _ in SAID]
    said = []
    for place in range(3):
        unit = factories.attribute_unit(task, f"word {place}")
        said += [(unit, [values[place]], who) for who, (_, values) in zip(people, SAID, strict=True)]
    factories.responses(said)
    return made


def page(client, **query) -> str:
    answer = client.get(reverse("agreement", args=["words"]), query)
    assert answer.status_code == 200
    return " ".join(unescape(answer.text).split())


def rows_of(shown: str, heading: str) -> dict[str, list[str]]:
    """{annotators: cells} of the table under a heading, without tags."""
    table = re.search(rf">{heading}</h2>(.*?)</table>", shown).group(1)
    rows = re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", table)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    plain = [[" ".join(re.sub("<[^>]+>", "", cell).split()) for cell in row] for row in cells]
    return {name: numbers for name, *numbers in plain}


def score(study, by: str) -> ScoreRun:
    run = score_runs.request(study=study, metric="agreement", variant="corrected", parameters={"by": by})
    score_runs.compute_pending()
    return run


def same(pairs) -> str:
    """The percentage of pairs of ratings that are the same, and how many there are."""
    found = [one == two for one, two in pairs]
    return f"{100 * sum(found) / len(found):.1f} n = {len(found)}"


def test_everybody_together_comes_first_and_the_other_views_are_a_link_away(client, study):
    shown = page(client)
    assert "No scores yet" in shown
    assert re.search(r'<a href="\?by=none" aria-current="true">all annotators</a>', shown)
    assert re.findall(r'<a href="\?by=(\w+)"[^>]*>([^<]+)</a>', shown) == [
        ("none", "all annotators"),
        ("gender", "by gender"),
        ("origin", "by origin"),
        ("pool", "in-region and out-region"),
    ]
    assert "simulated answers" not in shown
    score(study, "none")
    shown = page(client)
    assert list(rows_of(shown, "Visual nature of an attribute, nominal")) == ["everybody"]
    # by name, whatever came first
    levels = ["interval", "nominal", "ordinal"]
    assert re.findall(r"Visual nature of an attribute, (\w+)</h2>", shown) == levels
    Annotator.objects.update(simulated=True)
    assert "simulated answers" in page(client)
    assert "everybody" in page(client, by="height"), "what nothing is known of shows everybody"


def test_the_page_says_what_n_counts(client, study):
    score(study, "none")
    shown = page(client, by="none")
    cells = rows_of(shown, "Visual nature of an attribute, nominal")["everybody"][:2]
    # 3 attributes, each answered by 7 people
    assert [cell.split("n = ")[1] for cell in cells] == ["63", "3"]
    assert "n is the number of pairs of answers compared; for α and κ, of items answered" in shown


def test_groups_are_asked_for_in_the_background_and_waited_for(client, study):
    question = re.search(r'hx-get="([^"]+fresh[^"]+)"', page(client, by="gender")).group(1)
    assert not ScoreRun.objects.exists(), "the page alone asks for nothing"
    assert question.endswith("?by=gender")
    assert "being computed" in client.get(question).text
    run = ScoreRun.objects.get()
    assert (run.metric, run.parameters, run.state) == ("agreement", '{"by": "gender"}', JobState.PENDING)
    score_runs.compute_pending()
    assert client.get(question).text.strip() == ""
    assert client.get(question.replace("gender", "height")).status_code == 404
    assert client.get(question.replace("gender", "none")).text.strip() == ""
    assert ScoreRun.objects.count() == 1


def test_within_and_between_groups_are_as_a_plain_count_of_pairs(client, study):
    score(study, "gender")
    rows = rows_of(page(client, by="gender"), "Visual nature of an attribute, nominal")
    women, men = ([values for gender, values in SAID if gender == which] for which in ("woman", "man"))
    within = {
        name: same((one[place], two[place]) for one, two in combinations(said, 2) for place in range(3))
        for name, said in (("within “woman” people: 3", women), ("within “man” people: 3", men))
    }
    everybody = same(
        (one[place], two[place]) for (_, one), (_, two) in combinations(SAID, 2) for place in range(3)
    )
    between = same((one[place], two[place]) for one, two in product(women, men) for place in range(3))
    for name, expected in {
        **within,
        "everybody": everybody,
        "between “man” and “woman”": between,
    }.items():
        value, n = expected.split(" ", 1)
        assert re.fullmatch(rf"{value} \[[^\]]+\] {n}", rows[name][0]), (name, rows[name], expected)
    alpha, across = rows["within “woman” people: 3"][1:3]
    assert (alpha[0] != "–", across) == (True, "–")
    alpha, across = rows["between “man” and “woman”"][1:3]
    assert (alpha, across[0] != "–") == ("–", True)


def test_a_group_so_small_that_its_people_could_be_told_is_left_out(client, study):
    score(study, "gender")
    shown = page(client, by="gender")
    assert "nonbinary" not in shown
    assert "Groups of fewer than three people are not shown" in shown


def planted(lead):
    """Five women who always agree, five men who say anything, and three who are too few to be compared."""
    made = factories.study("words", leads=[lead])
    task = factories.task(made, strata=("any",) * 13)
    genders = ["woman"] * 5 + ["man"] * 5 + ["nonbinary"] * 3
    people = [factories.annotator(profile={"gender": gender}) for gender in genders]
    for place in range(12):
        unit = factories.attribute_unit(task, f"word {place}")
        for number, who in enumerate(people):
            said = (place % 4, (place * place + number * number * (1 + place)) % 4)[number >= 5]
            factories.response(unit, values=[(1, 2, 4, 5)[said]], who=who)
    return made


def differences_of(shown: str, heading: str) -> dict[str, list[str]]:
    """{pair: cells} of the second table under a heading."""
    section = re.search(rf">{heading}</h2>(.*?)</section>", shown).group(1)
    return rows_of(f">{heading}</h2>" + section.partition("Differences between groups")[2], heading)


def test_differences_between_groups_stand_below_them_with_interval_and_q(client, lead):
    run = score(planted(lead), "gender")
    rows = differences_of(page(client, by="gender"), "Visual nature of an attribute, nominal")
    assert list(rows) == ["within “man” minus within “woman”"], "three people are shown, not compared"
    points, alpha = rows["within “man” minus within “woman”"]
    part = "task: visual_nature; reading: nominal; difference: man and woman"
    stored = {one.name: one for one in Score.objects.filter(run=run, part=part)}
    for shown, name, digits, n in ((points, "percentage", 1, 240), (alpha, "alpha", 2, 12)):
        value, q = stored[f"{name}_difference"].value, stored[f"{name}_difference_q"].value
        assert shown.startswith(f"−{-value:.{digits}f} [−")
        assert shown.endswith(f"] n = {n} q = {q:.3f}")
    shown = page(client, by="gender")
    levels = ["interval", "nominal", "ordinal"]
    assert re.findall(r", (\w+)</h2>", shown) == levels, "a table of each, with all that is compared"
    assert "within “nonbinary” people: 3" in rows_of(shown, "Visual nature of an attribute, nominal")
    assert "It is not known who gave these answers" not in shown


def test_differences_are_of_groups_only(client, study):
    score(study, "none")
    score(study, "gender")
    assert "Differences between groups" not in page(client)
    assert "Differences between groups" not in page(client, by="gender"), "three people are too few"


def test_where_nobody_is_identified_the_strata_are_compared(client, lead):
    made = factories.study("words", leads=[lead])
    task = factories.task(made, strata=("origin: Asia", "origin: Asia", "origin: Europe"))
    for values in ((5, 5, 1), (5, 4, 4), (1, 1, 1)):
        unit = factories.attribute_unit(task)
        for value in values:
            factories.response(unit, values=[value])
    score(made, "origin")
    shown = page(client, by="origin")
    rows = rows_of(shown, "Visual nature of an attribute, nominal")
    assert list(rows) == ["everybody", "within “Asia”", "within “Europe”", "between “Asia” and “Europe”"]
    assert rows["within “Asia”"][0].startswith("66.7 ")
    assert "Groups of fewer than three" not in shown
    assert "Differences between groups" not in shown, "one rating makes no pair"


def test_differences_of_people_whom_nobody_knows_are_said_to_be_theirs_alone(client, lead):
    made = factories.study("words", leads=[lead])
    task = factories.task(made, strata=("origin: Asia",) * 2 + ("origin: Europe",) * 2)
    for values in ((5, 5, 1, 4), (1, 1, 4, 4), (4, 4, 2, 1)):
        unit = factories.attribute_unit(task)
        for value in values:
            factories.response(unit, values=[value])
    score(made, "origin")
    shown = page(client, by="origin")
    rows = differences_of(shown, "Visual nature of an attribute, nominal")
    assert rows["within “Asia” minus within “Europe”"][0].startswith("66.7 [")
    assert "It is not known who gave these answers" in shown


def test_a_lead_does_not_read_small_groups_by_the_number_of_the_run(client, study):
    run = score(study, "gender")
    for path in ("", "/scores"):
        url = f"/api/v1/studies/words/score-runs/{run.pk}{path}"
        assert client.get(url).status_code == 422, "only admins read groups of any size"
    client.force_login(factories.user(admin=True))
    assert client.get(f"/api/v1/studies/words/score-runs/{run.pk}/scores").status_code == 200


def test_a_page_asks_by_itself_and_without_scripts_checks_when_it_is_told_to(client, study):
    assert re.search(r'hx-get="[^"]+\?of=agreement%3Acorrected"', page(client))
    assert not ScoreRun.objects.exists()
    assert client.post(reverse("agreement", args=["words"])).status_code == 405
    assert "being computed" in page(client, check="")
    assert ScoreRun.objects.get().parameters == '{"by": "none"}'
    assert '<a href="?check">' in page(client)
    assert '<a href="?by=gender&check">' in page(client, by="gender"), "the same groups as before"


def test_programs_read_every_level_in_order_with_whether_it_is_of_all_answers(client, study):
    score(study, "none")

    def read():
        answer = client.get("/api/v1/studies/words/agreement")
        assert answer.status_code == 200
        return answer.json()

    said = read()
    assert (said["stale"], said["simulated"], said["differences"]) == (False, False, [])
    levels = ("interval", "nominal", "ordinal")
    part = "task: visual_nature; reading: {}"
    assert [row["part"] for row in said["results"]] == [part.format(level) for level in levels]
    assert said["results"][1]["alpha"]["n"] == 3, "of all attributes"
    assert set(said["results"][1]) == {"part", *MEASURES}
    Annotator.objects.update(simulated=True)
    factories.response(factories.attribute_unit(study.tasks.get(), "more"), values=[5])
    said = read()
    assert (said["stale"], said["simulated"]) == (True, True)


def test_what_groups_are_shown_and_compared_is_told_by_who_is_known():
    """Of three people, of two, and of people whom nobody knows."""
    part = "task: visual_nature; reading: nominal"
    groups = {name: {"percentage": Score(n=9)} for name in "abc"}
    for name, people in (("a", 3), ("b", 2)):
        groups[name]["annotators"] = Score(n=people)
    stored = {part: {"percentage": Score(n=50)}}
    stored |= {f"{part}; within: {name}": scores for name, scores in groups.items()}
    for kind in ("between", "difference"):
        stored |= {f"{part}; {kind}: {one} and {two}": {kind: Score()} for one, two in combinations("abc", 2)}
    stored[f"{part.replace('nominal', 'ordinal')}; within: d"] = {"percentage": Score(n=9)}
    found = queries._task(part, stored)
    assert [(row.first, row.second) for row in found.rows] == [("", ""), ("a", ""), ("c", ""), ("a", "c")]
    assert list(found.rows[-1].scores) == ["between"]
    assert [(row.first, row.second, *row.scores) for row in found.differences] == [("a", "c", "difference")]
    assert (found.anonymous, found.n_hidden) == (True, 1)
    del stored[f"{part}; within: c"]
    found = queries._task(part, stored)
    assert (found.anonymous, found.n_hidden, found.differences) == (False, 1, ())


def test_the_overview_leads_there(client, study):
    overview = client.get(reverse("overview", args=["words"])).text
    assert f'href="{reverse("agreement", args=["words"])}' in overview


def test_queries_do_not_grow_with_the_groups(client, study, django_assert_num_queries):
    run = score(study, "gender")
    part = "task: visual_nature; reading: nominal"
    for count in (1, 20):
        for number in range(count):
            name = f"{part}; within: group {count} {number}"
            for measure in ("percentage", "annotators"):
                Score.objects.create(run=run, name=measure, part=name, value=5, n=5)
            other = f"{part}; difference: group {count} 0 and group {count} {number}"
            Score.objects.create(run=run, name="alpha_difference", part=other, value=0.5, n=5)
        with django_assert_num_queries(8):
            page(client, by="gender")
