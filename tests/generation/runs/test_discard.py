"""A run that has made nothing is discarded in one step, and another recipe fills its set."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import AuditEvent, Image, ImageSet, TaskKind
from generation.backends import image_fake
from generation.backends.base import BackendError
from generation.backends.image_fake import FakeTextToImage
from generation.jobs.services import claims, loaded_model, model_versions, work
from generation.jobs.services.handlers import JobResult
from generation.jobs.services.image_handler import ImageHandler
from generation.models import Caption, Embedding, Job, Provenance, Run, RunState, TextEmbedding
from generation.plans import services as plans
from generation.plans.errors import PlanRefused
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from tests import factories
from tests.annotation.api.calls import Program, is_problem
from tests.generation.answers.answered import a_run
from tests.generation.plans import world
from tests.generation.plans.world import FAKE, command, refused

pytestmark = pytest.mark.django_db
WHY = "This model does not support a negative prompt."


@pytest.mark.parametrize("state", ["planned", "paused", "cancelled", "done"])
def test_a_run_that_made_nothing_goes_with_its_jobs_and_its_empty_set(state):
    lead = factories.user()
    factories.image_set("another")
    run = world.put(world.planned("Indian").run, state)
    world.fail(run.jobs.first())
    assert "discard" in runs.available_actions(state, done=0, failed=1)
    assert runs.discard(run=run, by=lead) is True
    assert not Run.objects.exists()
    assert not Job.objects.exists()
    assert ImageSet.objects.get().name == "another"
    event = AuditEvent.objects.get(what="run discarded")
    assert (event.by, event.details["run"], event.details["image_set"]) == (lead, run.pk, "trial")


def test_another_recipe_fills_the_set_that_it_leaves():
    first = world.planned("Indian", backend="diffusers", model="some/model").run
    with pytest.raises(PlanRefused, match=rf"another recipe.*discard run {first.pk}"):
        world.planned("Indian")
    done = world.planned("Indian", backend="diffusers", model="some/model", image_set="done").run
    world.finish(done.jobs.earliest("pk"))
    with pytest.raises(PlanRefused, match="another recipe") as refused:
        world.planned("Indian", image_set="done")
    assert "discard" not in str(refused.value)
    runs.discard(run=first, by=None)
    assert world.planned("Indian").added == 6
    assert ImageSet.objects.get(name="trial").drawn


def test_a_set_that_a_study_shows_stays_and_is_filled_by_the_next_run():
    study = world.knowing_study()
    task = factories.task(study, kind=TaskKind.DEPICTION)
    groups = [factories.group("Indian")]
    model = world.recipe(backend="diffusers", model="some/model")
    first = runs.ensure(plan=plans.plan_images(recipe=model, groups=groups, study=study), by=None).run
    runs.discard(run=first, by=None)
    task.refresh_from_db()
    plan = plans.plan_images(recipe=world.recipe(), groups=groups, study=study)
    assert plan.image_set == task.image_set.name == first.image_set.name
    runs.ensure(plan=plan, by=None)
    task.image_set.refresh_from_db()
    assert (task.image_set.model_name, task.image_set.drawn) == ("fake", True)


@pytest.mark.parametrize("others", ["image", "run"])
def test_a_set_with_anything_else_in_it_stays(others):
    run = world.planned("Indian").run
    if others == "image":
        factories.image(image_set=run.image_set)
    else:
        world.planned("Indian", images_per_prompt=3)
    runs.discard(run=run, by=None)
    assert ImageSet.objects.filter(pk=run.image_set_id).exists()


@pytest.mark.parametrize("file", ["there", "being made again"])
def test_a_run_that_made_something_is_kept_whole(file):
    run = world.put(world.planned("Indian").run, RunState.PAUSED)
    job = run.jobs.first()
    world.finish(job)
    if file == "being made again":
        Job.objects.filter(pk=job.pk).update(state=JobState.PENDING, finished_at=None)
    with pytest.raises(RunRefused, match="has made results"):
        runs.discard(run=run, by=None)
    assert run.jobs.count() == 6
    assert "discard" not in runs.available_actions(RunState.PAUSED, done=1, failed=0)


@pytest.mark.parametrize(
    ("kind", "result", "fields"),
    [
        ("images", Provenance, {"seed": 1, "recipe_hash": "0" * 64}),
        ("captions", Caption, {"rank": 1, "text": "a person"}),
        ("embeddings", Embedding, {"dim": 1, "vector": bytes(4)}),
        ("embeddings", TextEmbedding, {"dim": 1, "vector": bytes(4), "text": "a person"}),
    ],
)
def test_results_that_would_be_deleted_with_their_run_keep_it(kind, result, fields):
    image = factories.image()
    run = Run.objects.create(
        kind=kind, image_set=image.image_set, backend="fake", recipe={}, recipe_hash="0" * 64
    )
    result.objects.create(run=run, **fields, **({} if result is TextEmbedding else {"image": image}))
    with pytest.raises(RunRefused, match="has made results"):
        runs.discard(run=run, by=None)
    assert result.objects.exists()


def test_a_run_without_an_image_set_goes_alone():
    factories.image_set("another")
    run = a_run(state=RunState.PLANNED)
    assert runs.discard(run=run, by=None) is True
    assert not Run.objects.exists()
    assert ImageSet.objects.exists()
    assert AuditEvent.objects.get(what="run discarded").details["name"] == run.name


def test_a_running_run_is_paused_first():
    run = world.put(world.planned("Indian").run, RunState.RUNNING)
    with pytest.raises(RunRefused, match="Pause it first"):
        runs.discard(run=run, by=None)
    with pytest.raises(PlanRefused, match="another recipe") as told:
        world.planned("Indian", seed=2)
    assert "discard" not in str(told.value), "it makes something yet"
    assert "discard" not in runs.available_actions(RunState.RUNNING, done=0, failed=0)


def test_a_worker_that_comes_too_late_writes_nothing():
    run = world.put(world.planned("Indian").run, RunState.RUNNING)
    claim = claims.claim(run_id=run.pk, limit=2, worker="late")
    handler = ImageHandler(run, world.recipe(), FakeTextToImage(world.recipe()))
    outputs = handler.run([handler.read(job) for job in claim.jobs])
    made = [
        JobResult(job, handler.store(job, output), 0.1)
        for job, output in zip(claim.jobs, outputs, strict=True)
    ]
    runs.pause(run=run, by=None)
    runs.discard(run=run, by=None)
    assert handler.complete(claim, made) == 0
    with pytest.raises(BackendError, match="was discarded"):
        model_versions.record(run, FakeTextToImage(world.recipe()).about)
    assert not Image.objects.exists()


class TestTheCure:
    """A worker finds a recipe that cannot work: the run pauses, is discarded, and another is planned."""

    @pytest.fixture(autouse=True)
    def _refuses_negative_prompts(self, monkeypatch):
        monkeypatch.setattr(loaded_model, "_loaded", [])

        def load(recipe, *, device):
            if recipe.negative_prompt:
                raise BackendError(WHY)
            return FakeTextToImage(recipe)

        monkeypatch.setattr(image_fake, "load", load)

    @pytest.fixture
    def maker(self):
        for name in ("Mexican", "Indian"):
            factories.group(name)
        return factories.user("maker", lead=True)

    def test_by_command(self, maker):
        generate = ("generate", "trial", "--groups", "Indian", *FAKE)
        why = refused(*generate, "--negative-prompt", "a hat")
        run = Run.objects.get()
        discard = f"manage.py runs discard {run.pk}"
        assert WHY in why
        assert discard in why
        # Neither the same recipe nor another starts; both say what stops them and what to do.
        why = refused(*generate, "--negative-prompt", "a hat")
        assert WHY in why
        assert discard in why
        assert discard in refused(*generate, "--negative-prompt", "")
        # Nor is it running for longer than the worker needs to find out.
        why = refused("runs", "resume", str(run.pk))
        assert f"was paused at 0 of 6: {WHY}" in why
        assert f"paused     {WHY}" in command("runs", "show", str(run.pk))
        told = command("runs", "discard", str(run.pk))
        assert "manage.py generate" in told
        assert "is done: 6 of 6" in command(*generate)

    def test_resuming_for_the_workers_says_what_they_will_meet(self, maker):
        refused("generate", "trial", "--groups", "Indian", *FAKE, "--negative-prompt", "a hat")
        run = Run.objects.get()
        told = command("runs", "resume", str(run.pk), "--later")
        assert f"had paused because: {WHY} If that still holds" in told
        assert f"had paused {WHY}" in command("runs", "show", str(run.pk))

    def test_in_the_browser(self, maker, client):
        client.force_login(maker)
        form = {
            "groups": "Mexican\nIndian",
            "prompts": "detection",
            "backend": "fake",
            "dtype": "float32",
            "width": "64",
            "height": "64",
            "safety": "record",
            "image_set": "trial",
            "negative_prompt": "a hat",
            "images_per_prompt": "2",
        }
        new = reverse("new_run", args=["images"])

        def plan(**changed):
            shown = client.post(new, {**form, **changed})
            if shown.context["form"].errors:
                return shown
            seen = shown.context["preview"].fingerprint
            return client.post(new, {**form, **changed, "fingerprint": seen, "start": "1"}, follow=True)

        plan()
        run = Run.objects.get()
        work.work(run_id=run.pk)
        page = reverse("run", args=[run.pk])
        shown = client.get(page)
        assert WHY in shown.text
        assert "Discard the run and change its settings" in shown.text
        assert f"discard run {run.pk}" in plan(negative_prompt="").text
        resumed = client.post(reverse("run_action", args=[run.pk, "resume"]), follow=True)
        assert resumed.text.count(f"had paused because: {WHY}") == 1
        assert "An error paused the run" not in resumed.text
        assert "The run continues." not in resumed.text
        work.work(run_id=run.pk)
        assert "An error paused the run" in client.get(page).text
        shown = client.post(reverse("run_action", args=[run.pk, "discard"]), follow=True)
        assert shown.redirect_chain[-1][0] == new
        assert "The run is discarded." in shown.text
        values = {name: shown.context["form"][name].value() for name in form}
        assert {name: str(value) for name, value in values.items()} == {**form}
        assert not Run.objects.exists()
        assert client.get(new).context["form"]["negative_prompt"].value() == ""
        plan(negative_prompt="")
        assert work.work(run_id=Run.objects.get().pk) == 12

    def test_by_the_api(self, maker):
        program = Program(type(maker).objects.get(pk=maker.pk))
        plan = {
            "kind": "images",
            "backend": "fake",
            "groups": ["Indian"],
            "image_set": "trial",
            "images_per_prompt": 2,
            "width": 64,
            "height": 64,
        }
        number = program.post("runs", {**plan, "negative_prompt": "a hat"}).json()["run"]
        program.post(f"runs/{number}/start")
        is_problem(program.post(f"runs/{number}/discard"), 409)
        work.work(run_id=number)
        said = program.get(f"runs/{number}").json()
        assert (said["state"], said["error"]) == ("paused", WHY)
        assert said["actions"] == ["resume", "cancel", "discard"]
        assert f"discard run {number}" in str(is_problem(program.post("runs", plan), 422))
        said = program.post(f"runs/{number}/resume").json()
        assert (said["state"], said["error"]) == ("running", WHY)
        work.work(run_id=number)
        assert program.post(f"runs/{number}/discard").status_code == 204
        is_problem(program.post(f"runs/{number}/discard"), 404)
        number = program.post("runs", plan).json()["run"]
        program.post(f"runs/{number}/start")
        assert work.work(run_id=number) == 6

    @pytest.mark.parametrize("way", ["cancel", "discard"])
    def test_cancelling_frees_the_set_too(self, maker, way):
        run = world.planned("Indian", negative_prompt="a hat").run
        runs.start(run=run, by=None)
        work.work(run_id=run.pk)
        runs.ACTIONS[way](run=run, by=None)
        assert world.planned("Indian").added == 6
