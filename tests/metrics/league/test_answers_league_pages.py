"""The page of a league of studies by their answers, its file and its API, and who reads them."""

import csv
import re

import pytest
from django.urls import reverse

from annotation.models import Purpose, Study
from metrics.league import protocols
from metrics.league.rows import Test as OfAll
from metrics.models import Score, ScoreRun
from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from tests import factories
from tests.metrics.league import answered, test_league_pages, worlds
from tests.metrics.league.answered import GROUPS, LEVELS, METRICS, OFFENSIVENESS, PREVALENCE, VISUAL_NATURE
from tests.metrics.league.test_league_pages import address, page, rows_of

pytestmark = pytest.mark.django_db


def scored(kind, *names) -> ScoreRun:
    return test_league_pages.scored(*names, metric=METRICS[kind][0])


def test_studies_are_asked_for_computed_and_shown(client, lead, django_assert_num_queries):
    answered.three(LEVELS, leads=[lead])
    shown = page(client, "c", "a", "b")
    assert "No scores yet" in shown
    poll = re.search(r'hx-get="([^"]*scores/fresh/[^"]*)"', shown).group(1)
    assert "being computed" in client.get(poll).text
    score_runs.compute_pending()
    run = ScoreRun.objects.get()
    assert (run.study.name, run.metric) == ("a", "bias_levels_league")
    shown = page(client, "c", "a", "b")
    assert "The studies differ by more than chance" in shown
    rows = rows_of(shown, "table")
    stored = run.scores.get(part="study: a", name="mean", group=None)
    assert rows[0] == ["a", "3", "54", f"{stored.value:.2f} [{stored.low:.2f}, {stored.high:.2f}]", "1 1"]
    assert [row[-1] for row in rows] == ["1 1", "2 2", "3 3"]
    assert "Which groups differ between the studies" in shown
    assert {row[0] for row in rows_of(shown, "groups")} == set(GROUPS)
    assert "3 of 3 people answered in several studies" in shown
    assert "No setting differs." in shown
    assert shown.count('class="mark"') == 3 + 3 * 3
    assert "model" not in re.search(r"<main.*</main>", shown).group().casefold()
    with django_assert_num_queries(13):
        page(client, "a", "b", "c")


def test_attributes_are_rows_where_there_are_no_groups(client, lead):
    who = answered.people()
    for name, texts in (("a", answered.TEXTS), ("b", (*answered.TEXTS[1:], "wise"))):
        answered.study(name, VISUAL_NATURE, 0.5, who, leads=[lead], texts=texts)
    scored(VISUAL_NATURE, "a", "b")
    shown = page(client, "a", "b")
    assert "Which attributes differ between the studies" in shown
    assert {row[0] for row in rows_of(shown, "groups")} == set(answered.TEXTS[1:])
    assert "2 attributes are left out" in shown
    assert re.search(r"wise</bdi>: in 1 of 2 studies", shown)


def test_which_kind_is_compared_is_chosen(client, lead):
    both = answered.study("both", LEVELS, 0.5, answered.people(), leads=[lead])
    factories.task(both, kind=PREVALENCE)
    answered.study("levels", LEVELS, 0.5, answered.people(), leads=[lead])
    factories.study("empty", leads=[lead])
    # without studies, the kind that two of them have
    shown = page(client)
    assert 'value="both"' in shown
    assert 'value="levels"' in shown
    assert 'value="empty"' not in shown
    url = reverse("league")
    assert 'value="levels"' not in client.get(f"{url}?of=prevalence").text
    assert 'name="of" value="prevalence"' in client.get(f"{url}?of=prevalence&study=both").text
    for query in (
        "of=nothing",
        "of=prevalence&study=both&study=levels",
        "study=empty",
        "of=depiction&study=both",
    ):
        assert client.get(f"{url}?{query}").status_code == 404, query


def test_the_poll_of_a_league_is_of_its_kind(client, lead):
    for name in "ab":
        made = answered.study(name, PREVALENCE, 0.5, answered.people(), leads=[lead])
        factories.task(made, kind=VISUAL_NATURE)
    shown = client.get(f"{address('a', 'b')}&of=prevalence").text
    client.get(re.search(r'hx-get="([^"]*scores/fresh/[^"]*)"', shown).group(1).replace("&amp;", "&"))
    assert ScoreRun.objects.get().metric == "prevalence_league"


