"""manage.py generate: it says what it does, and how to mend what is wrong."""

from __future__ import annotations

import sys

import pytest

from annotation.core.leases import JobState
from annotation.models import Image, ImageSet, TaskKind
from generation.jobs.services import loaded_model
from generation.management.commands import _execution
from generation.models import Job, Run, RunState
from generation.recipes.recipes import from_json
from tests import factories
from tests.generation.plans import world
from tests.generation.plans.world import FAKE, command, refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _without_pauses(settings) -> None:
    settings.JOB_RETRY_SECONDS = 0


class TestGenerate:
    def test_pictures_of_named_groups_into_a_new_set(self):
        factories.group("Indian"), factories.group("Mexican")
        told = command("generate", "trial", "--groups", "Indian", "mexican", *FAKE)
        assert "12 images from detection prompts" in told
        assert "To make     12 of 12 images" in told
        assert "assumed" in told
        assert "Run 1 is done: 12 of 12." in told.replace(f"Run {Run.objects.get().pk}", "Run 1")
        assert Image.objects.filter(image_set__name="trial", provenance__prompt_set="detection").count() == 12

    def test_the_same_again_has_nothing_to_do(self):
        factories.group("Indian")
        command("generate", "trial", "--groups", "Indian", *FAKE)
        told = command("generate", "trial", "--groups", "Indian", *FAKE)
        assert "To make     0 of 6 images; 6 are already planned or made" in told
        assert "Nothing to do" in told
        assert Job.objects.count() == 6

    def test_a_group_is_added_to_a_set_as_its_pictures_were_made(self):
        factories.group("Indian"), factories.group("Mexican")
        command("generate", "trial", "--groups", "Indian", *FAKE, "--seed", "7")
        command("generate", "trial", "--groups", "Mexican")
        assert Run.objects.get().jobs.filter(state=JobState.DONE).count() == 12
        assert "To make     0 of 12" in command("generate", "trial")

    def test_images_from_a_server(self, monkeypatch):
        """The preview says that no seed is sent; an unknown server is refused as `ask` does."""
        monkeypatch.setenv("MODEL_SERVERS", "lab=http://127.0.0.1:9/v1")
        factories.group("Indian")
        lab = ("--backend", "openai", "--server", "lab", "--model", "sd")
        told = command("generate", "trial", "--groups", "Indian", *lab, "--later")
        assert "Note        The server is asked without a seed" in told
        assert Run.objects.get().recipe["server"] == "lab"
        wrong = refused(
            "generate", "more", "--groups", "Indian", *lab[:2], "--server", "lap", "--model", "sd"
        )
        assert "recipe: server: there is no server 'lap'. There are: lab, openai" in wrong
        assert "without a seed" not in command("generate", "drawn", "--groups", "Indian", *FAKE, "--preview")

    def test_another_backend_than_the_sets_does_not_keep_its_server(self, monkeypatch):
        monkeypatch.setenv("MODEL_SERVERS", "lab=http://127.0.0.1:9/v1")
        factories.group("Indian")
        lab = ("--backend", "openai", "--server", "lab", "--model", "sd")
        command("generate", "trial", "--groups", "Indian", *lab, "--later")
        assert "recipe: server" not in refused("generate", "trial", "--backend", "diffusers", "--model", "sd")

    def test_a_preview_writes_nothing(self):
        factories.group("Indian")
        told = command("generate", "trial", "--groups", "Indian", *FAKE, "--preview")
        assert "Nothing was written." in told
        assert not ImageSet.objects.exists()

    def test_later_leaves_the_jobs_to_the_workers(self):
        factories.group("Indian")
        told = command("generate", "trial", "--groups", "Indian", *FAKE, "--later")
        assert "Left to the workers" in told
        run = Run.objects.get()
        assert (run.state, run.jobs.filter(state=JobState.PENDING).count()) == (RunState.RUNNING, 6)

    def test_a_draft_study_gets_its_images(self):
        study = world.knowing_study()
        task = factories.task(study, kind=TaskKind.DEPICTION)
        told = command("generate", "knowing", *FAKE)
        assert "Image set   fake-detection" in told
        assert "the draft 'knowing' will show this set" in told
        task.refresh_from_db()
        assert task.image_set.images.count() == 12

    def test_a_study_is_pulled_with_the_protocols_fifteen_pictures(self):
        world.knowing_study()
        told = command("generate", "knowing", "--backend", "fake", "--prompts", "pull", "--preview")
        assert "30 images from default prompts" in told
        # Mexican: 2 attributes, Indian: 1; three prompts each
        assert "135 images from stereotypical prompts" in told
        assert "Image set   fake-pull" in told

    def test_a_name_of_ones_own(self):
        world.knowing_study()
        command("generate", "knowing", *FAKE, "--set", "mine")
        assert ImageSet.objects.get().name == "mine"

    def test_a_file_of_groups(self, tmp_path):
        factories.group("Indian"), factories.group("Mexican")
        file = tmp_path / "groups.txt"
        file.write_text("Indian\n\n  Mexican \n")
        assert "Groups      2" in command("generate", "new", "--groups-from", str(file), *FAKE, "--preview")

    def test_the_models_own_steps_and_guidance(self):
        factories.group("Indian")
        command(
            "generate", "t", "--groups", "Indian", *FAKE, "--steps", "own", "--guidance", "own", "--later"
        )
        recipe = Run.objects.get().recipe
        assert (recipe["steps"], recipe["guidance"]) == (None, None)

    def test_how_the_model_is_loaded(self):
        factories.group("Indian")
        options = ("--variant", "fp16", "--lora", "a/b@0.5", "--lora", "c/d", "--offload", "model")
        quantised = ("--quantisation", "bitsandbytes_8bit", "--dtype", "bfloat16")
        told = command("generate", "t", "--groups", "Indian", *FAKE, *options, *quantised, "--later")
        assert "variant fp16, lora ['a/b@0.5', 'c/d'], quantisation bitsandbytes_8bit, offload model" in told
        recipe = Run.objects.get().recipe
        assert (recipe["variant"], recipe["lora"]) == ("fp16", ["a/b@0.5", "c/d"])
        assert (recipe["quantisation"], recipe["offload"]) == ("bitsandbytes_8bit", "model")
        assert "To make     0 of 6" in command("generate", "t")

    def test_number_types_and_repeatable_results(self):
        factories.group("Indian")
        told = command("generate", "t", "--groups", "Indian", *FAKE, "--later")
        recipe = Run.objects.get().recipe
        assert (recipe["dtype"], recipe["repeatable"]) == ("auto", False)
        assert "float32" not in told
        slow = ("--dtype", "float32", "--repeatable", "--later")
        command("generate", "s", "--groups", "Indian", *FAKE, *slow)
        assert from_json(Run.objects.latest("pk").recipe).repeatable
        real = ("generate", "r", "--groups", "Indian", "--preview", "--dtype")
        assert "float32 takes about twice the memory" in command(*real, "float32")
        assert "float32 takes" not in command(*real, "auto")
        why = refused("generate", "t", "--groups", "Indian", *FAKE, "--repeatable")
        assert "repeatable False, not True" in why

    def test_the_order_of_prompts_does_not_make_another_recipe(self):
        world.knowing_study()
        one = ("generate", "knowing", *FAKE, "--later", "--prompts")
        command(*one, "default", "stereotypical", "non_stereotypical")
        command(*one, "pull")
        command(*one, "non_stereotypical", "default", "stereotypical")
        assert Run.objects.count() == 1

    def test_one_who_sits_there_is_asked(self, monkeypatch):
        factories.group("Indian")
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", lambda prompt: "n")
        assert "Nothing was written" in refused("generate", "trial", "--groups", "Indian", *FAKE)
        assert not Run.objects.exists()
        monkeypatch.setattr("builtins.input", lambda prompt: "Y")
        assert "is done" in command("generate", "trial", "--groups", "Indian", *FAKE)

    def test_yes_is_not_asked(self, monkeypatch):
        factories.group("Indian")
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("builtins.input", lambda prompt: pytest.fail("asked"))
        assert "is done" in command("generate", "trial", "--groups", "Indian", *FAKE, "--yes")
        # nor where nothing is left to do
        assert "is done" in command("generate", "trial", "--groups", "Indian", *FAKE)

    def test_what_is_wrong_is_named_with_the_cure(self):
        world.knowing_study()
        for arguments, why in (
            (("nowhere", *FAKE), "no study or image set 'nowhere'. Studies: knowing. Image sets: none yet"),
            (("knowin", *FAKE), "Did you mean 'knowing'?"),
            (("study:nowhere", "--groups", "Indian", *FAKE), "no study or image set 'nowhere'"),
            (("trial", "--groups", "Indan", *FAKE), "no identity group 'Indan'"),
            (("trial", "--groups", "Indian", "--set", "x", *FAKE), "--set needs a study"),
            (("knowing", "--backend", "dall-e", "--model", "x"), "no backend 'dall-e'"),
            (("knowing", "--backend", "dall-e"), "recipe: model: give a hub id or a local folder"),
            (("knowing", *FAKE, "--steps", "0"), "recipe: steps: choose 1 to 1000"),
            (("knowing", *FAKE, "--dtype", "int8"), "recipe: dtype: auto, float32, float16 or bfloat16"),
            (("knowing", *FAKE, "--quantisation", "gguf"), "recipe: quantisation: leave it empty"),
            (("knowing", *FAKE, "--size", "big"), "--size 'big': write width and height"),
            (("knowing", *FAKE, "--size", "100x100"), "recipe: width: choose a multiple of 8"),
            (("knowing", *FAKE, "--prompts", "portraits"), "--prompts 'portraits': there are detection"),
            (("knowing", *FAKE, "--prompts", "detection", "pull"), "plan them separately"),
            (("knowing", *FAKE, "--groups-from", "/nowhere.txt"), "--groups-from /nowhere.txt"),
            (("knowing", *FAKE, "--steps", "many"), "invalid int or 'own' value: 'many'"),
            (("knowing", *FAKE, "--now", "--later"), "not allowed with"),
        ):
            assert why in refused("generate", *arguments)
            assert not Run.objects.exists()
            assert not ImageSet.objects.exists()

    def test_an_empty_file_of_groups(self, tmp_path):
        (tmp_path / "none.txt").write_text("\n")
        assert "the file is empty" in refused("generate", "t", "--groups-from", str(tmp_path / "none.txt"))

    def test_a_study_and_a_set_of_one_name_have_to_be_told_apart(self):
        world.knowing_study("same")
        factories.image_set("same")
        assert "study:same or set:same" in refused("generate", "same", *FAKE)
        assert "Image set   fake-detection" in command("generate", "study:same", *FAKE, "--preview")
        told = command("generate", "set:same", "--groups", "Indian", *FAKE, "--preview")
        assert "Image set   same" in told

    @pytest.mark.parametrize(
        ("poisoned", "told", "cure"),
        [(1, "made 5 of 6; 1 failed", "retry"), (6, "Most jobs fail: 6 of 6 so far", "resume")],
    )
    def test_failed_jobs_end_in_an_error_with_the_cure(self, monkeypatch, poisoned, told, cure):
        from generation.backends import image_fake

        factories.group("Indian")
        draw, seen = image_fake.FakeTextToImage.generate, set()

        def broken(drawings, wanted):
            if len(seen) < poisoned:
                seen.update([one.seed for one in wanted][: poisoned - len(seen)])
            if any(one.seed in seen for one in wanted):
                raise RuntimeError("a poisoned model")
            return draw(drawings, wanted)

        monkeypatch.setattr(image_fake.FakeTextToImage, "generate", broken)
        why = refused("generate", "trial", "--groups", "Indian", *FAKE)
        assert told in why
        assert "a poisoned model" in why
        assert f"manage.py runs {cure} {Run.objects.get().pk}" in why

    def test_a_missing_model_pauses_with_the_cure(self, monkeypatch):
        from generation.backends.base import BackendError

        def absent(recipe):
            raise BackendError("There are no weights. Fetch them.")

        monkeypatch.setattr(loaded_model, "load", absent)
        factories.group("Indian")
        why = refused("generate", "trial", "--groups", "Indian", *FAKE)
        run = Run.objects.get()
        assert f"Run {run.pk} was paused at 0 of 6: There are no weights. Fetch them." in why
        assert f"manage.py runs resume {run.pk}" in why
        assert f"manage.py runs discard {run.pk}" in why
        assert run.jobs.filter(attempts__gt=0).count() == 0
        # the same command does not begin where a person has to mend something
        why = refused("generate", "trial", "--groups", "Indian", *FAKE)
        assert "because of an error: There are no weights. Fetch them. Resume it" in why
        assert f"(manage.py runs resume {run.pk}, manage.py runs discard {run.pk})" in why

    def test_interrupted_it_says_how_to_go_on(self, monkeypatch):
        def interrupted(**_):
            raise KeyboardInterrupt

        monkeypatch.setattr(_execution.work, "work", interrupted)
        factories.group("Indian")
        why = refused("generate", "trial", "--groups", "Indian", *FAKE)
        assert "Interrupted at 0 of 6" in why
        monkeypatch.undo()
        assert "is done: 6 of 6" in command("generate", "trial")
