"""What people write as prompts, and the plan of a run that asks a model."""

from __future__ import annotations

import json

import pytest
from django.db import IntegrityError

from generation.models import Job, Run
from generation.plans import services as plans
from generation.plans.askings import AboutImages, Asking, PromptsRefused, read_prompts, shortened
from generation.plans.errors import PlanRefused
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.checks import RecipeRefused
from generation.recipes.limits import Limits
from generation.runs import services as runs
from tests import factories

RECIPE = CompletionRecipe(backend="fake", model="fake")


def asked(*prompts: str) -> list[Asking]:
    return read_prompts(prompts)


class TestReading:
    def test_a_prompt_a_line_without_empty_lines_and_repetitions(self):
        assert read_prompts(["\ufeffone", "", " two ", "one"]) == [Asking("one", "one"), Asking("two", "two")]

    def test_an_object_may_have_several_lines_a_second_text_and_a_key(self):
        line = json.dumps({"prompt": "a\nb", "text_pair": "c", "key": "k"})
        assert read_prompts([line]) == [Asking("k", "a\nb", "c")]

    def test_an_object_without_a_key_is_called_by_its_texts(self):
        lines = [json.dumps({"prompt": "a", "text_pair": "b", "key": " "}), json.dumps({"prompt": "a"})]
        assert read_prompts(lines) == [Asking("a || b", "a", "b"), Asking("a", "a")]

    def test_two_texts_are_told_apart_only_where_pairs_are_wanted(self):
        assert read_prompts(["a || b"], pairs=True) == [Asking("a || b", "a", "b")]
        assert read_prompts(["a  ||  b"], pairs=True) == [Asking("a  ||  b", "a", "b")]
        assert read_prompts(["a || b"]) == [Asking("a || b", "a || b")]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"prompt": "a"', "Line 2 begins with { but is not JSON"),
            ('{"prompt": ""}', "Line 2: prompt must be a text"),
            ('{"prompt": " "}', "Line 2: prompt must be a text"),
            ('{"text_pair": "a"}', "Line 2: prompt must be a text"),
            ('{"prompt": 3}', "Line 2: prompt must be a text"),
            ('{"prompt": "a", "seed": 3}', "Line 2: unknown field 'seed'"),
            ('{"prompt": "a", "e": 1, "d": 1, "c": 1, "b": 1}', "Line 2: unknown field 'b'"),
            ('{"prompt": "a", "key": "first"}', "Line 2: the key 'first' stands for another prompt"),
        ],
    )
    def test_a_line_that_cannot_be_read_is_named(self, line, message):
        with pytest.raises(PromptsRefused, match=message):
            read_prompts(["first", line])

    def test_keys_that_are_too_long_stay_different(self):
        one, two = shortened("x" * 300 + "1"), shortened("x" * 300 + "2")
        assert one != two
        assert len(one) == len(two) == 200
        assert shortened("x" * 200) == "x" * 200
        assert len(shortened("\ud800" * 300)) == 200

    def test_whatever_it_is_made_from_a_key_is_one_that_a_job_can_hold(self):
        long = "x" * 300
        found = read_prompts([long, json.dumps({"prompt": "a", "key": "k" + long})])
        found += AboutImages([Asking("k", "a"), Asking(long[:200], "b")], [5])
        assert [len(each.key) for each in found] == [200, 200, len("image 5: k"), 200]
        assert found[2] == Asking("image 5: k", "a", image_id=5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 2.5}, {"top_p": 0}, {"max_tokens": 0}, {"times": 0}, {"stop": ("",)},
        {"system": "Be brief.", "chat": False}, {"dtype": "int8"}, {"seed": -1},
    ],
)  # fmt: skip
def test_a_setting_out_of_its_range_is_refused_by_name(wrong):
    with pytest.raises(RecipeRefused, match=f"recipe: {next(iter(wrong))}: "):
        CompletionRecipe(**wrong)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"cost": 1}, "cost_limit"),
        ({"cost": 1, "price_in": 1}, "cost_limit"),
        ({"tokens": 0}, "token_limit"),
        ({"in_flight": 0}, "in_flight"),
        ({"price_in": -1}, "price_in"),
    ],
)
def test_limits_that_cannot_hold_are_refused(wrong, name):
    with pytest.raises(RecipeRefused, match=f"recipe: {name}: "):
        Limits(**wrong)


