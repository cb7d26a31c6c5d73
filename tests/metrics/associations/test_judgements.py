"""Judgements by classifiers and models: what is planned, from the plan to the rows, and what is refused."""

from __future__ import annotations

import pytest

from annotation.core.leases import JobState
from generation.models import Answer, Run, RunState
from generation.plans.errors import PlanRefused
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe
from generation.runs import services as runs
from metrics.associations.judgements import judged, judgements_digest, judging_run, plan_judgements
from metrics.associations.labels import LabelsRefused
from metrics.associations.services import judging as judging_services
from metrics.associations.services import lists
from metrics.associations.services.judging import apply
from tests.generation.image_sets import world
from tests.metrics.associations import answered
from tests.metrics.associations.judged import a_list, group, judging, pair

pytestmark = pytest.mark.django_db
VADER = ClassificationRecipe(backend="vader")
LABELS = ("negative", "neutral", "positive")


@pytest.fixture
def found():
    group("old", singular="old person", plural="old people", article="an")
    return a_list()


def said(row) -> tuple:
    row.refresh_from_db()
    return row.negative, row.toxic, row.model_level


def test_from_the_plan_to_the_rows_with_a_lexicon(found):
    ugly = pair(found, "old", "horrible")
    twice = pair(found, "Old", "horrible", axis="disability", setting="t2t-plural")
    kind = pair(found, "old", "kind", significant=True, significant_corrected=False)
    not_significant = pair(found, "old", "awful", significant_corrected=False)
    plan = plan_judgements(found, "sentiment", VADER)
    assert [asking.prompt for asking in plan.askings] == [
        *("An old person is horrible", "Old people are horrible", "An old person is kind")
    ]
    asking = next(iter(plan.askings))
    assert (asking.key, asking.group_id) == (f"t2t-singular/{ugly.group_id}/horrible", ugly.group_id)
    assert plan.recipe.model == "vader"
    assert {"purpose": "association judgements", "what": "sentiment", "run": "asked"}.items() <= (
        plan.recipe.design.items()
    )
    assert len(plan_judgements(found, "sentiment", VADER, all_pairs=True).askings) == 4
    assert judgements_digest(found.run) == ""
    group("wealthy", demonym=" ")
    pair(found, "wealthy", "mean")
    assert [*plan_judgements(found, "sentiment", VADER).askings][-1].prompt == "A wealthy person is mean"
    run = world.made(runs.ensure(plan=plan, by=None).run)
    assert run.state == RunState.DONE, run.error
    apply(found)
    assert [said(row)[0] for row in (ugly, twice, kind, not_significant)] == [True, True, False, None]


def test_the_newest_run_with_answers_counts_and_an_old_answer_goes(found):
    first, second = pair(found, "old", "slow"), pair(found, "old", "wise")
    judging(found, "toxicity", [(first, "toxic"), (second, "neutral")], labels=("neutral", "toxic"))
    before = judgements_digest(found.run)
    apply(found)
    assert [said(row)[1] for row in (first, second)] == [True, False]
    newer = judging(found, "toxicity", [(first, "LABEL")], labels=("non-toxic", "LABEL"), name="newer")
    with pytest.raises(LabelsRefused, match=r"Run newer: .* means toxic: LABEL, non-toxic"):
        apply(found)
    newer.answers.update(text="Toxicity", probabilities={"Toxicity": 0.9, "Other": 0.1})
    assert judgements_digest(found.run) != before
    apply(found)
    assert [said(row)[1] for row in (first, second)] == [True, None]
    newer.answers.all().delete()
    assert judgements_digest(found.run) == before


def test_only_runs_that_were_started_count_and_only_for_what_they_were_asked(found):
    row = pair(found, "old", "slow")
    asked = judging(found, "toxicity", [(row, "toxic")])
    judging(found, "sentiment", [(row, "negative")])
    judging(a_list("other"), "toxicity", [(row, "toxic")])
    cancelled = judging(found, "toxicity", [(row, "toxic")], name="cancelled")
    Run.objects.filter(pk=cancelled.pk).update(state=RunState.CANCELLED)
    odd = judging(found, "toxicity", [(row, "toxic")], name="odd")
    odd.recipe["design"]["purpose"] = "associations"
    odd.save()
    assert judging_run(found.run, "toxicity") == asked
    for state in (RunState.RUNNING, RunState.PAUSED):
        Run.objects.filter(pk=asked.pk).update(state=state)
        assert judging_run(found.run, "toxicity") == asked


