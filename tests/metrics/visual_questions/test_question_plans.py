"""What is planned for questions about a set, and that the fake answers it."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from django.core.management import CommandError, call_command
from PIL import Image as Pictures

from generation.backends.base import Question as Asked
from generation.backends.describe_fake import load
from generation.models import Answer, Run
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.recipes.askings import DescriptionRecipe
from generation.runs.named import find_run
from metrics.visual_questions.data import question_runs
from metrics.visual_questions.services import plan_questions
from tests import factories
from tests.generation.image_sets import world
from tests.metrics.visual_questions.asked import AMERICAN, COUNTRY

RECIPE = DescriptionRecipe(backend="fake", model="fake", temperature=0.0)


@pytest.fixture(scope="module")
def made(once):
    return once(lambda: world.made(world.pictures("Asian", "White")).image_set)


@pytest.fixture
def image_set(db, made, tmp_path):
    return made.copied(tmp_path)


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("visual_questions", *arguments, stdout=out)
    return out.getvalue()


def test_every_question_is_asked_about_every_image_with_a_file(image_set):
    factories.image(image_set=image_set, group_name="Asian", index=99)
    plan = plan_questions(recipe=RECIPE, image_set=image_set, questions=[AMERICAN, COUNTRY])
    images = image_set.images.exclude(file="").order_by("pk")
    asked = list(plan.askings)
    assert len(plan.askings) == len(asked) == 2 * images.count()
    assert [(one.image_id, one.prompt) for one in asked[:3]] == [
        (images[0].pk, AMERICAN.text),
        (images[0].pk, COUNTRY.text),
        (images[1].pk, AMERICAN.text),
    ]
    assert plan.name.startswith(f"questions-{image_set.name}")
    assert {(one.prompt, one.image_id, one.group_id) for one in asked} == {
        (question.text, image.pk, image.group_id) for question in (AMERICAN, COUNTRY) for image in images
    }
    assert {one.key for one in asked} == {
        f"{place}.{image.group_id}.{image.pk}" for place in (0, 1) for image in images
    }
    assert plan.recipe.design == {
        "purpose": "visual_questions",
        "questions": [AMERICAN.as_design(), COUNTRY.as_design()],
    }
    assert ["1 image has no file" in note for note in plan.notes] == [True]
    again = plan_questions(recipe=RECIPE, image_set=image_set, questions=[AMERICAN, COUNTRY])
    other = plan_questions(recipe=RECIPE, image_set=image_set, questions=[AMERICAN], name="other")
    assert again.recipe_hash == plan.recipe_hash != other.recipe_hash


def test_a_plan_without_a_comparison_or_with_the_same_answers_says_so(db):
    image_set = world.made(world.pictures("Asian", image_set="one-group")).image_set
    recipe = DescriptionRecipe(backend="fake", model="fake", temperature=0.0, times=3)
    plan = plan_questions(recipe=recipe, image_set=image_set, questions=[AMERICAN])
    assert plans.preview(plan).total == 3 * image_set.images.count()
    said = " ".join(plan.notes)
    assert "nothing to compare" in said
    assert "always gives the same answer" in said
    plan = plan_questions(recipe=replace(recipe, temperature=0.5), image_set=image_set, questions=[AMERICAN])
    assert len(plan.notes) == 1


def test_a_set_without_files_and_another_recipe_are_refused(image_set):
    empty = factories.image(image_set=factories.image_set("empty")).image_set
    with pytest.raises(PlanRefused, match="no file here"):
        plan_questions(recipe=RECIPE, image_set=empty, questions=[AMERICAN])
    command(image_set.name, "--backend", "fake", "--name", "asked", "--yes")
    with pytest.raises(PlanRefused, match="already a run 'asked'"):
        plan_questions(recipe=RECIPE, image_set=image_set, questions=[AMERICAN], name="asked")


def test_from_the_command_to_the_numbers(image_set, tmp_path):
    path = tmp_path / "ours.toml"
    text = '[[question]]\nname = "tall"\ntext = "Is it tall?"\nanswers = ["yes", "no"]\n'
    path.write_text("\ufeff" + text, encoding="utf-8")  # as some editors write it
    chosen = (image_set.name, "--questions", str(path), "--backend", "fake", "--name", "tall")
    seen = command(*chosen, "--preview")
    assert "Nothing was written." in seen
    assert "Results:" not in seen
    assert not question_runs().exists()
    assert "--show tall" in command(*chosen, "--yes")
    run = Run.objects.get(name="tall")
    assert (run.recipe["temperature"], run.recipe["max_tokens"]) == (0, 20)
    assert set(Answer.objects.filter(run=run).values_list("text", flat=True)) <= {"yes", "no"}
    rows = [line.split(",") for line in command("--show", "tall", "--format", "csv").splitlines()]
    assert rows[0] == ["question", "group", "answer", "n", "k", "share", "low", "high"]
    of_group = image_set.images.filter(group__name="Asian").count()
    assert [row[:4] for row in rows[1:]] == [
        ["tall", group, answer, str(of_group)] for group in ("Asian", "White") for answer in ("yes", "no")
    ]
    for group in ("Asian", "White"):
        yes = Answer.objects.filter(run=run, job__image__group__name=group, text="yes").count()
        assert [int(row[4]) for row in rows if row[1:3] == [group, "yes"]] == [yes]
    summary = command("--show", str(run.pk), "--summary", "--format", "csv").splitlines()
    assert summary[0] == "question,groups,statistic,df,p_value,method"
    assert summary[1].startswith("tall,2,")
    assert command("--show", "tall").startswith("SIMULATED")
    found = json.loads(command("--show", "tall", "--format", "json"))
    assert (found["simulated"], found["intervals"]) == (True, "Wilson")
    by_image = "95 % intervals: clustered over images."
    assert by_image not in command("--show", "tall")
    Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "times": 2})
    assert by_image in command("--show", "tall")
    assert by_image not in command("--show", "tall", "--summary")
    assert json.loads(command("--show", "tall", "--format", "json"))["intervals"] == "clustered"


def test_the_command_says_what_is_wrong(image_set, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text('[[question]]\nname = "tall"\n')
    for arguments, said in (
        ((), "Name an image set"),
        ((image_set.name, "--show", "x"), "one of the two"),
        (("nothing",), "There is no study or image set 'nothing'"),
        (("--show", "nothing"), "There is no run 'nothing' of visual questions"),
        ((image_set.name, "--questions", str(path)), r"bad.toml: question 1 \('tall'\): text"),
        ((image_set.name, "--questions", str(tmp_path / "none")), "No such file"),
        ((image_set.name, "--backend", "fake", "--option", "bies=1"), "there is no 'bies'"),
    ):
        with pytest.raises(CommandError, match=said):
            command(*arguments)


def test_other_runs_of_descriptions_are_not_found(image_set):
    command(image_set.name, "--backend", "fake", "--name", "asked", "--yes")
    run = find_run(question_runs(), "asked")
    assert run is not None
    Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "design": {}})
    assert find_run(question_runs(), "asked") is None
    assert find_run(question_runs(), str(run.pk)) is None


class TestFake:
    @staticmethod
    def ask(prompt: str, brightness: int, *, bias: float, seed: int = 1, temperature: float = 1.0) -> str:
        recipe = DescriptionRecipe(backend="fake", temperature=temperature, options={"bias": bias})
        picture = Pictures.new("RGB", (4, 4), (brightness,) * 3)
        [reply] = load(recipe).answer([Asked(prompt=prompt, image=picture, seed=seed)])
        return reply.text

    def test_it_answers_questions_of_yes_or_no_by_brightness(self):
        for prompt in ("Is this person an American?", " does it? ", "Was\nit?"):
            assert self.ask(prompt, 250, bias=1.0) == "yes"
            assert self.ask(prompt, 100, bias=1.0) == "no"

    def test_without_bias_it_tosses_a_coin(self):
        said = [self.ask("Is it?", 250, bias=0.0, seed=seed) for seed in range(200)]
        assert 70 < said.count("yes") < 130
        assert said.count("yes") + said.count("no") == 200

    @pytest.mark.parametrize(
        "prompt", ["Who is it?", "Is it so. Describe it.", "Island?", "Describe: is it?"]
    )
    def test_it_describes_everything_else(self, prompt):
        assert self.ask(prompt, 250, bias=1.0).startswith("A bright picture")
