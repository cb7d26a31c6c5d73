"""How a run stands, how fast it goes, and how long a plan will take."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import AuditEvent, Image
from generation.models import Embedding, Job, Provenance, Run, RunState, TextEmbedding, Worker
from generation.plans.queries import estimates
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, as_json, digest
from generation.runs import queries
from generation.runs import services as runs
from tests import factories
from tests.generation.plans import world

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def finished(run: Run, *seconds_ago: float) -> None:
    """Finish so many open jobs of a run, at these moments before NOW."""
    for job, ago in zip(run.jobs.exclude(state=JobState.DONE).order_by("pk"), seconds_ago, strict=False):
        world.finish(job)
        Job.objects.filter(pk=job.pk).update(finished_at=NOW - timedelta(seconds=ago))


def running(*names: str, started_ago: float, image_set: str = "trial") -> Run:
    run = world.put(world.planned(*names, image_set=image_set).run, RunState.RUNNING)
    Run.objects.filter(pk=run.pk).update(started_at=NOW - timedelta(seconds=started_ago))
    return run


class TestProgress:
    def test_jobs_are_counted_by_state(self):
        run = running("Indian", started_ago=10)
        first, second, *_ = run.jobs.order_by("pk")
        world.finish(first)
        world.fail(second, "It broke.")
        stands = queries.progress(run)
        assert (stands.total, stands.done, stands.failed, stands.pending, stands.claimed) == (6, 1, 1, 4, 0)
        assert stands.state == RunState.RUNNING

    def test_a_run_that_has_just_begun_is_measured_from_its_start(self):
        run = running("Indian", started_ago=10)
        finished(run, 5, 2)
        given_up = run.jobs.filter(state=JobState.PENDING)[0]
        world.fail(given_up)
        Job.objects.filter(pk=given_up.pk).update(finished_at=NOW - timedelta(seconds=1))
        held = run.jobs.filter(state=JobState.PENDING)[:1].get()
        lease = {"claim": uuid.uuid4(), "lease_expires_at": NOW, "attempts": 1}
        Job.objects.filter(pk=held.pk).update(state=JobState.CLAIMED, **lease)
        stands = queries.progress(run, now=NOW)
        assert stands.rate == pytest.approx(2 / 10)  # of what is done
        assert stands.seconds_left == pytest.approx(3 / 0.2)

    def test_a_long_run_is_measured_by_its_last_two_minutes(self):
        run = running("Indian", "Mexican", started_ago=3600)
        finished(run, 3000, 120, 119, 60, 0, -1)
        # from the first of the last two minutes on: two in 119 seconds
        assert queries.progress(run, now=NOW).rate == pytest.approx(2 / 119)

    def test_one_job_in_two_minutes_makes_no_rate(self):
        run = running("Indian", started_ago=3600)
        finished(run, 119)
        assert queries.progress(run, now=NOW).rate is None

    def test_what_stood_still_for_two_minutes_has_no_rate(self):
        run = running("Indian", started_ago=3600)
        finished(run, 3000, 121)
        stands = queries.progress(run, now=NOW)
        assert (stands.rate, stands.seconds_left, stands.idle) == (None, None, True)
        just_begun = NOW - timedelta(seconds=3600 - 119)
        assert not queries.progress(run, now=just_begun).idle

    @pytest.mark.parametrize("state", ["planned", "paused", "done", "cancelled"])
    def test_what_does_not_run_has_no_rate(self, state):
        run = running("Indian", started_ago=10)
        finished(run, 5, 2)
        run = world.put(run, state)
        assert queries.progress(run, now=NOW).rate is None

    def test_it_is_read_from_the_database(self):
        run = running("Indian", started_ago=10)
        Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, error="No weights.")
        stands = queries.progress(run)
        assert (stands.state, stands.error) == ("paused", "No weights.")

    def test_only_a_run_that_is_running_waits_for_its_model(self):
        run = running("Indian", started_ago=10)
        now = timezone.now()
        seen = {"started_at": now, "seen_at": now, "loading_since": now}
        Worker.objects.create(name="gpu a 1", queue="gpu", host="a", run=run, **seen)
        assert queries.progress(run).loading == now
        assert queries.progress(world.put(run, RunState.PAUSED)).loading is None

    def test_a_cancelled_run_counts_what_was_planned(self, django_assert_num_queries):
        run = running("Indian", started_ago=10)
        finished(run, 5, 2)
        held, failed, *_ = run.jobs.exclude(state=JobState.DONE).order_by("pk")
        world.fail(failed)
        lease = {"claim": uuid.uuid4(), "lease_expires_at": NOW, "attempts": 1}
        Job.objects.filter(pk=held.pk).update(state=JobState.CLAIMED, **lease)
        runs.cancel(run=run, by=None)
        stands = queries.progress(run)
        assert (stands.total, stands.done, stands.claimed, stands.cancelled) == (6, 2, 1, 3)
        Job.objects.filter(pk=held.pk).update(state=JobState.PENDING, claim=None, lease_expires_at=None)
        stands = queries.progress(run)
        assert (stands.total, stands.done, stands.cancelled) == (6, 2, 4), "the worker gave it back"
        run.refresh_from_db()
        with django_assert_num_queries(2):
            [row] = queries.run_rows([run])
        assert (row.total, row.done) == (6, 2)

    def test_a_run_waits_behind_the_one_that_workers_are_on(self):
        first = running("Indian", started_ago=20)
        second = running("Indian", started_ago=10, image_set="other")
        assert queries.progress(second, now=NOW).behind is None
        assert queries.progress(second, now=NOW).untouched
        held = first.jobs.order_by("pk")[:1].get()
        lease = {"claim": uuid.uuid4(), "lease_expires_at": NOW + timedelta(days=1), "attempts": 1}
        Job.objects.filter(pk=held.pk).update(state=JobState.CLAIMED, **lease)
        late = NOW + timedelta(seconds=50)
        assert queries.progress(second, now=late).behind == first
        assert queries.progress(first, now=late).behind is None
        assert [row.waits for row in queries.run_rows([first, second])] == [False, True]
        finished(second, 0)
        assert queries.progress(second, now=late).behind is None, "they take turns"

    def test_a_run_waits_while_a_worker_loads_the_model_of_another(self):
        first = running("Indian", started_ago=20)
        second = running("Indian", started_ago=3600, image_set="other")
        now = timezone.now()
        seen = {"started_at": now, "seen_at": now, "loading_since": now}
        worker = Worker.objects.create(name="gpu a 1", queue="gpu", host="a", run=first, **seen)
        stands = queries.progress(second)
        assert (stands.behind, stands.idle) == (first, False)
        world.put(first, RunState.DONE)
        Worker.objects.filter(pk=worker.pk).update(loading_since=None)
        stands = queries.progress(second)
        assert (stands.behind, stands.idle) == (None, True)

    def test_a_run_with_a_job_in_hand_is_not_idle(self):
        run = running("Indian", started_ago=3600)
        held = run.jobs.order_by("pk")[:1].get()
        lease = {"claim": uuid.uuid4(), "lease_expires_at": NOW + timedelta(minutes=1), "attempts": 1}
        Job.objects.filter(pk=held.pk).update(state=JobState.CLAIMED, **lease)
        assert not queries.progress(run, now=NOW).idle
        assert queries.progress(run, now=NOW + timedelta(minutes=1)).idle, "the lease has expired"

    def test_a_run_whose_jobs_wait_for_another_attempt_says_until_when(self):
        run = running("Indian", started_ago=3600)
        finished(run, 60, 50, 40, 30, 20)
        later = NOW + timedelta(minutes=9)
        run.jobs.exclude(state=JobState.DONE).update(error="It broke.", attempts=1, not_before=later)
        stands = queries.progress(run, now=NOW)
        assert (stands.resting, stands.seconds_left) == (later, None)
        assert not queries.progress(run, now=NOW + timedelta(minutes=5)).idle
        assert queries.progress(run, now=later).resting is None
        assert queries.progress(run, now=later).idle

    def test_a_run_that_was_just_resumed_is_not_idle(self):
        run = running("Indian", started_ago=3600)
        runs.pause(run=run, by=None)
        runs.resume(run=run, by=None)
        resumed = AuditEvent.objects.get(what="run resumed").at
        assert not queries.progress(run, now=resumed + timedelta(seconds=119)).idle
        assert queries.progress(run, now=resumed + timedelta(seconds=121)).idle

    def test_equal_errors_are_told_once_and_those_that_are_parked_first(self):
        run = running("Indian", started_ago=10)
        jobs = list(run.jobs.order_by("pk"))
        for job in jobs[:2]:
            Job.objects.filter(pk=job.pk).update(error="Out of room.", attempts=1)
        world.fail(jobs[2], "It broke.")
        broke, room = queries.progress(run).errors
        assert (broke.error, broke.jobs, broke.parked) == ("It broke.", 1, 1)
        assert broke.example == jobs[2].prompt
        assert (room.error, room.jobs, room.parked) == ("Out of room.", 2, 0)

    def test_of_errors_the_most_frequent_of_this_run_are_told_and_none_of_what_was_made_since(self):
        world.fail(world.planned("Indian", image_set="other").run.jobs.first(), "e 1")
        run = running("Indian", "French", started_ago=10)
        jobs = list(run.jobs.order_by("pk"))
        for job, error in zip(jobs, ("b", "c", "c", "e 1", "e 2", "e 3", "e 4", "done"), strict=False):
            Job.objects.filter(pk=job.pk).update(error=error, attempts=1)
        world.finish(jobs[7])
        told = queries.progress(run).errors
        assert [each.error for each in told] == ["c", "b", "e 1", "e 2", "e 3"]
        assert [each.example for each in told] == [str(jobs[number]) for number in (1, 0, 3, 4, 5)]

    def test_an_empty_run_stands_at_nothing(self):
        run = running("Indian", started_ago=10)
        run.jobs.all().delete()
        stands = queries.progress(run)
        assert (stands.total, stands.rate, stands.errors) == (0, None, ())


class TestPage:
    """What the page of a run lists."""

    def test_the_images_that_are_done_newest_first(self, monkeypatch):
        monkeypatch.setattr(queries, "LATEST_SHOWN", 3)
        run = running("Indian", "Mexican", started_ago=10)
        finished(run, 8, 7, 6, 5, 4, 3)
        jobs = list(run.jobs.order_by("pk"))
        finished(world.planned("Indian", image_set="other").run, 1)
        world.fail(jobs[5])  # its file was lost
        images = [Job.objects.get(pk=jobs[number].pk).image for number in (4, 3, 2)]
        assert queries.latest_images(run) == images

    def test_its_first_failed_jobs(self, monkeypatch):
        monkeypatch.setattr(queries, "FAILED_SHOWN", 2)
        world.fail(world.planned("Indian", image_set="other").run.jobs.first())
        run = running("Indian", started_ago=10)
        jobs = list(run.jobs.order_by("pk"))
        for job in jobs[1:4]:
            world.fail(job)
        assert queries.failed_jobs(run) == jobs[1:3]

    def test_what_it_has_embedded(self, monkeypatch):
        monkeypatch.setattr(queries, "LATEST_SHOWN", 2)
        one, other = (
            Run.objects.create(
                kind="embeddings",
                image_set=factories.image_set(),
                backend="fake",
                recipe={},
                recipe_hash=each * 64,
            )
            for each in "ab"
        )
        for run, text in ((other, "z"), (one, "c"), (one, "b"), (one, "a")):
            TextEmbedding.objects.create(run=run, text=text, dim=1, vector=bytes(4))
            image = factories.image(index=TextEmbedding.objects.count())
            Embedding.objects.create(run=run, image=image, dim=1, vector=bytes(4))
        assert queries.embedded(one) == queries.Embedded(images=3, texts=3, examples=["c", "b"])

    def test_its_own_prompt_is_that_of_its_first_image_from_an_image(self):
        run, other = (
            Run.objects.create(
                kind="images",
                image_set=factories.image_set(each),
                backend="fake",
                recipe={},
                recipe_hash=each * 64,
            )
            for each in "ab"
        )
        mexican = factories.group("Mexico")
        mexican.demonym = "Mexican"
        mexican.save()
        nameless = factories.group("Indian")
        nameless.demonym = " "
        nameless.save()

        def job(of, group, prompt, prompt_set="from_images"):
            number = Job.objects.count() + 1
            Job.objects.create(
                run=of, group=group, prompt=prompt, prompt_set=prompt_set, number=number, index=number, seed=1
            )

        assert queries.own_prompt(run) == ""
        job(other, mexican, "something else")
        job(run, mexican, "a photo of a Mexican person", prompt_set="detection")
        assert queries.own_prompt(run) == ""
        job(run, mexican, "a Mexican person")
        assert queries.own_prompt(run) == "a Mexican person"
        job(run, nameless, "an Indian person")
        assert queries.own_prompt(run) == "{group} person"
        job(run, nameless, "a Mexican person")
        assert queries.own_prompt(run) == "a Mexican person"
        run.jobs.filter(group=mexican).delete()
        job(run, mexican, "a Mexican neighbour")
        assert queries.own_prompt(run) == "{group} person"


def test_runs_are_listed_newest_first_with_their_jobs(django_assert_num_queries):
    first = world.planned("Indian").run
    world.finish(first.jobs.first())
    world.fail(first.jobs.last())
    second = world.planned("Indian", "Mexican", image_set="other").run
    with django_assert_num_queries(2):
        newest, oldest = queries.run_rows(list(queries.all_runs()))
    assert (newest.run.pk, newest.total, newest.done, newest.failed) == (second.pk, 12, 0, 0)
    assert (oldest.run.pk, oldest.total, oldest.done, oldest.failed) == (first.pk, 6, 1, 1)
    assert [each.run.pk for each in queries.run_rows([first])] == [first.pk]


class TestEstimates:
    def test_a_guess_says_that_it_is_one(self):
        told = estimates.estimate(world.recipe(backend="diffusers", model="m"), jobs=10)
        assert not told.measured
        assert told.basis.startswith("assumed:")
        assert told.seconds > 0
        assert told.bytes > 0

    def test_a_guess_grows_with_steps_pixels_and_precision(self):
        def seconds(**fields):
            recipe = world.recipe(**{"backend": "diffusers", "model": "m", "dtype": "float16", **fields})
            return estimates.estimate(recipe, jobs=10).seconds

        once = seconds(steps=20, width=512, height=512)
        assert seconds(steps=40, width=512, height=512) == pytest.approx(2 * once)
        assert seconds(steps=20, width=1024, height=1024) == pytest.approx(4 * once)
        assert seconds(steps=20, width=512, height=512, dtype="float32") == pytest.approx(2 * once)
        assert seconds(steps=None, width=512, height=512) == pytest.approx(50 / 20 * once)

    def test_jobs_like_these_that_were_done_here_are_better(self):
        run = running("Indian", started_ago=10)
        finished(run, 3, 2, 1)
        for image, size in zip(Image.objects.filter(jobs__run=run), (4000, 6000), strict=False):
            Provenance.objects.create(
                image=image, run=run, seed=1, recipe_hash=run.recipe_hash, device="NVIDIA A100"
            )
            Image.objects.filter(pk=image.pk).update(
                file=default_storage.save("images/one.png", ContentFile(b"x" * size))
            )
        told = estimates.estimate(world.recipe(), jobs=100)
        assert told.measured
        assert told.seconds == pytest.approx(50)  # world.finish: half a second each
        assert told.bytes == 500_000
        assert "3 like these on NVIDIA A100" in told.basis

    @pytest.mark.parametrize(
        "fields", [{"steps": 20}, {"steps": None}, {"dtype": "float16"}, {"width": 128}, {"repeatable": True}]
    )
    def test_jobs_of_another_cost_are_not_like_these(self, fields):
        finished(running("Indian", started_ago=10), 3, 2, 1)
        assert not estimates.estimate(world.recipe(**fields), jobs=100).measured

    def test_repeatable_jobs_are_like_those_from_before_there_were_others(self):
        finished(world.planned("Indian", repeatable=True).run, 1)
        assert "repeatable" not in Run.objects.get().recipe
        assert estimates.estimate(world.recipe(repeatable=True), jobs=100).measured
        assert not estimates.estimate(world.recipe(), jobs=100).measured

    def test_a_model_with_its_own_steps_is_found_again(self):
        groups = world.planned("Indian", steps=None)
        finished(groups.run, 1)
        assert estimates.estimate(world.recipe(steps=None), jobs=100).measured

    def test_other_seeds_and_prompts_cost_the_same(self):
        finished(running("Indian", started_ago=10), 3, 2, 1)
        assert estimates.estimate(world.recipe(seed=9, prompt_sets=("default",)), jobs=1).measured

    def test_a_file_that_is_gone_tells_nothing(self):
        run = running("Indian", started_ago=10)
        finished(run, 1)
        image = Image.objects.get()
        Provenance.objects.create(image=image, run=run, seed=1, recipe_hash=run.recipe_hash)
        assert estimates.estimate(world.recipe(), jobs=1).bytes > 0

    def test_vectors_of_the_size_that_was_measured(self):
        recipe = EmbeddingRecipe(backend="fake", model="fake")
        run = Run.objects.create(
            kind=recipe.kind, image_set=factories.image_set(), backend="fake", recipe=as_json(recipe),
            recipe_hash=digest(recipe, image_set="test-set"),
        )  # fmt: skip
        guessed = estimates.estimate(recipe, jobs=10).bytes
        Embedding.objects.create(run=run, image=factories.image(), dim=8, vector=b"0" * 32)
        assert estimates.estimate(recipe, jobs=10).bytes == 10 * (4 * 8 + 120) < guessed

    def test_captions_take_room_by_their_number(self):
        few, many = (
            estimates.estimate(CaptionRecipe(backend="fake", count=count), jobs=10).bytes for count in (1, 50)
        )
        assert many == 50 * few