def test_what_no_run_says_any_more_goes_from_pairs_that_are_not_significant_too(found):
    before = ({"negative": True}, {"toxic": False}, {"model_level": 2.0})
    rows = [
        pair(found, "old", f"word {number}", significant_corrected=False, **each)
        for number, each in enumerate(before)
    ]
    other = pair(a_list("other"), "old", "word", negative=True)
    apply(found)
    assert [said(row) for row in (*rows, other)] == [(None, None, None)] * 3 + [(True, None, None)]


def test_a_level_is_the_mean_of_what_could_be_read(found):
    row, silent = pair(found, "old", "slow"), pair(found, "old", "wise")
    run = judging(found, "level", [(row, "4"), (row, "Level 3."), (row, "no idea"), (silent, "I refuse.")])
    apply(found)
    assert said(row) == (None, None, 3.5)
    assert said(silent) == (None, None, None)
    run.jobs.filter(key__endswith="wise").update(state=JobState.PENDING, finished_at=None)
    counted = judged(found.run, "level")
    assert (counted.run, counted.asked, counted.answered, counted.unparsed) == (run, 4, 3, 2)
    digests = [judgements_digest(found.run)]
    first = run.answers.order_by("pk").first().job
    first.answer.delete()
    digests.append(judgements_digest(found.run))
    first.pk, first.number = None, 9
    first.save()
    Answer.objects.create(job=first, run=run, text="5")
    digests.append(judgements_digest(found.run))
    assert len(set(digests)) == 3
    Answer.objects.all().delete()
    apply(found)
    assert said(row)[2] is None


def test_what_was_said_makes_a_list_old_and_is_stored_when_it_is_found_again(monkeypatch):
    old = group("old", singular="old person", plural="old people", article="an")
    run = answered.run([(old, f"t2t-{setting}/1/k", 1, "[kind]") for setting in ("singular", "noun")])
    made = answered.found(run)
    row = made.associations.get(setting="t2t-noun")
    judging(made, "sentiment", [(row, "negative")], labels=LABELS, pairs="all")
    assert lists.is_stale(made)
    applied = []
    monkeypatch.setattr(judging_services, "apply", applied.append)
    assert applied == [answered.found(run)]
    assert made.associations.count() == 2


def test_runs_about_all_pairs_fill_the_others_too_and_batches_end(found, monkeypatch):
    monkeypatch.setattr("metrics.associations.services.judging._AT_ONCE", 2)
    rows = [pair(found, "old", f"word {number}", significant_corrected=False) for number in range(5)]
    judging(found, "sentiment", [(row, "negative") for row in rows], labels=LABELS, pairs="all")
    other = pair(a_list("other"), "old", "word 0")
    apply(found)
    assert all(said(row)[0] for row in rows)
    assert said(other)[0] is None


def test_the_prompt_of_a_level_holds_the_sentence_and_is_part_of_the_recipe(found):
    pair(found, "old", "slow")
    recipe = CompletionRecipe(backend="fake")
    plan = plan_judgements(found, "level", recipe, prompt="Rate: {sentence}!", name="mine")
    assert [asking.prompt for asking in plan.askings] == ["Rate: An old person is slow!"]
    assert plan.name == "mine"
    assert plan.recipe_hash != plan_judgements(found, "level", recipe, name="mine").recipe_hash
    assert "An old person is slow" in next(iter(plan_judgements(found, "level", recipe).askings)).prompt


@pytest.mark.parametrize(
    ("what", "recipe", "more", "refused"),
    [
        ("mood", VADER, {}, "Choose one of: sentiment, toxicity, level"),
        ("toxicity", VADER, {}, "knows sentiment only"),
        ("level", VADER, {}, "asked of a language model"),
        ("sentiment", CompletionRecipe(backend="fake"), {}, "asked of a classifier"),
        ("level", CompletionRecipe(backend="fake"), {"prompt": "Hm?"}, "does not hold {sentence}"),
        (
            "sentiment",
            ClassificationRecipe(model="m", labels=("good", "bad")),
            {},
            "means negative: bad, good",
        ),
        ("sentiment", ClassificationRecipe(backend="nobody"), {}, "no backend 'nobody'"),
    ],
)
def test_a_plan_that_is_refused_says_why(found, what, recipe, more, refused):
    pair(found, "old", "slow")
    with pytest.raises(PlanRefused, match=refused):
        plan_judgements(found, what, recipe, **more)


def test_nothing_is_planned_without_significant_pairs_or_before_they_are_found(found):
    pair(found, "old", "slow", significant_corrected=False)
    with pytest.raises(PlanRefused, match="no significant pair"):
        plan_judgements(found, "sentiment", VADER)
    found.state = JobState.PENDING
    with pytest.raises(PlanRefused, match="not found yet"):
        plan_judgements(found, "sentiment", VADER, all_pairs=True)
