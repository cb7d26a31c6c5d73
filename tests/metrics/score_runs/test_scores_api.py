"""Scores by the API: where each number comes from, asking for a computation, and what JSON cannot hold."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from annotation.core.leases import JobState
from annotation.models import TaskKind
from metrics.core.serializers import json_safe
from metrics.models import Score, ScoreRun
from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.metrics import cast, pulled

pytestmark = pytest.mark.django_db
BODY = {"metric": "tendency", "resamples": 100}


@pytest.fixture
def lead():
    return factories.user("lead")


@pytest.fixture
def study(lead):
    return cast.depiction_study(name="hats", leads=[lead])


@pytest.fixture
def program(lead):
    return Program(lead)


def strict(answer):
    """The JSON of an answer, read as the standard has it: no NaN, no Infinity."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(answer.content, parse_constant=refuse)


def computed(study, **wanted) -> ScoreRun:
    run = score_runs.request(study=study, **{"metric": "tendency", "variant": "corrected", **wanted})
    score_runs.compute(run_id=run.pk)
    run.refresh_from_db()
    return run


def test_every_metric_is_listed_with_its_formula_and_reference(program):
    said = strict(program.get("metrics"))["results"]
    assert [one["name"] for one in said] == [metric.name for metric in registry.metrics()]
    assert all(one["definition"] and one["reference"] and one["unit"] and one["scores"] for one in said)
    assert strict(program.get("metrics/tendency")) in said
    is_problem(program.get("metrics/tendencies"), 404)


def test_before_anything_was_computed_there_is_no_number_and_that_is_said(program, study):
    said = strict(program.get("studies/hats/scores?metric=tendency"))
    assert (said["run"], said["stale"], said["results"]) == (None, True, [])


def test_a_score_comes_with_all_that_is_needed_to_judge_and_repeat_it(program, study):
    run = computed(study, resamples=100)
    said = strict(program.get("studies/hats/scores?metric=tendency"))
    assert said["run"]["digest"] == run.digest
    assert said["run"]["rule"] == "stereotypical: at least 2 stereotypical out-region votes in votes"
    assert (said["run"]["seed"], said["run"]["resamples"], said["run"]["version"]) == (0, 100, run.version)
    assert (said["stale"], said["simulated"]) == (False, False)
    (theta,) = [one for one in said["results"] if one["name"] == "theta"]
    stored = run.scores.get(name="theta")
    assert theta["value"] == pytest.approx(5)
    assert (theta["n"], theta["group"]["name"]) == (stored.n, "Mexican")
    assert theta["low"] == pytest.approx(stored.low)
    assert theta["high"] == "inf" if math.isinf(stored.high) else pytest.approx(stored.high)


def test_infinite_is_a_word_and_undefined_is_null(program, study):
    run = computed(study, resamples=100)
    run.scores.filter(name="theta").update(value=math.inf, low=1.0, high=math.inf)
    run.scores.filter(name="l_random").update(value=None, low=None, high=None)
    said = {one["name"]: one for one in strict(program.get("studies/hats/scores?metric=tendency"))["results"]}
    assert (said["theta"]["value"], said["theta"]["low"], said["theta"]["high"]) == ("inf", 1.0, "inf")
    assert said["l_random"]["value"] is None
    identities = strict(program.get("studies/hats/identities"))["results"]
    assert identities[0]["theta"]["value"] == "inf"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (math.nan, None),
        (-math.inf, "-inf"),
        ({"a": [math.inf, 1.5]}, {"a": ["inf", 1.5]}),
        ((math.nan, 2), [None, 2]),
        (None, None),
    ],
)
def test_no_number_is_written_that_json_has_not(given, told):
    assert json_safe(given) == told


def test_answers_that_came_since_are_told(program, study):
    computed(study, resamples=100)
    unit = study.tasks.get().units.first()
    unit.slots.create(study=study, index=9, stratum="any", queue=99)
    factories.response(unit, values=[0, 0, 0, 0, 1])
    said = strict(program.get("studies/hats/scores?metric=tendency"))
    assert said["stale"] is True
    assert said["results"]


