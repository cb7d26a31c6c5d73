"""The method of intervals: the study's choice, and requests that differ from it."""

import importlib

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction

from metrics.models import ScoreRun
from metrics.score_runs import current_scores, freshness, queries
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from tests import factories
from tests.metrics.cast import depiction_study
from tests.metrics.score_runs.interval_kinds import DRAWN, METRICS, WANTED, both_kinds, computed, replaced

pytestmark = pytest.mark.django_db


@pytest.fixture
def both(monkeypatch, settings):
    both_kinds(monkeypatch, settings)


@pytest.fixture
def study(both):
    return depiction_study(name="hats")


def method(run):
    return run.intervals, run.resamples, run.seed


@pytest.mark.parametrize(
    ("choice", "asked", "found"),
    [
        ("clustered", {}, ("clustered", 0, 0)),
        ("bootstrap", {}, ("bootstrap", DRAWN, 0)),
        ("bootstrap", {"intervals": "clustered"}, ("clustered", 0, 0)),
        ("clustered", {"intervals": "bootstrap"}, ("bootstrap", DRAWN, 0)),
        ("clustered", {"intervals": "bootstrap", "resamples": 200, "seed": 3}, ("bootstrap", 200, 3)),
        ("clustered", {"resamples": 200}, ("bootstrap", 200, 0)),
        ("clustered", {"seed": 3}, ("bootstrap", DRAWN, 3)),
        ("clustered", {"resamples": 0}, ("none", 0, 0)),
        ("bootstrap", {"resamples": 0}, ("none", 0, 0)),
        ("clustered", {"resamples": 0, "seed": 3}, ("none", 0, 0)),
        ("clustered", {"intervals": "none"}, ("none", 0, 0)),
        ("clustered", {"metric": "likelihood"}, ("bootstrap", DRAWN, 0)),
        ("clustered", {"metric": "likelihood", "intervals": "clustered"}, ("bootstrap", DRAWN, 0)),
        ("clustered", {"metric": "salience_seegull"}, ("none", 0, 0)),
    ],
)
def test_a_run_has_the_studys_method_unless_another_is_requested(study, choice, asked, found):
    study.intervals = choice
    assert method(score_runs.request(study=study, **WANTED | asked)) == found
    if asked.get("metric") != "salience_seegull":
        assert method(evaluate(study=study, **WANTED | asked)) == found


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"intervals": "clustered", "resamples": 200}, "belong to bootstrap intervals"),
        ({"intervals": "clustered", "resamples": 0}, "belong to bootstrap intervals"),
        ({"intervals": "clustered", "seed": 1}, "belong to bootstrap intervals"),
        ({"intervals": "none", "resamples": 200}, "but no intervals"),
        ({"intervals": "bootstrap", "resamples": 0}, "need resamples"),
        ({"intervals": "bootstrap", "resamples": 99}, "at least 100"),
        ({"intervals": "jackknife"}, "not 'jackknife'"),
    ],
)
def test_what_contradicts_itself_is_refused_and_leaves_nothing(study, asked, message):
    for compute in (score_runs.request, evaluate):
        with pytest.raises(ValueError, match=message):
            compute(study=study, **WANTED | asked)
    assert not ScoreRun.objects.exists()


def test_the_same_answers_with_another_method_are_another_run(study):
    clustered, bootstrap, none = (
        score_runs.request(study=study, **WANTED, intervals=each)
        for each in ("clustered", "bootstrap", "none")
    )
    assert len({clustered.pk, bootstrap.pk, none.pk}) == 3
    same = {name: getattr(none, name) for name in ("metric", "version", "variant", "digest", "resamples")}
    ScoreRun.objects.filter(pk=clustered.pk).delete()
    ScoreRun.objects.create(study=study, intervals="clustered", **same)
    with pytest.raises(IntegrityError, match=r"unique|UNIQUE"), transaction.atomic():
        ScoreRun.objects.create(study=study, intervals="clustered", **same)


@pytest.mark.parametrize(
    ("constraint", "fields"),
    [
        ("scorerun_intervals_known", {"intervals": "jackknife", "resamples": 0}),
        ("scorerun_resamples_of_bootstrap", {"intervals": "clustered", "resamples": 100}),
        ("scorerun_resamples_of_bootstrap", {"intervals": "none", "resamples": 100}),
    ],
)
def test_the_database_refuses_what_no_run_can_be(study, constraint, fields):
    run = {"metric": "tendency", "version": 1, "variant": "corrected", "digest": "0" * 64, **fields}
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        ScoreRun.objects.create(study=study, **run)


