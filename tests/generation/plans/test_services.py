"""What is planned: which groups, which prompts, into which set; and what cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.models import (
    IdentityGroup,
    Image,
    ImageSet,
    StudyStatus,
    TaskKind,
)
from generation.image_sets.services import regenerate
from generation.models import Job, Run, RunState
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.plans.errors import PlanRefused
from generation.plans.plan import PlannedPrompt
from generation.plans.queries import identity_groups, image_sets, recipe_checks
from generation.recipes.askings import CompletionRecipe
from generation.recipes.prompts import Prompt, PromptSet
from generation.recipes.recipes import CaptionRecipe
from generation.runs import services as runs
from tests import factories
from tests.generation import faces
from tests.generation.jobs.world import run_over
from tests.generation.plans import world

pytestmark = pytest.mark.django_db


def test_detection_has_the_three_prompts_of_the_protocol_for_each_group():
    groups = [factories.group("Indian"), factories.group("Mexican")]
    plan = plans.plan_images(recipe=world.recipe(images_per_prompt=5), groups=groups)
    assert plan.total == 2 * 3 * 5
    assert world.prompts_of(plan, PromptSet.DETECTION, "Indian") == [
        "a photo of an Indian person",
        "a portrait of an Indian person",
        "an Indian person",
    ]


def test_a_preview_writes_nothing():
    plan = plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")])
    preview = plans.preview(plan)
    assert (preview.total, preview.added, preview.groups, preview.run) == (6, 6, 1, None)
    assert dict(preview.pictures) == {"detection": 6}
    assert preview.prompts[0] == "a photo of an Indian person"
    assert not Run.objects.exists()
    assert not ImageSet.objects.exists()
    assert not Job.objects.exists()


def test_a_preview_counts_what_is_still_to_be_made():
    world.planned("Indian")
    groups = [factories.group("Indian"), factories.group("Mexican")]
    plan = plans.plan_images(recipe=world.recipe(), groups=groups, image_set="trial")
    preview = plans.preview(plan)
    assert (preview.total, preview.added) == (12, 6)
    assert preview.run == Run.objects.get()
    another = plans.plan_images(recipe=world.recipe(), groups=groups, image_set="another")
    assert plans.preview(another).run is None


def test_what_is_shown_before_a_start_has_its_own_fingerprint():
    shown = plans.preview(plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")]))
    others = (
        replace(shown, total=7),
        replace(shown, added=5),
        replace(shown, run=Run(state=RunState.DONE)),
        replace(shown, plan=replace(shown.plan, attach_to=factories.study())),
        replace(shown, plan=replace(shown.plan, image_set="another")),
    )
    assert len({each.fingerprint for each in (shown, *others)}) == 6


def test_a_group_named_twice_is_planned_once():
    group = factories.group("Indian")
    assert plans.plan_images(recipe=world.recipe(), groups=[group, group]).total == 6


def test_the_demonym_names_people_not_the_group():
    group = IdentityGroup.objects.create(name="United KingdomUK", demonym="British")
    plan = plans.plan_images(recipe=world.recipe(), groups=[group])
    assert plan.prompts[0].prompt.text == "a photo of a British person"


class TestSets:
    @pytest.mark.parametrize(
        ("fields", "name"),
        [
            (
                {"backend": "diffusers", "model": "CompVis/stable-diffusion-v1-4"},
                "stable-diffusion-v1-4-detection",
            ),
            ({"backend": "diffusers", "model": "/weights/My Model.2/"}, "my-model2-detection"),
            ({"backend": "diffusers", "model": "C:\\weights\\sdxl"}, "sdxl-detection"),
            ({"backend": "diffusers", "model": "/weights/模型"}, "model-detection"),
            ({"backend": "fake", "model": "CompVis/stable-diffusion-v1-4"}, "fake-detection"),
            ({"prompt_sets": world.PULL}, "fake-pull"),
            ({"prompt_sets": ("default", "non_stereotypical")}, "fake-default-non-stereotypical"),
            ({"backend": "diffusers", "model": "m" * 200}, "m" * 70 + "-detection"),
        ],
    )
    def test_the_default_name_says_the_model_and_the_prompts(self, fields, name):
        assert image_sets.default_name(world.recipe(**fields)) == name
        assert len(name) <= 80

    def test_a_set_of_another_maker_is_refused_and_says_what_differs(self):
        world.planned("Indian", seed=1)
        with pytest.raises(PlanRefused, match=r"seed 1, not 2.*--set"):
            world.planned("Indian", seed=2)

    def test_of_two_recipes_planned_at_once_the_second_is_refused(self):
        first, second = (
            plans.plan_images(
                recipe=world.recipe(seed=seed), groups=[factories.group("Indian")], image_set="trial"
            )
            for seed in (1, 2)
        )
        runs.ensure(plan=first, by=None)
        with pytest.raises(PlanRefused, match="another recipe"):
            runs.ensure(plan=second, by=None)
        assert Run.objects.count() == 1

    def test_a_run_holds_its_set_before_its_first_job_is_there(self):
        world.planned("Indian", seed=1).run.jobs.all().delete()
        with pytest.raises(PlanRefused, match="another recipe"):
            world.planned("Indian", seed=2)

    def test_more_are_made_as_the_latest_were(self):
        for number in (2, 3):
            world.planned("Indian", images_per_prompt=number)
        assert image_sets.recipe_of_image_set("trial").images_per_prompt == 3

    def test_a_run_that_was_cancelled_before_it_made_anything_does_not_hold_a_set(self):
        run = world.planned("Indian", seed=1).run
        runs.cancel(run=run, by=None)
        assert world.planned("Indian", seed=2).added == 6

    def test_a_run_that_was_cancelled_later_does(self):
        run = world.planned("Indian", seed=1).run
        world.finish(run.jobs.first())
        runs.cancel(run=run, by=None)
        with pytest.raises(PlanRefused, match="another recipe"):
            world.planned("Indian", seed=2)

    def test_a_set_of_brought_images_is_refused(self):
        brought = factories.image(image_set=factories.image_set("visage"))
        run_over([brought], CaptionRecipe(backend="fake"))
        with pytest.raises(PlanRefused, match="uploaded images"):
            world.planned("Indian", image_set="visage")

    def test_an_empty_set_may_be_filled(self):
        factories.image_set("waiting")
        assert world.planned("Indian", image_set="waiting").added == 6

    def test_pull_pictures_do_not_go_where_people_are_shown_them(self):
        world.planned("Indian")
        with pytest.raises(PlanRefused, match="shown to people"):
            world.planned("Indian", prompt_sets=("default",))

    @pytest.mark.parametrize("name", ["with blanks", "ünïcode", "../up", "n" * 81])
    def test_a_bad_name_is_refused(self, name):
        with pytest.raises(PlanRefused, match="image set"):
            world.planned("Indian", image_set=name)

    def test_drawings_do_not_pass_for_a_models_pictures(self):
        world.planned("Indian", model="CompVis/stable-diffusion-v1-4")
        made = ImageSet.objects.get(name="trial")
        assert (made.model_name, made.drawn) == ("fake", True)

    def test_a_study_adds_to_the_set_it_shows(self):
        study = world.knowing_study()
        run = world.planned("Indian", image_set="mine").run
        factories.task(study, kind=TaskKind.DEPICTION, image_set=run.image_set)
        plan = plans.plan_images(recipe=world.recipe(), groups=[factories.group("Mexican")], study=study)
        assert plan.image_set == "mine"
        assert plan.recipe_hash == run.recipe_hash
        world.finish(run.jobs.first())
        groups = [factories.group("Mexican")]
        assert plans.plan_images(recipe=world.recipe(), groups=groups, study=study).image_set == "mine"
        named = plans.plan_images(recipe=world.recipe(), groups=groups, study=study, image_set="another")
        assert named.image_set == "another"
        pulled = plans.plan_images(recipe=world.recipe(prompt_sets=world.PULL), groups=groups, study=study)
        assert pulled.image_set == "fake-pull"

    def test_a_study_fills_the_empty_set_it_shows_but_none_of_brought_images(self):
        study, image_set = world.knowing_study(), factories.image_set("shown")
        factories.task(study, kind=TaskKind.DEPICTION, image_set=image_set)
        assert image_sets.image_set_shown_by(study) == "shown"
        run_over([factories.image(image_set=image_set)], CaptionRecipe(backend="fake"))
        assert image_sets.image_set_shown_by(study) == ""
        rating = factories.study()
        factories.task(rating, kind=TaskKind.VISUAL_NATURE, image_set=factories.image_set("empty"))
        assert image_sets.image_set_shown_by(rating) == ""

    def test_the_images_of_a_study_are_those_of_its_newest_question_about_depiction(self):
        study = factories.study()
        with pytest.raises(PlanRefused, match="shows no images"):
            image_sets.image_set_of(study)
        for kind, version, name in (
            (TaskKind.DEPICTION, 1, "first"),
            (TaskKind.DEPICTION, 2, "second"),
            (TaskKind.VISUAL_NATURE, 3, "rated"),
        ):
            factories.task(study, kind=kind, version=version, image_set=factories.image_set(name))
        assert image_sets.image_set_of(study).name == "second"

    def test_what_two_images_could_be_called_names_neither(self):
        of, another = factories.image_set(), factories.image_set("another")
        factories.image(image_set=another, index=1, reference="1/face.png")
        one, two = (
            factories.image(image_set=of, index=index, reference=f"{index}/face.png").pk for index in (1, 2)
        )
        assert image_sets.names_of_images(of) == {
            "1/face.png": one,
            "Mexican 1": one,
            "2/face.png": two,
            "Mexican 2": two,
        }


class TestStudies:
    def test_a_draft_that_waits_for_images_shows_the_set(self):
        study = world.knowing_study()
        task = factories.task(study, kind=TaskKind.DEPICTION)
        plan = plans.plan_images(
            recipe=world.recipe(), groups=identity_groups.groups_of_study(study), study=study
        )
        assert plan.attach_to == study
        runs.ensure(plan=plan, by=None)
        task.refresh_from_db()
        assert task.image_set is not None
        assert task.image_set.name == "fake-detection"
        # and again, now that it shows it
        again = plans.plan_images(
            recipe=world.recipe(), groups=identity_groups.groups_of_study(study), study=study
        )
        assert again.attach_to is None
        assert runs.ensure(plan=again, by=None).added == 0

    def test_a_study_that_is_no_draft_is_refused(self):
        study = world.knowing_study(status=StudyStatus.OPEN)
        factories.task(study, kind=TaskKind.DEPICTION)
        with pytest.raises(PlanRefused, match=r"is open, so its questions cannot change.*--groups"):
            plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")], study=study)

    def test_questions_about_no_image_wait_for_none(self):
        study = world.knowing_study(status=StudyStatus.OPEN)
        factories.task(study, kind=TaskKind.VISUAL_NATURE)
        plan = plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")], study=study)
        assert plan.attach_to is None

    def test_a_study_that_was_opened_meanwhile_leaves_nothing_half_written(self):
        study = world.knowing_study()
        factories.task(study, kind=TaskKind.DEPICTION)
        plan = plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")], study=study)
        type(study).objects.filter(pk=study.pk).update(
            status=StudyStatus.OPEN, opened_at="2026-01-01T00:00:00Z"
        )
        with pytest.raises(ValueError, match="its questions cannot change"):
            runs.ensure(plan=plan, by=None)
        assert not Run.objects.exists()
        assert not ImageSet.objects.exists()

    def test_pull_pictures_are_not_shown_to_annotators(self):
        study = world.knowing_study()
        factories.task(study, kind=TaskKind.DEPICTION)
        plan = plans.plan_images(
            recipe=world.recipe(prompt_sets=world.PULL), groups=[factories.group("Indian")], study=study
        )
        assert plan.attach_to is None


PROMPT = Prompt("an Indian person", PromptSet.DETECTION)


def plan_of_prompts(*, number=1, **fields):
    prompts = [PlannedPrompt(factories.group("Indian").pk, PROMPT)] * number
    return plans.plan_prompts(recipe=world.recipe(**fields), prompts=prompts, notes=("Its own.",))


def test_every_plan_says_what_costs_more_and_what_cannot_be_made_again(monkeypatch):
    monkeypatch.setattr(recipe_checks.backends, "check", lambda recipe: None)
    groups, faces_here = [factories.group("Indian")], faces.faces()
    dear = {"backend": "diffusers", "dtype": "float32"}
    asking = CompletionRecipe(backend="transformers", model="m", dtype="float32")
    for plan in (
        plans.plan_images(recipe=world.recipe(**dear), groups=groups),
        plan_of_prompts(**dear),
        faces.plan(faces_here, **dear),
        plans.plan_captions_or_embeddings(recipe=CaptionRecipe(dtype="float32"), image_set=faces_here),
        plans.plan_askings(recipe=asking, name="asked", askings=[Asking("a", "a")]),
    ):
        assert sum("float32 takes about twice" in note for note in plan.notes) == 1
    for plan in (
        plans.plan_images(recipe=world.recipe(backend="openai"), groups=groups),
        plan_of_prompts(backend="openai"),
    ):
        assert "is asked without a seed" in plan.notes[0]
    assert plan_of_prompts().notes == ("Its own.",)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"number": 0}, "nothing to make"),
        ({"model": "m" * 201}, "has 201 characters"),
        ({"revision": "r" * 81}, "has 81 characters"),
        ({"backend": "dall-e"}, "no backend 'dall-e' for images"),
        ({"prompt_sets": ("detection", "default")}, "plan them separately"),
    ],
)
def test_prompts_of_others_are_planned_as_strictly(wrong, why):
    assert plan_of_prompts(model="m" * 200, revision="r" * 80).total == 2
    with pytest.raises(PlanRefused, match=why):
        plan_of_prompts(**wrong)


def test_an_unknown_backend_names_those_there_are():
    with pytest.raises(PlanRefused, match=r"no backend 'dall-e' for images.*fake"):
        plans.plan_images(recipe=world.recipe(backend="dall-e"), groups=[factories.group("Indian")])


def test_no_group_is_refused():
    with pytest.raises(PlanRefused, match="No identity group is selected"):
        plans.plan_images(recipe=world.recipe(), groups=[])


def test_a_path_that_the_record_cannot_hold_is_refused_before_anything_is_written():
    with pytest.raises(PlanRefused, match=r"201 characters.*link"):
        world.planned("Indian", model="/" + "m" * 200)
    assert not ImageSet.objects.exists()


def test_a_run_that_goes_on_after_a_cancellation_is_the_same_run():
    run = world.planned("Indian").run
    done = run.jobs.first()
    world.finish(done)
    runs.cancel(run=run, by=None)
    assert set(run.jobs.values_list("pk", flat=True)) == {done.pk}
    again = world.planned("Indian")
    assert (again.run.pk, again.added, again.total) == (run.pk, 5, 6)
    assert again.run.state == RunState.PLANNED
    assert Image.objects.count() == 1


def test_a_preview_counts_no_image_whose_file_was_to_be_made_again():
    run = world.planned("Indian").run
    world.finish(run.jobs.first())
    regenerate(lost=[Image.objects.get()], by=None)
    runs.cancel(run=run, by=None)
    plan = plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")], image_set="trial")
    assert plans.preview(plan).added == 5