def test_only_the_scores_asked_for_come(program, study):
    run = computed(study, resamples=100)
    mexican = factories.group("Mexican").pk
    asked = strict(program.get(f"studies/hats/scores?metric=tendency&name=theta&group={mexican}"))["results"]
    assert [one["name"] for one in asked] == ["theta"]
    assert not strict(program.get("studies/hats/scores?metric=tendency&group=999999"))["results"]
    hat = factories.attribute("hat")
    run.scores.create(name="theta", part="side: first", attribute=hat, value=1, n=1)
    for path in ("scores?metric=tendency&", f"score-runs/{run.pk}/scores?"):
        for chosen, parts in ((f"attribute={hat.pk}", ["side: first"]), ("part=&name=theta", [""])):
            found = strict(program.get(f"studies/hats/{path}{chosen}"))
            assert [one["part"] for one in found["results"]] == parts
    for wrong in ("limt=5", "group=x", "metric=tendency&metric=tendency", "variant=", "limit=0"):
        is_problem(program.get(f"studies/hats/scores?metric=tendency&{wrong}"), 400)
    is_problem(program.get("studies/hats/scores?metric=tendency&top=5"), 422)
    is_problem(program.get("studies/hats/scores?metric=tendencies"), 400)


def test_all_pages_together_are_all_scores_once(program, study):
    run = computed(study, metric="agreement", resamples=100)
    seen, path = [], "studies/hats/scores?metric=agreement&limit=3"
    while path:
        said = strict(program.get(path))
        assert len(said["results"]) <= 3
        seen += [(one["name"], one["part"], one["group"], one["attribute"]) for one in said["results"]]
        path = said["next"] and said["next"].partition("/api/v1/")[2]
    assert len(seen) == run.scores.count() == len({str(one) for one in seen})


def test_a_page_takes_as_many_queries_whatever_is_on_it(program, study, django_assert_max_num_queries):
    computed(study, metric="agreement", resamples=100)
    program.get("studies/hats/scores?metric=agreement&limit=1")  # notes when the token was last used
    for limit in (1, 100):
        with django_assert_max_num_queries(16) as asked:
            said = strict(program.get(f"studies/hats/scores?metric=agreement&limit={limit}"))
        if limit == 1:
            first = len(asked)
    assert len(said["results"]) > 20
    assert len(asked) == first


def test_what_has_not_changed_is_not_sent_again(program, study):
    run = computed(study, resamples=100)
    etag = program.get("studies/hats/scores?metric=tendency")["ETag"]
    again = program.get("studies/hats/scores?metric=tendency", **{"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    Score.objects.filter(run=run, name="theta").update(value=4.5, low=1, high=9)
    assert program.get("studies/hats/scores?metric=tendency", **{"If-None-Match": etag}).status_code == 200


@pytest.fixture
def sent(monkeypatch):
    """The runs that a worker is told of."""
    found = []
    monkeypatch.setattr("metrics.score_runs.api.enqueue", lambda run: found.append((run.pk, run.state)))
    return found


def test_a_computation_is_asked_for_once_however_often_it_is_sent(program, study, sent):
    first, second = (program.post("studies/hats/score-runs", BODY) for _ in range(2))
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["id"] == second.json()["id"]
    assert first.json()["state"] == "pending"
    assert sent == [(first.json()["id"], "pending")] * 2
    score_runs.compute_pending()
    third = program.post("studies/hats/score-runs", BODY)
    assert (third.status_code, third.json()["state"]) == (200, "done")
    number = first.json()["id"]
    assert strict(program.get(f"studies/hats/score-runs/{number}"))["rule"]
    assert strict(program.get(f"studies/hats/score-runs/{number}/scores"))["results"]
    listed = strict(program.get("studies/hats/score-runs?metric=tendency&state=done"))["results"]
    assert [one["id"] for one in listed] == [number]


def test_a_run_is_requested_with_a_method_of_intervals_and_says_it(program, study, monkeypatch):
    clustered = replace(registry.get("tendency"), clustering="images and annotators")
    monkeypatch.setitem(registry._registered, "tendency", clustered)
    plain = {"metric": "tendency"}
    for body, found in (
        (plain, ("clustered", 0)),
        ({**plain, "intervals": "clustered"}, ("clustered", 0)),
        ({**plain, "intervals": "bootstrap", "resamples": 100}, ("bootstrap", 100)),
        ({**plain, "resamples": 100}, ("bootstrap", 100)),
    ):
        said = program.post("studies/hats/score-runs", body).json()
        assert (said["intervals"], said["resamples"]) == found
    assert ScoreRun.objects.count() == 2
    assert {one["intervals"] for one in strict(program.get("studies/hats/score-runs"))["results"]} == {
        "clustered",
        "bootstrap",
    }
    assert strict(program.get("metrics/tendency"))["interval"] == registry.describe_interval(clustered)


def test_a_failed_computation_is_told_and_retried(program, study, sent):
    run = score_runs.request(study=study, metric="tendency", variant="corrected", resamples=100)
    is_problem(program.post(f"studies/hats/score-runs/{run.pk}/retry"), 409)
    ScoreRun.objects.filter(pk=run.pk).update(
        state=JobState.FAILED, error="It broke.", finished_at=run.created_at
    )
    assert "It broke." in is_problem(program.post("studies/hats/score-runs", BODY), 409)["detail"]
    assert program.post(f"studies/hats/score-runs/{run.pk}/retry").json()["state"] == "pending"
    assert sent == [(run.pk, "pending")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"metric": "nothing"}, 400),
        ({"metric": ["tendency"]}, 400),
        ({"metric": "tendency", "resamples": 5}, 400),
        ({"metric": "tendency", "seed": -1}, 400),
        ({"metric": "tendency", "seed": 2**70}, 400),
        ({"metric": "tendency", "sede": 1}, 400),
        ({"metric": "tendency", "intervals": "jackknife"}, 400),
        ({"metric": "tendency", "intervals": "none"}, 400),
        ({"metric": "tendency", "intervals": "clustered", "resamples": 100}, 422),
        ({"metric": "tendency", "intervals": "clustered", "seed": 1}, 422),
        ({"metric": "tendency", "parameters": {"by": "gender"}}, 422),
        ({"metric": "tendency", "parameters": {"by": "\x00"}}, 400),
        ({"metric": "tendency_difference"}, 422),
        ([1], 400),
    ],
)
def test_what_cannot_be_computed_is_refused_and_leaves_nothing(program, study, body, status):
    is_problem(program.post("studies/hats/score-runs", body), status)
    assert not ScoreRun.objects.exists()


