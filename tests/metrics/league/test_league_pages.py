"""The league's page, its CSV and its API."""

import csv
import re
from html import unescape

import pytest
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import ImageSet, Study
from metrics.models import ScoreRun
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics.league import worlds

pytestmark = pytest.mark.django_db
PARTS = tuple(f"model: {name}/images-{name}" for name in "abc")


def address(*names, name="league") -> str:
    return f"{reverse(name)}?{'&'.join(f'study={each}' for each in names)}"


def page(client, *names) -> str:
    return " ".join(unescape(client.get(address(*names)).text).split())


def text(cell) -> str:
    return " ".join(re.sub("<[^>]+>", " ", cell).split())


def rows_of(shown, section) -> list[list[str]]:
    inside = shown[shown.index(f'id="{section}"') :]
    inside = inside[: inside.index("</section>")]
    return [
        [text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in re.findall(r"<tr>\s*(<th scope=\"row\">.*?)</tr>", inside)
    ]


def scored(*names, metric="tendency_league") -> ScoreRun:
    run = score_runs.request(
        study=Study.objects.get(name=names[0]),
        metric=metric,
        variant="corrected",
        parameters={"studies": ",".join(names[1:])} if names[1:] else {},
    )
    score_runs.compute(run_id=run.pk)
    run.refresh_from_db()
    assert run.state == JobState.DONE, run.error
    return run


def test_three_studies_are_asked_for_computed_and_shown(client, lead, django_assert_num_queries):
    worlds.three([lead])
    factories.image_set("images-a")
    shown = page(client, "c", "a", "b")
    assert "No scores yet" in shown
    poll = re.search(r'hx-get="([^"]*scores/fresh/[^"]*)"', shown).group(1)
    assert poll.startswith(reverse("fresh_scores", args=["a"]))
    assert "being computed" in client.get(poll).text
    score_runs.compute_pending()
    run = ScoreRun.objects.get()
    assert (run.study.name, run.parameters) == ("a", '{"studies": "b,c"}')
    shown = page(client, "c", "a", "b")
    assert "The models differ by more than chance" in shown
    rows = rows_of(shown, "table")
    assert [row[0].split()[0] for row in rows] == ["images-a", "images-b", "images-c"]
    stored = run.scores.get(part=PARTS[0], name="l_stereo", group=None)
    assert rows[0][1:4] == ["18", "3", "54"]
    assert rows[0][4] == f"{stored.value:.2f} [{stored.low:.2f}, {stored.high:.2f}]"
    assert [row[5] for row in rows] == ["1 1", "2 2", "3 3"]
    assert len(rows_of(shown, "groups")) == 3
    assert shown.count('class="mark"') == 3 * 3 + 3 * 3 * 2
    heads = re.findall(r"<th[^>]*>(?:(?!</th>).)*mark-scale(?:(?!</th>).)*</th>", shown)
    assert len(heads) == 3 + 3
    assert all('x="0" y="12">0</text>' in heads[place] for place in (0, 3, 4, 5))  # L from 0
    assert "A dash instead" not in shown
    assert "Images of a group" not in shown
    assert "Not all models were shown with the same attributes" not in shown
    assert "3 of 3 people judged several models" in shown
    assert "No setting differs" in shown
    assert "do not have the same protocol" not in shown
    with django_assert_num_queries(13):
        page(client, "a", "b", "c")
    turned = " ".join(client.get(address("a", "b", "c") + "&sort=l_stereo&dir=asc").text.split())
    assert [row[0].split()[0] for row in rows_of(turned, "table")] == ["images-c", "images-b", "images-a"]
    # an answer of any study makes it stale
    client.get(poll)
    assert ScoreRun.objects.count() == 1
    factories.response(
        factories.page_unit(
            Study.objects.get(name="c").tasks.get(), picture=factories.image(index=90), texts=worlds.TEXTS
        )
    )
    assert "being computed" in client.get(poll).text


def test_two_studies_are_a_league_and_links_to_their_comparison_lead_there(client, lead):
    worlds.three([lead])
    scored("a", "b")
    assert len(rows_of(page(client, "a", "b"), "table")) == 2
    for key, names in (("study:b", "ab"), ("image_set:one|two", "a")):
        answer = client.get(reverse("compare", args=["a"]), {"with": key})
        assert (answer.status_code, answer.url) == (302, address(*names))
    assert address("a") in client.get(reverse("compare", args=["a"])).text


def test_one_study_is_told_how_to_get_a_second_model(client, lead):
    worlds.model_study("a", {"Mexican": 0.9}, worlds.annotators(), leads=[lead])
    assert "Choose the studies" in page(client)
    scored("a")
    shown = page(client, "a")
    assert "A league needs a second model" in shown
    assert "A dash instead" not in shown
    assert reverse("setup") not in shown
    lead.user_permissions.add(factories.Permission.objects.get(codename="add_study"))
    assert f'href="{reverse("setup")}"' in page(client, "a")
    assert len(rows_of(shown, "table")) == 1


def test_image_sets_of_one_study_are_several_models(client, lead):
    worlds.model_study("a", {"Mexican": 0.9}, worlds.annotators(), leads=[lead], sets=("one", "two"))
    scored("a")
    shown = page(client, "a")
    assert [row[0].split()[0] for row in rows_of(shown, "table")] == ["one", "two"]
    assert "All models are of one study" in shown


def test_groups_left_out_and_other_attributes_and_images_are_named(client, lead):
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.9, "Nepali": 0.1}, people, leads=[lead])
    texts = ("hat", "sombrero", "kind", "wise")
    worlds.model_study("b", {"Mexican": 0.5}, people, leads=[lead], texts=texts, images=4)
    factories.task(factories.study("d", leads=[lead]), kind="depiction")
    scored("a", "b", "d")
    shown = page(client, "a", "b", "d")
    assert "1 group is left out" in shown
    assert re.search(r"Nepali</bdi>: in 1 of 2 models", shown)
    assert "Not all models were shown with the same attributes" in shown
    assert "3 of 5 in all models" in shown
    rows = csv.DictReader(client.get(address("a", "b", "d", name="league_csv")).text.splitlines())
    assert {row["left_out"] for row in rows} == {"Nepali: in 1 of 2 models"}
    assert "Images of a group" in shown
    assert "“d” has no answers about images yet" in shown