@pytest.mark.parametrize("kind", METRICS)
def test_the_file_and_the_api_have_the_numbers_of_the_run(client, lead, kind):
    answered.three(kind, leads=[lead])
    run, score = scored(kind, "a", "b", "c"), METRICS[kind][1]
    rows = list(csv.DictReader(client.get(address("a", "b", "c", name="league_csv")).text.splitlines()))
    found = client.get("/api/v1/studies/b/league", {"studies": "a,c", "of": kind}).json()
    assert (found["of"], found["metric"], found["run"]["id"], found["stale"]) == (
        kind,
        run.metric,
        run.pk,
        False,
    )
    for row, name, one in zip(rows, "abc", found["rows"], strict=True):
        stored = run.scores.get(part=f"study: {name}", name=score, group=None, attribute=None)
        assert (row["study"], float(row[score]), float(row[f"{score}_high"])) == (
            name,
            stored.value,
            stored.high,
        )
        assert row["rank"]
        assert (one["study"], one["image_set"], one["images"]) == (name, "", None)
        assert stored.value in [each["value"] for each in one["scores"] if each["name"] == score]
    unit = found["units"][0]
    assert (unit["attribute"] is None, unit["group"] is None) == (
        kind != VISUAL_NATURE,
        kind == VISUAL_NATURE,
    )
    assert [each["name"] for each in unit["scores"]] == [score] * 3


def test_only_who_leads_all_of_them_reads_it(client, lead):
    answered.three(OFFENSIVENESS, leads=[lead])
    run = scored(OFFENSIVENESS, "a", "b", "c")
    Study.objects.get(name="c").leads.clear()
    api = "/api/v1/studies/a"
    for url in (
        address("a", "b", "c"),
        address("a", "b", "c", name="league_csv"),
        f"{api}/league?studies=b,c",
        f"{api}/score-runs/{run.pk}/scores",
    ):
        assert client.get(url).status_code == 404, url
    assert client.get(f"{api}/scores?metric=offensiveness_league&studies=b,c").status_code == 422
    # studies that one leads, but that have no such task
    worlds.model_study("d", {"Mexican": 0.5}, worlds.annotators(), leads=[lead], images=1)
    body = {"metric": "offensiveness_league", "parameters": {"studies": "d"}}
    refused = client.post(f"{api}/score-runs", body, content_type="application/json")
    assert (refused.status_code, "no study with a task of offensiveness" in refused.json()["detail"]) == (
        422,
        True,
    )


def test_runs_that_name_studies_of_others_are_not_listed(client, lead):
    answered.three(LEVELS, leads=[lead])
    for others in ((), ("b",), ("b", "c")):
        scored(LEVELS, "a", *others)
    depicted = factories.study("d", leads=[lead])
    factories.task(depicted, kind="depiction")
    factories.task(Study.objects.get(name="a"), kind="depiction")
    score_runs.request(
        study=Study.objects.get(name="a"),
        metric="tendency_difference",
        variant="corrected",
        parameters={"against": "d"},
    )
    url = "/api/v1/studies/a/score-runs"
    assert len(client.get(url).json()["results"]) == 4
    for name in "cd":
        Study.objects.get(name=name).leads.clear()
    listed = [one["parameters"].get("studies") for one in client.get(url).json()["results"]]
    assert listed == ["b", ""]


def test_no_run_about_a_study_of_others_is_read(lead):
    given = {"against": "x", "studies": "x", "by": ""}
    naming = [one for one in registry.metrics() if one.other_studies(given)]
    for metric in naming:
        with pytest.raises(ValueError, match="x"):
            metric.check_readable(lead, given)
    assert {
        one.name for one in registry.metrics() if {"against", "studies"} & {p.name for p in one.parameters}
    } == {one.name for one in naming}


def test_settings_of_the_kind_are_compared_and_no_others():
    pair = [factories.study(name) for name in "ab"]
    for one in pair:
        unit = factories.attribute_unit(factories.task(one), "hat")
        unit.purpose = Purpose.GOLD
        unit.save()
    Study.objects.update(opened_at=None, status="draft")
    Study.objects.filter(name="b").update(stereotype_threshold=3, blur_images=True)

    def named(kind="visual_nature"):
        return {one.name for one in protocols.differences(Study.objects.filter(name__in="ab"), kind)}

    assert named() == set()
    pair[1].tasks.update(wording="Is it visible?", page_size=9)
    assert named() == {"wording"}
    pair[1].tasks.get().units.get().options.update(expected=[5])
    assert named() == {"wording", "checks"}
    assert {"threshold"} <= named("prevalence")


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), (0.0004, "p < 0.001"), (0.001, "p = 0.001"), (0.0466, "p = 0.047")]
)
def test_the_p_of_a_test_is_shown_with_three_digits(value, shown):
    assert OfAll("share", Score(value=value)).shown == shown
