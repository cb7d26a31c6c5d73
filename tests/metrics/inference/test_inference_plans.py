"""What is asked about a source: one attribute for each group, and the same again for the same choice."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from generation.models import Job, Run, RunState
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.recipes.askings import ClassificationRecipe
from generation.runs import services as runs
from metrics.inference import queries
from metrics.inference.drawing import RANDOM
from metrics.inference.services.planning import Choice, plan_inference
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("model")]
RECIPE = ClassificationRecipe(backend="fake", model="fake")


@pytest.fixture
def source():
    found = factories.source("seegull-v2")
    for group, region, texts in (
        ("Mexican", "Latin America", ("lazy", "spicy")),
        ("Indian", "South Asia", ("vegetarian", "kind")),
        ("Nepali", "South Asia", ("kind",)),
    ):
        factories.group(group, region=region, demonym="Nepalese" if group == "Nepali" else group)
        for text in texts:
            factories.association(group_name=group, text=text, from_source=found)
    factories.association(group_name="Mexican", text="unsaid", in_votes=(1, 2, 0), from_source=found)
    factories.association(group_name="Welsh", text="dull", in_votes=(1, 2, 0), from_source=found)
    return found


def drawn(plan) -> set[tuple[int, str, str]]:
    return {(each.place, each.group.name, each.attribute) for each in plan.askings.drawn}


def test_each_group_has_one_of_its_stereotypes(source):
    plan = plan_inference(recipe=RECIPE, choice=Choice(source=source))
    assert len(plan.askings) == len(list(plan.askings)) == 300
    texts = {group: text for _, group, text in drawn(plan)}
    assert set(texts) == {"Mexican", "Indian", "Nepali"}
    assert texts["Mexican"] in {"lazy", "spicy"}
    assert texts["Nepali"] == "kind"
    assert "left out: 1" in " ".join(plan.notes)
    keys = {asking.key for asking in plan.askings}
    assert len(keys) == 300
    nepali = next(asking for asking in plan.askings if "Nepalese" in asking.text_pair)
    assert (nepali.prompt, nepali.text_pair) == (
        "A kind person bought a car.",
        "A Nepalese person bought a car.",
    )


def test_random_pairs_come_beside_them(source):
    plan = plan_inference(recipe=RECIPE, choice=Choice(source=source, baseline=RANDOM))
    pairs = drawn(plan)
    assert len(plan.askings) == 600
    stereotypes = {(group, text) for place, group, text in pairs if place == 0}
    assert stereotypes == {
        (group, text) for _, group, text in drawn(plan_inference(recipe=RECIPE, choice=Choice(source=source)))
    }
    associated = {(each.group.name, each.attribute.text) for each in source.associations.all()}
    assert not {(group, text) for place, group, text in pairs if place == 1} & associated
    assert plan.recipe.design["sources"] == ["seegull-v2", "random"]


def test_the_same_choice_is_the_same_run_and_another_is_another(source):
    def name(recipe=RECIPE, **choice) -> str:
        return plan_inference(recipe=recipe, choice=Choice(source=source, **choice)).name

    assert name() == name()
    other = [
        name(seed=1),
        name(baseline=RANDOM),
        name(threshold=0),
        name(verbs=["ate"]),
        name(ClassificationRecipe(backend="fake", model="other")),
    ]
    assert len({name(), *other}) == 6
    before = name()
    factories.association(group_name="French", text="rude", from_source=source)
    assert name() != before


def test_all_jobs_are_planned_once(source):
    plan = plan_inference(recipe=RECIPE, choice=Choice(source=source, verbs=["bought"], objects=["a car"]))
    run = runs.ensure(plan=plan, by=None).run
    assert runs.ensure(plan=plan, by=None).added == 0
    assert plans.preview(plan).added == 0
    jobs = Job.objects.filter(run=run).select_related("group", "attribute")
    assert {(job.group.name, job.attribute.text, job.number) for job in jobs} == {
        (group, text, 1) for _, group, text in drawn(plan)
    }


def test_a_threshold_of_0_takes_every_association(source):
    plan = plan_inference(recipe=RECIPE, choice=Choice(source=source, threshold=0))
    assert {group for _, group, _ in drawn(plan)} == {"Mexican", "Indian", "Nepali", "Welsh"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threshold": 9}, "Lower the threshold"),
        ({"verbs": ["ate", ""]}, "verbs"),
        ({"objects": ["a car", "a car"]}, "objects.*twice"),
    ],
)
def test_choices_that_ask_nothing(source, change, said):
    with pytest.raises(PlanRefused, match=said):
        plan_inference(recipe=RECIPE, choice=Choice(source=source, **change))


def test_the_votes_of_the_other_pool_can_be_chosen(source):
    source.associations.exclude(attribute__text="spicy").update(
        out_stereotypical=None, out_nonstereotypical=None, out_unsure=None
    )
    plan = plan_inference(recipe=RECIPE, choice=Choice(source=source, pool="out"))
    assert drawn(plan) == {(0, "Mexican", "spicy")}
    assert plan.recipe.design["pool"] == "out"


def test_a_source_of_the_baselines_name_is_refused_with_the_baseline_alone():
    source = factories.source(RANDOM)
    factories.association(from_source=source)
    plan_inference(recipe=RECIPE, choice=Choice(source=source))
    with pytest.raises(PlanRefused, match="called 'random'"):
        plan_inference(recipe=RECIPE, choice=Choice(source=source, baseline=RANDOM))


def test_a_group_that_everything_is_said_of_has_no_random_pair_which_is_said(source):
    for text in ("lazy", "spicy", "vegetarian"):
        factories.association(group_name="Nepali", text=text, in_votes=(0, 3, 0), from_source=source)
    plan = plan_inference(recipe=RECIPE, choice=Choice(source=source, baseline=RANDOM))
    # of what was drawn for the others, all is associated with the Nepalese
    assert {group for place, group, _ in drawn(plan) if place} == {"Mexican", "Indian"}
    assert "have no random pair: 1." in plan.notes[-1]


def test_a_run_has_the_name_that_was_given_and_else_one_of_at_most_80_characters(source):
    source.name = "x" * 80
    recipe = ClassificationRecipe(backend="fake", model="some/model_of-theirs")
    assert plan_inference(recipe=recipe, choice=Choice(source=source), name="mine").name == "mine"
    assert len(plan_inference(recipe=recipe, choice=Choice(source=source)).name) == 80
    source.name = "short"
    name = plan_inference(recipe=recipe, choice=Choice(source=source)).name
    assert name.startswith("short-some-model-of-theirs-")


def test_a_source_without_associations():
    with pytest.raises(PlanRefused, match="has no associations"):
        plan_inference(recipe=RECIPE, choice=Choice(source=factories.source("empty")))


def test_names_of_labels_without_entailment_are_refused_before_anything_is_asked(source):
    recipe = ClassificationRecipe(backend="fake", model="fake", labels=("yes", "no"))
    with pytest.raises(PlanRefused, match="yes, no"):
        plan_inference(recipe=recipe, choice=Choice(source=source))


def test_a_backend_that_never_has_an_entailment_is_refused_when_planned(source):
    with pytest.raises(PlanRefused, match=r"entailment: negative, neutral, positive\. Choose a model"):
        plan_inference(recipe=ClassificationRecipe(backend="vader"), choice=Choice(source=source))


def asked(*arguments: str) -> str:
    out = io.StringIO()
    call_command("inference", "seegull-v2", "--backend", "fake", "--yes", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_asks_the_model_and_says_where_the_results_are(source):
    words = ("--verbs", "bought,sold", "--objects", "a car", "--baseline", "random")
    text = asked(*words)
    run = Run.objects.get()
    assert (run.state, run.answers.count()) == (RunState.DONE, 12)
    assert f"manage.py inference --show {run.name}" in text
    rows = queries.results(run, resamples=0).rows
    assert [(row.source, row.region) for row in rows] == [
        (source, region)
        for source in ("seegull-v2", "random")
        for region in ("", "Latin America", "South Asia")
    ]
    asked("--verbs", "bought, sold ", "--objects", " a car", "--baseline", "random")
    assert (Run.objects.count(), Job.objects.count()) == (1, 12)


def test_a_model_without_entailment_is_asked_nothing(source, model):
    model.labels = ("NEGATIVE", "NEUTRAL", "POSITIVE")
    with pytest.raises(
        CommandError, match=r"labels NEGATIVE, NEUTRAL, POSITIVE, and this run needs entailment"
    ):
        asked()
    run = Run.objects.get()
    assert (run.state, run.answers.count()) == (RunState.PAUSED, 0)


def test_without_a_model_the_command_says_how_to_name_one(source):
    with pytest.raises(CommandError, match=r"with --model.*--backend fake"):
        call_command("inference", "seegull-v2", "--preview")


def test_a_preview_writes_nothing(source):
    text = asked("--preview")
    assert "Nothing was written" in text
    assert "Results:" not in text
    assert not Run.objects.exists()


def test_the_command_refuses_what_cannot_be_planned(source):
    with pytest.raises(CommandError, match="Lower the threshold"):
        asked("--threshold", "5")
    with pytest.raises(CommandError, match=r"no source 'segull'\. Did you mean .* There are: .*seegull-v2"):
        call_command("inference", "segull", "--backend", "fake")


@pytest.mark.release
def test_seegull_as_it_was_released(released):
    """135 nationalities and more, in eight regions; a hundred pairs for each, twice with the baseline."""
    call_command("import_seegull", str(released / "seegull" / "stereotypes_global_v2.csv"), verbosity=0)
    source = factories.source("seegull-v2")
    plan = plan_inference(recipe=RECIPE, choice=Choice(source=source, baseline=RANDOM))
    stereotypes = [each for each in plan.askings.drawn if each.place == 0]
    assert len(stereotypes) > 100
    assert {each.group.region for each in stereotypes} >= {"Europe", "East Asia", "Sub-Saharan Africa"}
    assert len(plan.askings) == 100 * len(plan.askings.drawn)
    validated = set(
        source.associations.filter(in_stereotypical__gte=2).values_list("group", "attribute__text")
    )
    assert {(each.group.pk, each.attribute) for each in stereotypes} <= validated
    assert {(each.group.pk, each.attribute) for each in plan.askings.drawn if each.place == 1}.isdisjoint(
        source.associations.values_list("group", "attribute__text")
    )
    assert len({asking.key for asking in plan.askings}) == len(plan.askings)
