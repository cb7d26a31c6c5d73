"""What says how intervals were computed: commands, pages, figures and the registry."""

import importlib
import io
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotation.models import Study
from metrics.models import ScoreRun
from metrics.score_runs import registry
from tests import factories
from tests.metrics.cast import depiction_study
from tests.metrics.score_runs.interval_kinds import DRAWN, METRICS, both_kinds, computed, replaced

pytestmark = pytest.mark.django_db


@pytest.fixture
def both(monkeypatch, settings):
    both_kinds(monkeypatch, settings)


@pytest.fixture
def study(both):
    return depiction_study(name="hats")


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