@pytest.mark.django_db
class TestPlan:
    def plan(self, *prompts, recipe=RECIPE, name="asked", **options):
        return plans.plan_askings(recipe=recipe, name=name, askings=asked(*prompts), **options)

    def test_the_same_plan_gives_the_same_run_and_adds_only_what_is_missing(self):
        first = runs.ensure(plan=self.plan("a", "b"), by=None)
        again = runs.ensure(plan=self.plan("a", "b", "c"), by=None)
        assert (first.added, again.added, again.total) == (2, 1, 3)
        assert first.run == again.run
        assert plans.preview(self.plan("b", "d")).added == 1

    def test_a_name_stands_for_one_recipe(self):
        runs.ensure(plan=self.plan("a"), by=None)
        other = CompletionRecipe(backend="fake", model="fake", temperature=1)
        with pytest.raises(PlanRefused, match=r"already a run 'asked'.*\(temperature 0\.5, not 1\)\."):
            self.plan("a", recipe=other)
        assert self.plan("a", recipe=other, name="other").recipe_hash != self.plan("a").recipe_hash

    def test_two_who_take_a_name_at_once_do_not_share_it(self):
        plan = self.plan("a")
        taken = CompletionRecipe(backend="fake", model="fake", temperature=1)
        runs.ensure(plan=self.plan("a", recipe=taken), by=None)
        with pytest.raises(PlanRefused, match="Choose another name"):
            runs.ensure(plan=plan, by=None)
        assert Run.objects.count() == 1

    @pytest.mark.parametrize("name", ["", "two words", "x" * 81, "ü"])
    def test_a_name_is_one_of_letters_and_digits(self, name):
        with pytest.raises(PlanRefused, match="The run '"):
            self.plan("a", name=name)

    def test_nothing_to_ask_is_refused(self):
        with pytest.raises(PlanRefused, match="nothing to ask"):
            self.plan()

    def test_a_cancelled_run_brings_back_what_was_not_asked(self):
        run = runs.ensure(plan=self.plan("a", "b"), by=None).run
        runs.cancel(run=run, by=None)
        assert not run.jobs.exists()
        assert runs.ensure(plan=self.plan("a", "b"), by=None).added == 2

    def test_a_run_that_asked_nothing_is_discarded_and_its_name_is_free(self):
        run = runs.ensure(plan=self.plan("a"), by=None).run
        runs.discard(run=run, by=None)
        assert not Run.objects.exists()

    def test_every_prompt_is_asked_about_every_image_and_no_pixels_are_read(self):
        image_set = factories.image_set("pictures")
        images = [factories.image(image_set=image_set, index=index).pk for index in (1, 2)]
        recipe = DescriptionRecipe(backend="fake", model="fake", times=2)
        plan = plans.plan_askings(
            recipe=recipe,
            name="described",
            askings=AboutImages(asked("who?", "where?"), images),
            image_set=image_set,
        )
        run = runs.ensure(plan=plan, by=None).run
        assert run.image_set == image_set
        assert run.jobs.count() == 2 * 2 * 2
        assert set(run.jobs.values_list("image", "prompt", "number")) == {
            (image, prompt, number) for image in images for prompt in ("who?", "where?") for number in (1, 2)
        }

    def test_the_preview_says_tokens_and_what_they_cost_at_most(self):
        recipe = CompletionRecipe(backend="fake", model="fake", times=10, max_tokens=50, system="y" * 100)
        plan = self.plan("x" * 300, recipe=recipe, limits=Limits(price_in=1, price_out=2))
        found = plans.preview(plan).estimate
        assert (found.tokens_in, found.tokens_out, found.most_tokens_out) == (1000, 500, 500)
        assert found.most_cost == pytest.approx(1000e-6 + 2 * 500e-6)

    def test_a_classification_has_no_tokens(self):
        plan = self.plan("a", recipe=ClassificationRecipe(backend="fake", model="fake"))
        assert plans.preview(plan).estimate.tokens_in is None

    def test_a_million_samples_are_planned_in_parts(self):
        plan = self.plan("a", "b", recipe=CompletionRecipe(backend="fake", model="fake", times=10_000))
        assert [len(part.askings) for part in plan.split(min_jobs=2000)] == [1, 1]
        assert plan.total == 20_000

    def test_raised_limits_come_with_the_same_plan(self):
        runs.ensure(plan=self.plan("a", limits=Limits(tokens=5)), by=None)
        run = runs.ensure(plan=self.plan("a", limits=Limits(tokens=50)), by=None).run
        assert run.limits == {"tokens": 50}


@pytest.mark.django_db
def test_an_asking_is_in_its_run_once():
    run = runs.ensure(plan=TestPlan().plan("a"), by=None).run
    with pytest.raises(IntegrityError):
        Job.objects.create(run=run, key="a", prompt="other", number=1)