@pytest.mark.parametrize("metric", ["pull", "pull_contrast"])
def test_pull_without_embeddings_is_refused_with_what_to_do(program, study, metric):
    """Asked for, and tried again after the embeddings were deleted."""
    said = is_problem(program.post("studies/hats/score-runs", {"metric": metric}), 422)
    assert "manage.py generate hats --prompts pull" in said["detail"]
    said = is_problem(
        program.post("studies/hats/score-runs", {"metric": metric, "parameters": {"run": "7"}}), 422
    )
    assert "manage.py runs" in said["detail"]
    assert not ScoreRun.objects.exists()
    embedded = pulled.embedding_run(study)
    pulled.group_images(embedded, "Mexican")
    run = score_runs.request(study=study, metric=metric, variant="corrected")
    embedded.delete()
    ScoreRun.objects.update(state=JobState.FAILED, error="gone", finished_at=run.created_at)
    is_problem(program.post(f"studies/hats/score-runs/{run.pk}/retry"), 422)


@pytest.mark.parametrize("metric", ["tendency_difference", "offensiveness_difference"])
def test_another_teams_study_is_nothing_to_compare_with(program, study, lead, metric):
    """What is asked for is of one's own study; what it is compared with must be one's own as well."""
    theirs = factories.study("theirs", leads=[factories.user("other")])
    factories.task(theirs, kind=TaskKind.DEPICTION)
    mine = factories.study("mine", leads=[lead], simulated=True)
    factories.task(mine, kind=TaskKind.DEPICTION)
    asked = {"metric": metric, "parameters": {"against": "theirs"}}
    refused = is_problem(program.post("studies/hats/score-runs", asked), 422)
    assert refused["detail"].endswith("Available: against=mine.")
    asked["parameters"]["against"] = "mine"
    assert program.post("studies/hats/score-runs", asked).status_code == 202
    is_problem(program.get(f"studies/hats/scores?metric={metric}&against=theirs"), 422)
    assert strict(program.get(f"studies/hats/scores?metric={metric}&against=mine"))["simulated"] is True


