"""The API with which leads see and plan the judges of a study."""

from __future__ import annotations

import pytest

from annotation.models import Image, Option, Purpose, Study, Task, TaskKind, Unit
from generation.models import Run, RunState
from generation.plans.errors import PlanRefused
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from metrics.machine_judges.planning import Choice, languages_of, plan_judge
from tests import factories
from tests.annotation.api.calls import Program
from tests.metrics import cast
from tests.metrics.machine_judges.judged import judge, name_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def maker():
    return factories.user("maker", lead=True)


def words(*leads) -> Study:
    return factories.rating_study(name="words", leads=leads)


def test_every_setting_comes_into_the_plan(maker):
    study = cast.depiction_study(name="hats", leads=[maker])
    study.tasks.get().units.first().image.image_set.images.update(file="made-up.png", sha256="0" * 64)
    study.tasks.update(image_set=factories.image_set())
    task = study.tasks.get()
    text = {"wording": "¿Se ve [attr]?", "instructions": "Mira."}
    task.translations = {"es": text}
    task.save()
    other = "Which of these do you see?" + "".join(
        f" {place}" for place in ("[attr]", "[id]") if place in task.wording
    )
    body = {
        "task": "depiction",
        "backend": "fake",
        "boxes": "thousandths",
        "again": 2,
        "wording": other,
        "languages": ["es"],
        "seed": 7,
        "times": 3,
        "temperature": 0.5,
        "name": "all",
        "options": {},
        "stop": ["END"],
        "token_limit": 100_000,
    }
    answer = Program(maker).post("studies/hats/judges", body)
    assert answer.status_code == 201, answer.text
    run = Run.objects.get()
    design = run.recipe["design"]
    assert {name: design[name] for name in ("boxes", "again", "wording", "languages", "seed")} == {
        "boxes": "thousandths",
        "again": 2,
        "wording": other,
        "languages": ["es"],
        "seed": 7,
    }
    assert (run.recipe["seed"], run.recipe["times"], run.recipe["temperature"]) == (7, 3, 0.5)
    assert (run.recipe["stop"], run.limits) == (["END"], {"tokens": 100_000})
    assert (run.kind, run.image_set) == ("descriptions", task.image_set)


def test_the_api_lists_and_plans(maker):
    lead = factories.user("lead")
    study = words(maker, lead)
    program = Program(maker)
    body = {"task": "visual_nature", "backend": "fake", "name": "by-program", "again": 1}
    preview = program.post("studies/words/judges?dry_run=true", body)
    items = study.tasks.get().units.count()
    assert (preview.status_code, preview.json()["added"]) == (200, items + 1)
    assert not Run.objects.exists()
    assert program.post("studies/words/judges", body).status_code == 201
    again = program.post("studies/words/judges", body).json()
    assert (again["added"], Run.objects.count()) == (0, 1)
    assert Run.objects.get().state == RunState.PLANNED
    judge(study, TaskKind.VISUAL_NATURE, lambda *_: 5, name="answered")
    [newest, oldest] = Program(lead).get("studies/words/judges").json()["results"]
    assert (newest["name"], oldest["name"]) == ("answered", "by-program")
    assert oldest["variants"] == ["base", "order"]
    assert (oldest["task"], oldest["boxes"], oldest["again"], oldest["cost"]) == (
        "visual_nature",
        "none",
        1,
        None,
    )
    assert (newest["jobs"]["done"], newest["tokens_in"], newest["seconds"]) == (items, 100 * items, items / 2)
    assert newest["simulated"] is True
    running = program.get("studies/words/judges?state=done&task=visual_nature").json()["results"]
    assert [one["name"] for one in running] == ["answered"]
    assert program.get("studies/words/judges?task=depiction").json()["results"] == []
    first = program.get("studies/words/judges?limit=1").json()
    following = program.get(first["next"].partition("/api/v1/")[2]).json()
    assert [one["name"] for one in following["results"]] == ["by-program"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"task": "depiction"}, "task"),
        ({"wording": "Is it visible?", "again": 1}, "wording"),
        ({"cost_limit": 5}, "cost_limit"),
        ({"backend": "none"}, "backend"),
    ],
)
def test_the_api_refuses_what_the_page_refuses(maker, change, field):
    words(maker)
    body = {"task": "visual_nature", "backend": "fake", **change}
    answer = Program(maker).post("studies/words/judges", body)
    assert answer.status_code == 422
    assert [one["pointer"] for one in answer.json()["errors"]] == [f"/{field}"]