def test_a_group_without_random_attributes_in_a_model_is_named(client, lead):
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.5, "Nepali": 0.9}, people, leads=[lead], seed=1)
    b = worlds.model_study("b", {"Mexican": 0.5}, people, leads=[lead], seed=2)
    worlds.show_stereotypes_alone(b, "Nepali", people)
    scored("a", "b")
    said = "no random attribute was shown in 1 of 2 models, so θ is undefined"
    assert f"Nepali</bdi>: {said}" in page(client, "a", "b")
    assert f"Nepali: {said}" in unescape(client.get(address("a", "b", name="league_csv")).text)
    [left_out] = client.get("/api/v1/studies/a/league?studies=b").json()["left_out"]
    assert (left_out["there"], left_out["defined"], left_out["of"], left_out["reason"]) == (2, 1, 2, said)


def test_a_model_without_results_makes_no_second_one(client, lead):
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.9}, people, leads=[lead])
    worlds.model_study("b", {"Mexican": 0.9}, people, leads=[lead], texts=("kind", "tall"))
    scored("a", "b")
    shown = page(client, "a", "b")
    assert "A league needs a second model" in shown
    assert "“images-b” of “b” has no results" in shown
    assert "Place 1 has" not in shown
    assert [row[5] for row in rows_of(shown, "table")] == ["–", "–"]
    assert 'id="groups"' not in shown


def test_a_dash_for_a_place_is_explained(client, lead):
    people = worlds.annotators()
    worlds.model_study("a", {"Mexican": 0.9}, people, leads=[lead])
    worlds.model_study("b", {"Mexican": 0.0}, people, leads=[lead], seed=1)
    scored("a", "b")
    shown = page(client, "a", "b")
    assert "–" in rows_of(shown, "table")[1]
    assert "A dash instead of a place: the model has no such score" in shown


def test_models_without_a_common_group_have_no_means(client, lead):
    people = worlds.annotators()
    worlds.model_study("a", {"Nepali": 0.1}, people, leads=[lead])
    worlds.model_study("b", {"Mexican": 0.5}, people, leads=[lead])
    scored("a", "b")
    shown = page(client, "a", "b")
    assert "No group has results in all of these models" in shown
    assert 'id="groups"' not in shown


def test_queries_do_not_grow_with_studies_and_groups(client, lead, django_assert_num_queries):
    people = worlds.annotators()
    for number in range(5):
        rates = dict.fromkeys([f"group {each}" for each in range(1 + number)], 0.5)
        worlds.model_study(f"s{number}", rates, people, leads=[lead], images=2, seed=number)
    for names in (("s0", "s1"), ("s1", "s2", "s3", "s4")):
        scored(*names)
        page(client, *names)
        with django_assert_num_queries(13):
            page(client, *names)