def test_runs_that_exist_are_named_by_what_they_have(study):
    """Rows of the previous version, which does not know the column."""
    run = {"study": study, "metric": "tendency", "version": 1, "variant": "corrected", "digest": "0" * 64}
    drawn, without = (ScoreRun.objects.create(**run, resamples=number) for number in (1000, 0))
    migration = importlib.import_module("metrics.migrations.0009_intervals")
    migration.name_runs_without_intervals(apps, None)
    assert ScoreRun.objects.get(pk=drawn.pk).intervals == "bootstrap"
    assert ScoreRun.objects.get(pk=without.pk).intervals == "none"


def test_a_clustered_run_stores_intervals_without_counts_of_resamples(study):
    run = computed(study)
    found = run.scores.get(name="l_stereo")
    assert (run.state, found.low, found.high) == ("done", 0.1, 0.9)
    assert (found.infinite, found.undefined) == (None, None)


def test_a_waiting_run_of_the_previous_version_without_resamples_has_no_intervals(study):
    asked = score_runs.request(study=study, **WANTED, resamples=0)
    same = {name: getattr(asked, name) for name in ("metric", "version", "variant", "digest", "resamples")}
    ScoreRun.objects.filter(pk=asked.pk).delete()
    first = ScoreRun.objects.create(study=study, **same)
    run = score_runs.compute(run_id=first.pk)
    assert (run.state, *method(run)) == ("done", "none", 0, 0)
    assert run.scores.get(name="l_stereo").low is None
    again = ScoreRun.objects.create(study=study, **same)
    assert score_runs.compute(run_id=again.pk) is None
    assert list(ScoreRun.objects.all()) == [run]


def test_runs_of_one_method_are_computed_together(study, monkeypatch):
    replaced(monkeypatch, "likelihood", clustering="images and annotators")
    first, same = (score_runs.request(study=study, **WANTED | {"metric": name}) for name in METRICS)
    drawn, none = (score_runs.request(study=study, **WANTED, resamples=number) for number in (100, 0))
    score_runs.compute_with_waiting(run_id=first.pk)
    states = dict(ScoreRun.objects.values_list("pk", "state"))
    assert [states[run.pk] for run in (first, same, drawn, none)] == ["done", "done", "pending", "pending"]


def test_a_check_by_the_other_method_does_not_replace_what_pages_show(study):
    shown = computed(study)
    check = computed(study, intervals="bootstrap")
    assert queries.newest_run(study, "tendency", "corrected") == shown
    assert queries.latest_run(study, "tendency", "corrected").run == shown
    study.intervals = "bootstrap"
    assert queries.newest_run(study, "tendency", "corrected") == check
    assert queries.latest_run(study, "tendency", "corrected").run == check


def test_an_earlier_bootstrap_run_is_shown_until_there_is_one_of_the_studys_method(study):
    requests = freshness.default_requests(["tendency"])
    earlier = computed(study, resamples=1000)
    assert queries.newest_run(study, "tendency", "corrected") == earlier
    assert queries.latest_run(study, "tendency", "corrected").stale is False
    [waiting] = freshness.check(study, requests).waiting
    assert method(waiting) == ("clustered", 0, 0)
    score_runs.compute(run_id=waiting.pk)
    assert queries.newest_run(study, "tendency", "corrected") == waiting
    assert freshness.check(study, requests) == freshness.Freshness()
    assert ScoreRun.objects.get(pk=earlier.pk).scores.count() == 3


def test_a_figure_takes_the_intervals_of_its_answers_before_older_ones_of_the_studys_method(study):
    computed(study)
    unit = factories.page_unit(study.tasks.get(), picture=factories.image(index=8))
    factories.response(unit)
    evaluation = current_scores.cached_evaluation(study, "tendency")
    assert current_scores.intervals(study, evaluation) == {}
    bootstrap = computed(study, intervals="bootstrap")
    computed(study, intervals="none")
    bootstrap.scores.filter(name="l_stereo").update(high=0.8)
    hat = factories.attribute("hat")
    bootstrap.scores.create(name="l_stereo", attribute=hat, value=0.5, low=0.2, high=0.7, n=1)
    bootstrap.scores.create(name="without", value=0.5, n=1)
    assert current_scores.intervals(study, evaluation) == {("l_stereo", None, ""): (0.1, 0.8)}
    computed(study)
    assert current_scores.intervals(study, evaluation) == {("l_stereo", None, ""): (0.1, 0.9)}