def test_both_sides_of_offensiveness_and_their_difference_are_told(program, study, lead):
    run = computed(study, metric="offensiveness_difference", resamples=100, parameters={"against": "hats"})
    said = strict(program.get(f"studies/hats/score-runs/{run.pk}/scores"))
    found = {
        (row["group"]["name"] if row["group"] else "", row["part"], row["name"]): row
        for row in said["results"]
    }
    # hat 4/6 and sombrero 1/6 are rated 1 and 0
    first = found["Mexican", "side: first", "o"]
    assert (first["value"], first["n"]) == (pytest.approx(5 / 24), 2)
    assert first["low"] <= first["value"] <= first["high"]
    assert found["Mexican", "", "o"]["value"] == 0
    assert (found["Mexican", "", "o_p"]["value"], found["Mexican", "", "o_q"]["value"]) == (1, 1)
    assert found["", "side: second", "o"]["n"] == 1


def test_embeddings_of_another_team_are_nothing_to_compare_with(program, study, lead):
    own, second = (pulled.embedding_run(study, image_set=name) for name in ("own", "second"))
    mine = pulled.embedding_run(factories.study("mine", leads=[lead]), image_set="mine")
    theirs = pulled.embedding_run(
        factories.study("theirs", leads=[factories.user("other")]), image_set="theirs"
    )
    for run in (own, second, mine, theirs):
        pulled.group_images(run, "Mexican")

    def asked(**parameters):
        return program.post(
            "studies/hats/score-runs", {"metric": "pull_difference", "parameters": parameters}
        )

    for chosen in (
        {"by": "run", "first": str(own.pk), "second": str(theirs.pk)},
        {"by": "image_set", "first": "own", "second": "theirs"},
        {"against": "theirs"},
    ):
        refused = is_problem(asked(**chosen), 422)
        assert refused["detail"].endswith(f"Your runs: {mine.pk}, {second.pk}, {own.pk}.")
    for chosen in (
        {"by": "run", "first": str(own.pk), "second": str(mine.pk)},
        {"by": "image_set", "first": "own", "second": "second"},
        {"against": "mine"},
    ):
        assert asked(**chosen).status_code == 202
    assert "Say what to compare" in is_problem(asked(), 422)["detail"]
    for wrong in ("pull_difference", "pull&run=99999", f"pull_difference&by=run&first={own.pk}&second="):
        is_problem(program.get(f"studies/hats/scores?metric={wrong}"), 422)
    assert "Say which two" in is_problem(asked(by="run", first=str(own.pk)), 422)["detail"]
    is_problem(
        program.get(f"studies/hats/scores?metric=pull_difference&by=run&first={own.pk}&second={theirs.pk}"),
        422,
    )


def test_agreement_by_groups_of_people_is_for_admins(program, study):
    run = computed(study, metric="agreement", resamples=100)
    said = strict(program.get("studies/hats/agreement"))
    (row,) = said["results"]
    assert row["part"] == "task: depiction; reading: nominal"
    assert row["alpha"]["value"] == pytest.approx(
        run.scores.get(name="alpha", part=row["part"], group=None, attribute=None).value
    )
    assert row["cross_kappa"] is None
    is_problem(program.get("studies/hats/agreement?by=gender"), 422)
    admin = Program(factories.user("admin", admin=True))
    assert strict(admin.get("studies/hats/agreement?by=gender"))["run"] is None
    assert said["differences"] == []


def test_agreement_by_groups_has_their_differences_apart(study):
    words = factories.study("words")
    task = factories.task(words, strata=("origin: Asia",) * 2 + ("origin: Europe",) * 2)
    for values in ((5, 5, 1, 4), (1, 1, 5, 5), (4, 4, 2, 1)):
        unit = factories.attribute_unit(task)
        for value in values:
            factories.response(unit, values=[value])
    computed(words, metric="agreement", resamples=100, parameters={"by": "origin"})
    said = strict(Program(factories.user("admin", admin=True)).get("studies/words/agreement?by=origin"))
    assert not [row for row in said["results"] if "difference" in row["part"]]
    row = next(row for row in said["differences"] if "nominal" in row["part"])
    assert row["part"] == "task: visual_nature; reading: nominal; difference: Asia and Europe"
    number = row["percentage_difference"]
    assert (number["value"], number["n"]) == (pytest.approx(200 / 3), 6)
    assert number["low"] <= number["value"] <= number["high"]
    for name in ("percentage_difference", "alpha_difference"):
        assert 0 < row[f"{name}_p"]["value"] <= row[f"{name}_q"]["value"] <= 1