@pytest.mark.parametrize("backend", ["blip", "brightness"])
def test_what_cannot_answer_in_the_form_is_no_judge(maker, backend):
    study = cast.depiction_study(name="hats", leads=[maker])
    name_files(study)
    body = {"task": "depiction", "backend": backend}
    answer = Program(maker).post("studies/hats/judges", body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/backend")
    choice = Choice(study=study, task="depiction")
    with pytest.raises(PlanRefused, match="fake, openai, transformers") as refused:
        plan_judge(recipe=DescriptionRecipe(backend=backend), choice=choice)
    assert refused.value.field == "backend"
    assert not Run.objects.exists()


@pytest.mark.parametrize(("model", "named"), [("owner/My_model", "owner-my-model"), ("", "fake")])
def test_a_judge_is_named_after_its_study_its_task_and_its_model(maker, model, named):
    choice = Choice(study=words(maker), task="visual_nature")
    plan = plan_judge(recipe=CompletionRecipe(backend="fake", model=model), choice=choice)
    assert plan.name.startswith(f"words-visual-nature-{named}-")


@pytest.mark.parametrize(
    "change", [{"boxes": "pixels"}, {"languages": ["fr"]}, {"again": 1, "languages": ["xx"]}]
)
def test_what_the_form_of_a_study_does_not_offer_is_not_ignored(maker, change):
    words(maker)
    answer = Program(maker).post(
        "studies/words/judges", {"task": "visual_nature", "backend": "fake", **change}
    )
    assert answer.status_code == 422
    assert not Run.objects.exists()


def test_a_judge_can_be_asked_in_other_languages_of_the_program_that_the_wording_is_in():
    of_study = {code: {"wording": "¿[attr]?"} for code in ("es", "en", "ar", "xx")}
    assert languages_of(Task(wording="Is it [attr]?", translations=of_study)) == ["ar", "es"]
    assert languages_of(Task(wording="Is it [attr]?", translations={"es": {"instructions": "Mira."}})) == []


def test_a_judge_is_asked_about_the_data_of_the_newest_version(maker):
    study = words(maker)
    newest = factories.task(study, kind=TaskKind.VISUAL_NATURE, version=2)
    factories.attribute_unit(newest, "scarf")
    factories.attribute_unit(newest, "crown", purpose=Purpose.GOLD)
    plan = plan_judge(recipe=CompletionRecipe(backend="fake"), choice=Choice(study=study, task=newest.kind))
    assert [asking.key for asking in plan.askings] == ["1.base"]


def test_a_page_of_one_attribute_has_no_other_order(maker):
    study = cast.depiction_study(name="hats", leads=[maker])
    factories.page_unit(study.tasks.get(), picture=factories.image(index=9), texts=["hat"])
    name_files(study)
    choice = Choice(study=study, task="depiction", again=5)
    plan = plan_judge(recipe=DescriptionRecipe(backend="fake"), choice=choice)
    assert plan.total == 5 + 4
    for asking in plan.askings:
        image = Image.objects.get(pk=asking.image_id)
        assert (asking.group_id, asking.attribute_id) == (image.group_id, None)


COMPLETIONS = CompletionRecipe(backend="fake")


@pytest.mark.parametrize(
    ("recipe", "choice", "said"),
    [
        (COMPLETIONS, {"boxes": "miles"}, "choose one of none, pixels, thousandths"),
        (COMPLETIONS, {"boxes": "pixels"}, "so it has no boxes"),
        (COMPLETIONS, {"languages": ("es",)}, "are for items that are asked about again"),
        (COMPLETIONS, {"again": 1, "wording": "Can [id] be [attr]?"}, "must have the same places"),
        (COMPLETIONS, {"again": 1, "languages": ("es",)}, "cannot be asked in: es. It can in: no other"),
        (DescriptionRecipe(backend="fake"), {}, "Ask a language model: plan completions"),
        (COMPLETIONS, {"task": "depiction"}, "It has: none yet"),
    ],
)
def test_a_plan_that_cannot_be_says_why(recipe, choice, said):
    study = factories.study("words")
    if "task" not in choice:
        factories.attribute_unit(factories.task(study, wording="Can [attr] be seen?"), "hat")
    with pytest.raises(PlanRefused) as refused:
        plan_judge(recipe=recipe, choice=Choice(**{"study": study, "task": "visual_nature", **choice}))
    assert said in str(refused.value)


@pytest.mark.parametrize(("times", "temperature", "said"), [(1, 0.0, False), (2, 0.0, True), (2, 0.5, False)])
def test_many_answers_at_temperature_0_are_said_to_be_one(maker, times, temperature, said):
    recipe = CompletionRecipe(backend="fake", times=times, temperature=temperature)
    choice = Choice(study=words(maker), task="visual_nature", again=1, wording=" ")
    plan = plan_judge(recipe=recipe, choice=choice)
    assert any("always gives the same answer" in note for note in plan.notes) == said


def test_an_asking_is_of_the_group_and_the_attribute_of_its_item(maker):
    study = factories.study("pairs", leads=[maker])
    task = factories.task(study, kind=TaskKind.PREVALENCE, wording="[id] are [attr].")
    of = factories.association(text="hat")
    unit = Unit.objects.create(task=task, position=1, association=of)
    Option.objects.create(unit=unit, attribute=of.attribute, position=1)
    task.translations = {"es": {"wording": "¿[id] son [attr]?"}}
    task.save()
    recipe = CompletionRecipe(backend="fake")
    choice = Choice(
        study=study, task=task.kind, again=1, wording=" Do [id] wear a [attr]?", languages=("es", "es")
    )
    asking, _order, wording, spanish = plan_judge(recipe=recipe, choice=choice).askings
    assert "Mexican are hat." in asking.prompt
    assert "Do Mexican wear a hat?" in wording.prompt
    assert "¿Mexican son hat?" in spanish.prompt
    assert (asking.group_id, asking.attribute_id, asking.image_id) == (of.group_id, of.attribute_id, None)


def test_images_without_a_file_are_counted_once_and_only_those_of_data(maker):
    study = cast.depiction_study(name="hats", leads=[maker])
    name_files(study)
    absent, of_gold = factories.image(index=8), factories.image(index=9)
    for page in (1, 2):
        factories.page_unit(study.tasks.get(), picture=absent, page=page)
    gold = factories.page_unit(study.tasks.get(), picture=of_gold)
    Unit.objects.filter(pk=gold.pk).update(purpose=Purpose.GOLD)
    choice = Choice(study=study, task="depiction")
    plan = plan_judge(recipe=DescriptionRecipe(backend="fake"), choice=choice)
    assert plan.total == 4
    assert next(note for note in plan.notes if "without a file" in note).endswith("left out: 1.")