def test_only_who_leads_all_of_them_reads_a_league(client, lead):
    worlds.three([lead])
    theirs = Study.objects.get(name="c")
    run = scored("a", "b", "c")
    theirs.leads.clear()
    for url in (
        address("a", "b", "c"),
        address("a", "nothing"),
        address("a", "b", "c", name="league_csv"),
        f"{reverse('fresh_scores', args=['a'])}?league=b&league=c",
        "/api/v1/studies/a/league?studies=b,c",
        f"/api/v1/studies/a/score-runs/{run.pk}",
        f"/api/v1/studies/a/score-runs/{run.pk}/scores",
    ):
        assert client.get(url).status_code == 404, url
    api = "/api/v1/studies/a"
    answer = client.get(f"{api}/scores?metric=tendency_league&studies=b,c")
    assert answer.status_code == 422
    assert "0." not in answer.text
    body = {"metric": "tendency_league", "parameters": {"studies": "b,c"}}
    refused = client.post(f"{api}/score-runs", body, content_type="application/json")
    assert refused.status_code == 422
    assert "you lead no study about images named 'c'" in refused.json()["detail"]
    assert client.get(address("a", "b")).status_code == 200


def test_the_other_side_of_a_difference_is_read_by_who_leads_it_alone(client, lead):
    worlds.three([lead])
    run = score_runs.request(
        study=Study.objects.get(name="a"),
        metric="tendency_difference",
        variant="corrected",
        parameters={"against": "b"},
    )
    url = f"/api/v1/studies/a/score-runs/{run.pk}"
    assert client.get(url).status_code == 200
    Study.objects.get(name="b").leads.clear()
    assert client.get(url).status_code == 404


def test_what_failed_is_shown_and_tried_again_by_who_leads_all_studies_that_it_names(client, lead):
    worlds.three([lead])
    run = scored("a", "b", "c")
    ScoreRun.objects.filter(pk=run.pk).update(state=JobState.FAILED, error="there is no study 'c'")
    overview, retry = reverse("overview", args=["a"]), reverse("retry_scores", args=["a", run.pk])
    assert "no study &#x27;c&#x27;" in client.get(overview).text
    Study.objects.get(name="c").leads.clear()
    assert "no study &#x27;c&#x27;" not in client.get(overview).text
    assert client.post(retry).status_code == 404


def test_scores_of_a_league_with_simulated_answers_say_so(client, lead):
    worlds.three([lead])
    address = "/api/v1/studies/a/scores?metric=tendency_league&studies=b,c"
    assert not client.get(address).json()["simulated"]
    Study.objects.filter(name="c").update(simulated=True)
    assert client.get(address).json()["simulated"]


def test_the_csv_has_the_numbers_of_the_run(client, lead):
    worlds.three([lead])
    url = address("a", "b", "c", name="league_csv")
    assert client.get(url).text.count("\n") == 1  # the heading
    run = scored("a", "b", "c")
    answer = client.get(url)
    assert answer["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert [row["study"] for row in rows] == ["a", "b", "c"]
    for row in rows:
        part = f"model: {row['study']}/{row['image_set']}"
        for name in ("l_stereo", "theta", "o", "rank"):
            score = run.scores.get(part=part, name=name, group=None)
            assert float(row[name]) == score.value
            assert float(row[f"{name}_high"]) == score.high
    assert client.get(reverse("league_csv")).status_code == 404


def test_the_api_gives_the_league_and_what_differs(client, lead):
    worlds.three([lead])
    Study.objects.filter(name="b").update(stereotype_threshold=3, gold_rate=0.1)
    ImageSet.objects.filter(images__units__task__study__name="a").update(model_name="SD")
    url = "/api/v1/studies/b/league"
    empty = client.get(url, {"studies": "c,a"}).json()
    assert (empty["run"], empty["stale"], empty["rows"]) == (None, True, [])
    made = client.post(
        f"/api/v1/studies/{empty['run_study']}/score-runs",
        {"metric": "tendency_league", "parameters": empty["parameters"]},
        content_type="application/json",
    )
    assert made.status_code == 202
    score_runs.compute_pending()
    found = client.get(url, {"studies": "c,a"}).json()
    assert (found["run"]["id"], found["stale"]) == (made.json()["id"], False)
    assert [(one["study"], one["model"]) for one in found["rows"]] == [("a", "SD"), ("b", ""), ("c", "")]
    places = [score["value"] for one in found["rows"] for score in one["scores"] if score["name"] == "rank"]
    assert places == [1, 2, 3]
    assert [each["name"] for each in found["tests"]] == ["o_p", "p", "theta_p"]
    assert len(found["units"]) == 3
    assert [each["name"] for each in found["units"][0]["scores"]] == ["l_stereo", "theta"] * 3
    apart = [(one["spread_q"]["value"], -one["spread"]["value"]) for one in found["units"]]
    assert apart == sorted(apart)
    assert found["protocol"] == [
        {
            "name": "threshold",
            "matters": True,
            "values": [{"value": "2", "studies": ["a", "c"]}, {"value": "3", "studies": ["b"]}],
        },
        {
            "name": "gold",
            "matters": False,
            "values": [{"value": "0 %", "studies": ["a", "c"]}, {"value": "10 %", "studies": ["b"]}],
        },
    ]
    alone = client.get("/api/v1/studies/a/league").json()
    assert alone["parameters"] == {}
