"""The method of intervals: the study's choice, requests that differ from it, and what says which it was."""

import importlib
import io
import json
from dataclasses import replace

import pytest
from django.apps import apps
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.urls import reverse

from annotation.models import Study
from metrics.models import ScoreRun
from metrics.score_runs import current_scores, freshness, queries, registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.evaluation import evaluate
from metrics.score_runs.rows import ScoreRow
from tests import factories
from tests.metrics.cast import depiction_study

pytestmark = pytest.mark.django_db
WANTED = {"metric": "tendency", "variant": "corrected"}
METRICS = ("tendency", "likelihood")
DRAWN = 100


def scores(inputs):
    """A score as a metric gives it: with a clustered interval there are no resamples to count."""
    counts = {"infinite": 0, "undefined": 0} if inputs.resamples else {}
    bounds = {"low": 0.1, "high": 0.9} if inputs.with_intervals else {}
    return [
        ScoreRow("l_stereo", 0.5, 2, **bounds, **counts),
        # from a single image
        ScoreRow("l_random", 0.5, 2),
        ScoreRow("theta", 1.0, 2),
    ]


def replaced(monkeypatch, name, **changes):
    monkeypatch.setitem(registry._registered, name, replace(registry.get(name), **changes))


@pytest.fixture
def both(monkeypatch, settings):
    """A metric with both kinds of intervals, and one with bootstrap intervals only."""
    settings.BOOTSTRAP_RESAMPLES = DRAWN
    replaced(monkeypatch, "tendency", clustering="images and annotators", compute=scores)
    replaced(monkeypatch, "likelihood", clustering="", compute=scores)


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


def computed(study, **asked):
    return score_runs.compute(run_id=score_runs.request(study=study, **WANTED | asked).pk)


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
    assert current_scores.intervals(study, evaluation) == {("l_stereo", None, ""): (0.1, 0.8)}
    computed(study)
    assert current_scores.intervals(study, evaluation) == {("l_stereo", None, ""): (0.1, 0.9)}


def command(*arguments):
    out, errors = io.StringIO(), io.StringIO()
    call_command(*arguments, stdout=out, stderr=errors)
    return out.getvalue(), errors.getvalue()


@pytest.mark.parametrize(
    ("choice", "options", "found"),
    [
        ("clustered", (), "clustered"),
        ("bootstrap", (), "bootstrap"),
        ("bootstrap", ("--intervals", "clustered"), "clustered"),
        ("clustered", ("--intervals", "bootstrap"), "bootstrap"),
        ("clustered", ("--resamples", "200"), "bootstrap"),
        ("clustered", ("--metric", "likelihood"), "bootstrap"),
    ],
)
def test_scores_says_in_every_format_how_its_intervals_were_computed(study, choice, options, found):
    Study.objects.update(intervals=choice)
    words = {
        "clustered": "95 % interval from standard errors clustered by images and annotators",
        "bootstrap": "95 % percentile interval, two-way cluster bootstrap over images and annotators",
    }[found]
    about = json.loads(command("scores", "hats", "--format", "json", *options)[0])["interval"]
    assert (about["intervals"], about["method"]) == (found, words)
    assert ("resamples" in about) == ("seed" in about) == ("infinite" in about) == (found == "bootstrap")
    table, _ = command("scores", "hats", *options)
    assert words in table
    assert ("resamples, seed 0" in table) == (found == "bootstrap")
    data, beside = command("scores", "hats", "--format", "csv", *options)
    assert words not in data
    assert words in beside


def test_without_intervals_scores_says_so(study):
    assert (
        json.loads(command("scores", "hats", "--format", "json", "--resamples", "0")[0])["interval"] is None
    )
    assert "no intervals" in command("scores", "hats", "--resamples", "0")[0]


