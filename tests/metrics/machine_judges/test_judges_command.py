"""manage.py judges."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command

from annotation.models import TaskKind
from generation.models import Run, RunState
from generation.plans.errors import PlanRefused
from metrics.machine_judges.scores.metric import JUDGE, SOURCE, describe_judge, judge_fingerprint, judge_of
from metrics.score_runs import registry
from metrics.score_runs.metric import Metric
from metrics.score_runs.rows import ScoreRow
from tests import factories
from tests.metrics.machine_judges.judged import judge

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.rating_study(name="words")


def said(*arguments: str) -> str:
    out = io.StringIO()
    call_command("judges", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def plan(*arguments: str) -> str:
    return said("plan", "words", "visual_nature", "--backend", "fake", "--again", "1", *arguments)


def test_a_preview_writes_nothing_and_a_start_asks_everything(study):
    items = study.tasks.get().units.count()
    text = plan("--preview", "--price-in", "1", "--price-out", "2")
    assert "Nothing was written." in text
    assert not Run.objects.exists()
    text = plan("--name", "mine", "--times", "2", "--temperature", "0.5", "--seed", "3", "--now", "--yes")
    run = Run.objects.get()
    assert "Results: manage.py judges results words mine" in text
    assert (run.state, run.answers.count()) == (RunState.DONE, 2 * (items + 1))
    assert (run.recipe["temperature"], run.recipe["max_tokens"], run.recipe["seed"]) == (0.5, 400, 3)
    assert (run.recipe["design"]["seed"], run.recipe["design"]["again"]) == (3, 1)


def test_what_is_given_goes_into_the_plan(study, monkeypatch):
    seen = {}

    def refuse(**given):
        seen.update(given)
        raise PlanRefused("not now")

    monkeypatch.setattr("metrics.management.commands.judges.plan_judge", refuse)
    with pytest.raises(CommandError, match="not now"):
        plan("--max-tokens", "7", "--wording", "So?", "--boxes", "pixels", "--language", "es", "--name", "x")
    choice = seen["choice"]
    assert (choice.wording, choice.boxes, choice.languages, choice.again) == ("So?", "pixels", ["es"], 1)
    assert (seen["recipe"].max_tokens, seen["name"]) == (7, "x")


def test_the_list_is_a_table_csv_or_json(study):
    assert "no machine judge yet. Plan one" in said("list", "words")
    judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name="first", again=1)
    items = study.tasks.get().units.count() + 1
    assert "first" in said("list", "words")
    [row] = csv.DictReader(io.StringIO(said("list", "words", "--format", "csv")))
    assert (row["name"], row["task"], row["state"], row["done"], row["cost"]) == (
        *("first", "visual_nature", "done", str(items), ""),
    )
    [found] = json.loads(said("list", "words", "--format", "json"))["rows"]
    assert (found["variants"], found["tokens_out"], found["seconds"]) == (
        *("base order", 10 * items, items / 2),
    )


@pytest.fixture
def counted(monkeypatch):
    """A metric of judges: how many answers there are."""

    def compute(inputs):
        judge = judge_of(inputs.study, inputs.parameters)
        return [ScoreRow("counted", 0.25, judge.readings.asked["base"], part=f"seed: {inputs.seed}")]

    made = Metric(
        name="counted",
        version=1,
        title="Counted",
        unit="answers",
        direction="more",
        definition="How many answers.",
        names=(("counted", "answers"),),
        section="§16",
        compute=compute,
        rule=describe_judge,
        fingerprint=judge_fingerprint,
        source=SOURCE,
        parameters=(JUDGE,),
    )
    monkeypatch.setitem(registry._registered, made.name, made)


@pytest.mark.usefixtures("counted")
def test_results_are_those_of_the_judge_that_is_named(study):
    judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name="first")
    run = judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name="second", times=2, temperature=1.0)
    items = study.tasks.get().units.count()
    for name, number in (("first", items), ("second", 2 * items), (str(run.pk), 2 * items)):
        text = said("results", "words", name, "--metric", "counted")
        assert re.search(rf"^–? *.*counted +{number} ", text, re.MULTILINE), text
        assert "SIMULATED" in text
        assert f"machine judge {run.name if number > items else 'first'}" in text
    printed, aside = io.StringIO(), io.StringIO()
    call_command(
        *("judges", "results", "words", "first", "--metric", "counted", "--format", "csv"),
        *("--intervals", "bootstrap", "--resamples", "100", "--seed", "7"),
        stdout=printed,
        stderr=aside,
    )
    [row] = csv.DictReader(io.StringIO(printed.getvalue()))
    assert (row["score"], row["n"], row["part"]) == ("counted", str(items), "seed: 7")
    assert "SIMULATED" in aside.getvalue()


@pytest.mark.usefixtures("counted")
def test_only_metrics_of_judges_have_results(study):
    judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name="first")
    for metric in ("visual_nature", "nonsense"):
        with pytest.raises(CommandError, match="counted"):
            said("results", "words", "first", "--metric", metric)
    with pytest.raises(CommandError, match="no parameter 'jugde'"):
        said("results", "words", "first", "--metric", "counted", "--set", "jugde=second")


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (("plan", "word", "visual_nature"), "Did you mean 'words'"),
        (("plan", "words", "depiction", "--backend", "fake"), "It has: visual_nature"),
        (("plan", "words", "visual_nature", "--backend", "fake", "--again", "-1"), "0 or more"),
        (("plan", "words", "visual_nature", "--backend", "fake", "--cost-limit", "1"), "both prices"),
        (("plan", "words", "visual_nature", "--backend", "fake", "--language", "fr"), "It can in: ar, es"),
        (("results", "words", "none"), "plan one: manage.py judges plan words"),
        (("list", "word"), "Did you mean 'words'"),
    ],
)
def test_what_is_wrong_is_said_with_a_cure(study, arguments, cure):
    with pytest.raises(CommandError, match=cure):
        said(*arguments)
    assert not Run.objects.exists()


def test_answers_are_printed_as_the_page_has_them(study):
    run = judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name="first")
    lines = said("answers", "words", "first").splitlines()
    assert lines[0].startswith("judge,study,task,unit,")
    assert len(lines) == 1 + study.tasks.get().units.count()
    assert all(line.startswith("first,words,visual_nature,") for line in lines[1:])
    run.delete()
    with pytest.raises(CommandError, match="first"):
        said("answers", "words", "first")
