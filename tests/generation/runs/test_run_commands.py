"""manage.py caption, embed and runs: doors that say what they do, and how to mend what is wrong."""

from __future__ import annotations

import io
import re
import sys

import pytest
from django.core.management import call_command

from annotation.core.leases import JobState
from annotation.models import ImageSet, TaskKind
from generation.embeddings.queries import encoder_id, runs_of_set
from generation.jobs.services import work
from generation.management.commands import _execution
from generation.models import BatchSize, Caption, Embedding, Provenance, Run, RunState, TextEmbedding
from generation.runs import services as runs
from tests import factories
from tests.generation.answers.answered import a_run, answer
from tests.generation.plans import world
from tests.generation.plans.world import FAKE, command, refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _without_pauses(settings) -> None:
    settings.JOB_RETRY_SECONDS = 0


class TestReading:
    @pytest.fixture
    def drawn(self):
        factories.group("Indian")
        command("generate", "drawn", "--groups", "Indian", *FAKE)
        return ImageSet.objects.get()

    def test_captions(self, drawn):
        told = command("caption", "drawn", "--backend", "fake", "--count", "3")
        assert "To make     6 of 6 images" in told
        assert Caption.objects.count() == 18

    def test_embeddings(self, drawn):
        command("embed", "drawn", "--backend", "fake")
        assert Embedding.objects.count() == 6
        assert Run.objects.first().recipe["pretrained"] == ""

    def test_texts_of_a_file_beside_images(self, drawn, tmp_path):
        file = tmp_path / "texts.txt"
        file.write_text("\ufeffa hat\r\n\n  a sari \na hat\n", encoding="utf-8")
        embed = ("embed", "drawn", "--backend", "fake")
        told = command(*embed, "--texts", str(file))
        assert "Texts       e.g. 'a hat'" in told
        assert "To make     6 of 6 images and 2 of 2 texts" in told
        assert sorted(TextEmbedding.objects.values_list("text", flat=True)) == ["a hat", "a sari"]
        file.write_text("a hat\na turban\n")
        told = command(*embed, "--texts", str(file))
        assert "To make     0 of 6 images and 1 of 2 texts; 7 are already planned or made" in told
        assert (Embedding.objects.count(), TextEmbedding.objects.count()) == (6, 3)

    def test_another_run_over_the_same_images_and_texts_leaves_those_before(self, drawn, tmp_path):
        texts = tmp_path / "texts.txt"
        texts.write_text("a hat\n", encoding="utf-8")
        for model in ("one", "two"):
            command("embed", "drawn", "--backend", "fake", "--model", model, "--texts", str(texts))
        for count in ("1", "2"):
            command("caption", "drawn", "--backend", "fake", "--count", count)
        assert (Embedding.objects.count(), TextEmbedding.objects.count()) == (12, 2)
        assert Caption.objects.count() == 6 + 12

    def test_texts_are_read_from_the_terminal(self, drawn, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
        told = command("embed", "drawn", "--backend", "fake", "--texts", "-", "--preview")
        assert "2 of 2 texts" in told
        assert not Embedding.objects.exists()

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            (b"a\n\n" + b"x" * 501 + b"\n", "Line 3: .*Write 1 to 500 characters"),
            (b"\n \n", "it holds no text"),
            (b"\xff\xfe", "UTF-8"),
        ],
    )
    def test_texts_that_cannot_be_embedded_are_named(self, drawn, tmp_path, content, why):
        file = tmp_path / "texts.txt"
        file.write_bytes(content)
        assert re.search(why, refused("embed", "drawn", "--backend", "fake", "--texts", str(file)))
        assert str(file) in refused("embed", "drawn", "--backend", "fake", "--texts", str(file))
        assert Run.objects.count() == 1

    def test_the_encoder_of_a_run_is_named_as_test_files_name_it(self, drawn):
        """The weights of the default model are no revision of another backend's."""
        hub = ("embed", "drawn", "--later", "--backend", "transformers", "--model", "google/siglip-x")
        command("embed", "drawn", "--later")
        command(*hub)
        command(*hub, "--pretrained", "v2")
        command("embed", "drawn", "--later", "--backend", "fake")
        assert [encoder_id(run) for run in runs_of_set(drawn)] == [
            *("fake", "google/siglip-x v2", "google/siglip-x", "ViT-B-32 openai"),
        ]

    def test_of_the_images_that_a_study_shows(self, drawn):
        factories.task(factories.study("showing"), kind=TaskKind.DEPICTION, image_set=drawn)
        command("embed", "showing", "--backend", "fake")
        assert Embedding.objects.count() == 6

    def test_options_of_the_backend(self, drawn):
        command(
            "caption", "drawn", "--backend", "fake", "--later", "--option", "ngrams=a=b", "--option", "k=3"
        )
        assert Run.objects.first().recipe["options"] == {"ngrams": "a=b", "k": 3}

    def test_what_is_wrong_is_named_with_the_cure(self, drawn):
        factories.study("bare")
        for arguments, why in (
            (("caption", "nowhere"), "no study or image set 'nowhere'"),
            (("caption", "bare"), "shows no images. Name an image set instead"),
            (("caption", "drawn", "--backend", "gpt"), "no backend 'gpt' for captions"),
            (("caption", "drawn", "--backend", "fake", "--count", "0"), "recipe: count: choose 1 to 1000"),
            (("caption", "drawn", "--backend", "fake", "--option", "k"), "--option 'k': write KEY=VALUE"),
            (("embed", "drawn", "--backend", "fake", "--dtype", "x"), "recipe: dtype"),
            (("embed", "drawn", "--backend", "transformers"), "recipe: model: give a hub id"),
            (("embed", "drawn", "--backend", "transformers", "--model", "ViT-B-32"), "a name of open_clip"),
        ):
            assert why in refused(*arguments)
            assert Run.objects.count() == 1