@pytest.mark.parametrize("name", ["scores", "agreement"])
def test_a_command_refuses_resamples_of_clustered_intervals(study, name):
    with pytest.raises(CommandError, match="belong to bootstrap intervals"):
        call_command(name, "hats", "--intervals", "clustered", "--resamples", "200")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), {"clustered": True, "resamples": 0, "seed": 0}),
        (("--intervals", "bootstrap"), {"clustered": False, "resamples": DRAWN, "seed": 0}),
        (("--resamples", "200", "--seed", "3"), {"clustered": False, "resamples": 200, "seed": 3}),
        (("--resamples", "0"), {"clustered": False, "resamples": 0, "seed": 0}),
    ],
)
def test_agreement_is_computed_by_the_chosen_method_and_says_it(study, monkeypatch, options, found):
    replaced(monkeypatch, "agreement", clustering="images and annotators")
    module = importlib.import_module("metrics.management.commands.agreement")
    actual, passed = module.evaluate_agreement, {}

    def evaluated(**given):
        passed.update(given)
        return actual(**{**given, "clustered": False})

    monkeypatch.setattr(module, "evaluate_agreement", evaluated)
    about = json.loads(command("agreement", "hats", "--format", "json", *options)[0])["interval"]
    assert {name: passed[name] for name in found} == found
    if found["clustered"]:
        assert about == {
            "intervals": "clustered",
            "method": "95 % interval from standard errors clustered by images and annotators",
        }
    elif found["resamples"]:
        assert (about["intervals"], about["resamples"], about["seed"]) == (
            "bootstrap",
            found["resamples"],
            found["seed"],
        )
    else:
        assert about is None


SINGLE = "all its answers are about one image or item, or from one annotator"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"intervals": "clustered", "resamples": 0},
            "95 % intervals from clustered standard errors of images and annotators;",
        ),
        (
            {"intervals": "bootstrap", "resamples": 1000},
            "95 % intervals from 1,000 bootstrap resamples of images and annotators, seed 0;",
        ),
        ({"intervals": "none", "resamples": 0}, None),
    ],
)
def test_a_page_says_how_the_intervals_of_its_run_were_computed(client, monkeypatch, fields, words):
    study = depiction_study(name="hats", leads=[lead := factories.user()])
    replaced(monkeypatch, "tendency", clustering="images and annotators")
    run = computed(study, resamples=100)
    # counts of resamples are null, as a clustered run stores them
    run.scores.update(infinite=None, undefined=None)
    ScoreRun.objects.filter(pk=run.pk).update(**fields)
    client.force_login(lead)
    page = " ".join(client.get(reverse("identities", args=["hats"])).content.decode().split())
    assert ("95 % intervals from" in page) == (words is not None)
    assert words is None or words in page
    assert (SINGLE in page) == (fields["intervals"] == "clustered")
    assert ("every resample gave this value" in page) == (fields["intervals"] == "bootstrap")


def test_the_methods_page_describes_both_methods(client, both):
    client.force_login(factories.user(admin=True))
    page = client.get(reverse("methods")).content.decode()
    for name in METRICS:
        assert f"<dd>{registry.describe_interval(registry.get(name))}</dd>" in page


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"intervals": "none", "resamples": 0}, "no intervals"),
        ({"intervals": "bootstrap", "resamples": 1000}, "95 % bootstrap intervals, 1,000 resamples, seed 3"),
        (
            {"intervals": "clustered", "resamples": 0},
            "95 % intervals from clustered standard errors of images and annotators",
        ),
    ],
)
def test_a_figure_says_how_its_intervals_were_computed(both, fields, words):
    assert registry.describe_method(ScoreRun(metric="tendency", seed=3, **fields)) == words


def test_the_registry_describes_both_methods(both):
    drawn = "two-way cluster bootstrap over images and annotators"
    assert registry.describe_interval(registry.get("tendency")) == (
        f"95 %, clustered by images and annotators; or {drawn}"
    )
    assert registry.describe_interval(registry.get("likelihood")) == f"95 %, {drawn}"
    assert registry.describe_interval(registry.get("salience_seegull")) is None
    assert f"- interval: 95 %, clustered by images and annotators; or {drawn}\n" in registry.as_markdown()
