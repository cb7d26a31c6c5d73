"""Runs that ask models, planned in the browser, by the API and by the command."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from annotation.models import ImageSet
from generation.management.commands import _execution
from generation.models import Answer, Job, Run, RunState
from generation.runs import queries
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from tests import factories
from tests.annotation.api.calls import Program
from tests.generation.answers.answered import a_run, answer
from tests.generation.image_sets import world as pictures

pytestmark = pytest.mark.django_db

TEXT = {
    "name": "asked",
    "prompts": "one\ntwo",
    "backend": "fake",
    "dtype": "auto",
    "times": "2",
    "temperature": "0.5",
    "top_p": "1",
    "max_tokens": "20",
    "chat": "on",
}


@pytest.fixture
def maker():
    made = factories.user("maker", lead=True)
    return type(made).objects.get(pk=made.pk)


@pytest.fixture
def page(client, maker):
    client.force_login(maker)
    return client


def two_images() -> ImageSet:
    """The set `trial`, with files."""
    recipe = replace(pictures.FAKE, images_per_prompt=2, prompt_sets=("default",))
    factories.group("Mexican")
    return pictures.made(pictures.pictures("Mexican", recipe=recipe, image_set="trial")).image_set


def preview(page, kind, **fields):
    return page.post(reverse("new_run", args=[kind]), {**TEXT, **fields})


def start(page, kind, **fields):
    seen = preview(page, kind, **fields).context["preview"].fingerprint
    return page.post(
        reverse("new_run", args=[kind]), {**TEXT, **fields, "fingerprint": seen, "start": "1"}, follow=True
    )


class TestPages:
    def test_the_preview_shows_prompts_tokens_and_cost_and_writes_nothing(self, page):
        shown = preview(page, "completions", price_in="1000", price_out="1000")
        for text in (
            "Start: 4 askings",
            "<li>one</li>",
            "Tokens in answers, about",
            "at most 80",
            "Cost, about",
        ):
            assert text in shown.text
        assert not Run.objects.exists()

    def test_it_starts_as_it_was_previewed_with_its_limits(self, page):
        shown = start(page, "completions", token_limit="1000", in_flight="3", stop="END\n\nstop", model="gpt")
        run = Run.objects.get()
        assert shown.redirect_chain == [(reverse("run", args=[run.pk]), 302)]
        assert (run.name, run.state, run.jobs.count()) == ("asked", RunState.RUNNING, 4)
        assert run.limits == {"tokens": 1000, "in_flight": 3}
        assert (run.recipe["stop"], run.recipe["model"]) == (["END", "stop"], "fake")
        assert "completions, asked" in shown.text
        start(page, "completions", token_limit="2000", stop="END\n\nstop")
        run.refresh_from_db()
        assert run.limits == {"tokens": 2000}, "no answer depends on them"

    def test_without_a_name_it_is_made_of_the_kind_and_the_model(self, page):
        start(page, "completions", name="")
        assert Run.objects.get().name == "completions-fake"

    def test_each_image_of_a_set_is_asked_about(self, page):
        images = two_images()
        start(page, "descriptions", image_set="trial")
        run = Run.objects.get(kind="descriptions")
        assert run.image_set == images
        assert run.jobs.count() == 2 * 2 * 2
        form = page.get(reverse("new_run", args=["descriptions"]), {"like": run.pk}).context["form"]
        assert form["image_set"].value() == "trial"

    def test_pairs_of_texts_are_classified(self, page):
        start(page, "classifications", prompts="a || b\nc")
        assert list(Job.objects.order_by("pk").values_list("prompt", "text_pair")) == [("a", "b"), ("c", "")]
        assert queries.prompts(Run.objects.get()) == [{"prompt": "a", "text_pair": "b"}, {"prompt": "c"}]

    @pytest.mark.parametrize(
        ("kind", "fields", "field", "message"),
        [
            ("completions", {"prompts": " "}, "prompts", "required"),
            ("completions", {"prompts": '{"prompt": 1}'}, "prompts", "Line 1"),
            ("completions", {"cost_limit": "2"}, "cost_limit", "both prices"),
            ("completions", {"chat": "", "system": "Hello"}, "system", "without chat"),
            ("completions", {"name": "two words"}, "__all__", "letters, digits"),
            ("completions", {"temperature": "3"}, "temperature", "2"),
            ("classifications", {"labels": " a \n\na"}, "labels", "once"),
        ],
    )
    def test_what_is_wrong_stands_at_its_field(self, page, kind, fields, field, message):
        answer = preview(page, kind, **fields)
        assert answer.status_code == 422
        assert message in answer.context["form"].errors[field].as_text()

    def test_a_similar_run_starts_with_its_prompts_and_limits(self, page):
        start(page, "completions", token_limit="1000")
        shown = page.get(reverse("new_run", args=["completions"]), {"like": Run.objects.get().pk})
        form = shown.context["form"]
        assert [json.loads(line)["prompt"] for line in form["prompts"].value().splitlines()] == ["one", "two"]
        assert (form["token_limit"].value(), form["times"].value()) == (1000, 2)

    def test_a_similar_run_is_one_that_the_account_may_see(self, page, maker):
        start(page, "completions", prompts="Qué?")
        run = Run.objects.get()
        url, like = reverse("new_run", args=["completions"]), {"like": run.pk}
        assert "Qué?" in page.get(url, like).context["form"]["prompts"].value()
        Run.objects.filter(pk=run.pk).update(recipe={**run.recipe, "design": {"study": "theirs"}})
        assert page.get(url, like).context["form"]["prompts"].value() is None
        assert page.get(reverse("runs")).context["rows"] == []
        for name, *more in (("run",), ("run_progress",), ("run_answers",)):
            assert page.get(reverse(name, args=[run.pk, *more])).status_code == 404
        assert Program(maker).get(f"runs/{run.pk}/answers").status_code == 404
        for name, *more in (("run_action", "pause"), ("run_limits",)):
            assert page.post(reverse(name, args=[run.pk, *more]), {"tokens": 5}).status_code == 404
        run.refresh_from_db()
        assert (run.state, run.limits) == (RunState.RUNNING, {})


class TestApi:
    PLAN = {
        "kind": "completions",
        "name": "asked",
        "backend": "fake",
        "prompts": ["one\nline more", {"prompt": "two", "key": "k"}],
        "times": 2,
        "token_limit": 99,
    }

    def test_a_run_is_planned(self, maker):
        answer = Program(maker).post("runs", self.PLAN)
        assert answer.status_code == 201, answer.json()
        assert (answer.json()["total"], answer.json()["name"]) == (4, "asked")
        run = Run.objects.get()
        assert run.limits == {"tokens": 99}
        assert set(run.jobs.values_list("key", "prompt")) == {("one\nline more",) * 2, ("k", "two")}

    def test_lists_become_lines(self, maker):
        program = Program(maker)
        program.post("runs", {**self.PLAN, "stop": ["a", "b"]})
        assert Run.objects.get().recipe["stop"] == ["a", "b"]
        labels = {"kind": "classifications", "backend": "fake", "prompts": ["one"], "labels": ["x", "x"]}
        assert "once" in program.post("runs", labels).text

    def test_it_is_read_with_its_name_and_without_an_image_set(self, maker):
        program = Program(maker)
        program.post("runs", self.PLAN)
        found = program.get(f"runs/{Run.objects.get().pk}").json()
        assert (found["name"], found["image_set"], found["kind"]) == ("asked", None, "completions")

    def test_a_prompt_that_is_none_is_refused(self, maker):
        answer = Program(maker).post("runs", {**self.PLAN, "prompts": ["one", 3]})
        assert answer.status_code == 422
        assert "Line 2" in answer.text


class TestOtherSettings:
    """They are another run of another name: a run of askings has no image set and no groups."""

    @pytest.fixture
    def run(self):
        found = a_run(state=RunState.DONE)
        answer(found)
        return found

    def test_a_run_with_answers_is_not_discarded(self, run):
        with pytest.raises(RunRefused, match="under another name") as refused:
            runs.discard(run=run, by=None)
        assert "image set" not in str(refused.value)

    def test_a_run_that_is_done_is_not_resumed(self, run):
        with pytest.raises(RunRefused, match="plan it again with more prompts"):
            runs.resume(run=run, by=None)

    def test_of_a_run_that_an_error_paused_after_an_answer(self, run):
        Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, error="The key is wrong.")
        with pytest.raises(CommandError, match="Other settings need another run, under another name") as told:
            _execution.report_result(BaseCommand(), run)
        assert "image set" not in str(told.value)


class TestCommand:
    def ask(self, command, tmp_path, text, *arguments, name="prompts.txt"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return command("ask", str(file), "--backend", "fake", "--yes", *arguments)

    @pytest.fixture
    def command(self):
        from django.core.management import call_command

        def call(*arguments):
            out = io.StringIO()
            call_command(*arguments, stdout=out)
            return out.getvalue()

        return call

    def test_prompts_of_a_file_are_asked_and_answered_here(self, command, tmp_path):
        told = self.ask(command, tmp_path, "one\ntwo\n", "--times", "3", "--name", "asked")
        assert "Run         asked" in told
        assert "6 of 6 askings" in told
        assert Answer.objects.filter(run__name="asked").exclude(text="").count() == 6
        assert "Nothing to do" in self.ask(command, tmp_path, "one\n", "--times", "3", "--name", "asked")

    def test_columns_of_a_table(self, command, tmp_path):
        text = 'key,prompt,text_pair,more\nk1,"a, b",c,x\nk2,d,,\n'
        self.ask(command, tmp_path, text, "--kind", "classifications", name="pairs.csv")
        rows = Answer.objects.order_by("job").values_list("job__key", "job__prompt", "job__text_pair")
        assert list(rows) == [("k1", "a, b", "c"), ("k2", "d", "")]
        found = Answer.objects.first()
        assert sum(found.probabilities.values()) == pytest.approx(1)
        assert found.text == max(found.probabilities, key=found.probabilities.get)

    def test_questions_about_the_images_of_a_set(self, command, tmp_path):
        two_images()
        self.ask(command, tmp_path, "who?\n", "--kind", "descriptions", "--about", "trial")
        assert Answer.objects.filter(job__image__isnull=False).exclude(text="").count() == 2

    @pytest.mark.parametrize(
        ("text", "arguments", "name", "message"),
        [
            ("a", ("--about", "trial"), "p.txt", "--about names the images"),
            ("a", ("--kind", "descriptions"), "p.txt", "--about names the images"),
            ("text\na\n", (), "p.csv", "no column 'prompt'"),
            ("prompt\na\n\"\"\n", (), "p.csv", "Line 3"),
            ("a", ("--cost-limit", "1"), "p.txt", "both prices"),
            ("a", ("--option", "bias"), "p.txt", "KEY=VALUE"),
            ("", (), "p.txt", "nothing to ask"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_said_and_nothing_is_planned(
        self, command, tmp_path, text, arguments, name, message
    ):
        from django.core.management import CommandError

        with pytest.raises(CommandError, match=message):
            self.ask(command, tmp_path, text, *arguments, name=name)
        assert not Run.objects.exists()

    def test_a_file_that_is_not_there(self, command):
        from django.core.management import CommandError

        with pytest.raises(CommandError, match="Give a text file in UTF-8"):
            command("ask", "nowhere.txt", "--backend", "fake")