class TestRuns:
    @pytest.fixture
    def run(self) -> Run:
        return world.planned("Indian").run

    def test_none_yet_says_how(self):
        assert "manage.py generate" in command("runs")

    def test_the_list(self, run):
        told = command("runs")
        assert told == command("runs", "list")
        assert told.splitlines()[1].split() == [
            str(run.pk), "planned", "images", "0/6", "0", "fake", "trial", run.recipe_hash[:8],
        ]  # fmt: skip

    def test_one_run_with_its_recipe_and_errors(self, run):
        world.fail(run.jobs.first())
        Run.objects.filter(pk=run.pk).update(error="No weights.")
        BatchSize.objects.create(run=run, device="a card", size=2)
        told = command("runs", "show", str(run.pk))
        for words in (
            run.recipe_hash,
            '"seed": 0',
            "5 waiting",
            "1 failed",
            "It broke.",
            "No weights.",
            "2 on a card: larger",
        ):
            assert words in told

    def test_a_run_names_what_made_it(self, run):
        runs.start(run=run, by=None)
        work.work(run_id=run.pk)
        way = Run.objects.get(pk=run.pk).made_with[0]
        told = command("runs", "show", str(run.pk))
        assert f"made with  fake 1; cpu; pillow {way['libraries']['pillow']}; {way['code']}" in told

    def test_it_is_moved(self, run):
        number = str(run.pk)
        assert "is running now" in command("runs", "start", number, "--later")
        assert "is paused now" in command("runs", "pause", number)
        assert "is paused already" in command("runs", "pause", number)
        told = command("runs", "resume", number)
        assert "is running now" in told
        assert "is done: 6 of 6" in told
        assert "Retry what failed" in refused("runs", "resume", number)

    def test_it_is_cancelled(self, run):
        assert "is cancelled now" in command("runs", "cancel", str(run.pk))
        why = refused("runs", "start", str(run.pk))
        assert "Plan it again" in why
        assert "manage.py generate" in why
        assert not run.jobs.exists()

    def test_failed_jobs_are_tried_again(self, run):
        assert "has no failed job" in command("runs", "retry", str(run.pk))
        world.put(run, RunState.DONE)
        run.jobs.update(state=JobState.FAILED, error="It broke.", attempts=3)
        told = command("runs", "retry", str(run.pk))
        assert "6 failed jobs are tried again" in told
        assert "is done: 6 of 6" in told
        assert Provenance.objects.count() == 6

    def test_it_is_watched_to_its_end(self, run, monkeypatch):
        world.put(run, RunState.RUNNING)
        monkeypatch.setattr(_execution.time, "sleep", lambda s: Run.objects.update(state=RunState.PAUSED))
        assert "images: paused" in command("runs", "show", str(run.pk), "--watch")
        Run.objects.update(error="No weights.")
        assert "was paused at 0 of 6: No weights." in refused("runs", "show", str(run.pk), "--watch")

    def test_an_unknown_run(self, run):
        why = refused("runs", "show", "999999")
        assert f"There is no run '999999'. The latest are: {run.pk} (trial)." in why
        assert "no run 'trail'. Did you mean 'trial'?" in refused("runs", "pause", "trail")

    def test_a_run_goes_by_its_name(self, run, tmp_path):
        (tmp_path / "prompts.txt").write_text("a hat\n")
        command("ask", str(tmp_path / "prompts.txt"), "--backend", "fake", "--name", "hats", "--later")
        hats = Run.objects.get(name="hats").pk
        assert f"Run {hats}, completions: running" in command("runs", "show", "hats")
        assert f"Run {hats}, limits: tokens 9" in command("runs", "limit", "hats", "--tokens", "9")
        # the number comes first, as messages name runs by it
        Run.objects.filter(pk=hats).update(name=str(run.pk))
        assert f"Run {run.pk}, images: planned" in command("runs", "show", str(run.pk))

    def test_it_shows_why_answers_ended(self):
        asked = a_run()
        answer(asked), answer(asked), answer(asked, ended="")
        assert "  ended      stop 2, not known 1" in command("runs", "show", str(asked.pk))

    def test_a_run_of_images_goes_by_its_set_while_it_is_the_only_one(self, run):
        assert f"Run {run.pk} is running now" in command("runs", "start", "trial", "--later")
        command("runs", "resume", "trial", "--now")
        command("caption", "trial", "--backend", "fake", "--count", "1", "--later")
        captions = Run.objects.exclude(pk=run.pk).get().pk
        why = refused("runs", "pause", "trial")
        assert f"'trial' has 2 runs: {run.pk} (images), {captions} (captions). Give a number." in why
        command("runs", "pause", str(captions))
        assert f"Run {captions} is discarded" in command("runs", "discard", str(captions))

    def test_with_a_broker_workers_are_rung_and_watched(self, run, settings, monkeypatch):
        settings.CELERY_BROKER_URL = "redis://nowhere"
        rung = []
        monkeypatch.setattr(_execution.tasks, "enqueue", lambda run: rung.append(run.pk))
        monkeypatch.setattr(_execution.time, "sleep", lambda s: Run.objects.update(state=RunState.PAUSED))
        assert "is paused: 0 of 6" in command("runs", "start", str(run.pk))
        assert rung == [run.pk]
        # asked to, it does them itself
        assert "is done: 6 of 6" in command("runs", "resume", str(run.pk), "--now")


class TestBar:
    def test_on_a_terminal_it_shows_what_is_done(self, monkeypatch, capsys):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "120")
        factories.group("Indian")
        command("generate", "trial", "--groups", "Indian", *FAKE)
        assert "6/6" in capsys.readouterr().err

    def test_rate_and_time_left_stand_beside_it(self):
        stands = _execution.Progress(
            state="running", error="", total=100, pending=80, claimed=0, done=18, failed=2,
            rate=0.5, seconds_left=160.0, errors=(), loading=None, idle=False,
        )  # fmt: skip
        assert _execution._details(stands) == "0.5/s, 2 min 40 s left, 2 failed"


@pytest.mark.parametrize("name", ["generate", "caption", "embed"])
def test_help_lists_the_backends_a_line_each(name, capsys):
    with pytest.raises(SystemExit):
        call_command(name, "--help")
    told = capsys.readouterr().out
    assert any(line.startswith("  fake ") for line in told.splitlines())
    assert all(len(line) < 120 for line in told.split("backends:")[0].splitlines())
