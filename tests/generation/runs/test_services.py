"""Runs: planning is repeatable, and every move that is not allowed says why."""

from __future__ import annotations

import uuid

import pytest
from django.utils import timezone

from annotation.core.leases import JobState
from annotation.models import AuditEvent, Image, ImageSet
from generation.backends.image_fake import FakeTextToImage
from generation.jobs.services import claims, loaded_model, work
from generation.models import Job, Run, RunState
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.plans.errors import PlanRefused
from generation.recipes.askings import CompletionRecipe
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, as_json, sample_seed
from generation.runs import queries
from generation.runs import services as runs
from generation.runs.errors import RunRefused
from generation.runs.named import find_run
from tests import factories
from tests.generation.answers.answered import a_run
from tests.generation.plans import world

pytestmark = pytest.mark.django_db

MOVES = {"start": runs.start, "pause": runs.pause, "resume": runs.resume, "cancel": runs.cancel}


class TestEnsure:
    def test_a_plan_becomes_a_run_with_a_job_for_each_picture(self):
        lead = factories.user()
        recipe = world.recipe(model="drawn by hand")
        plan = plans.plan_images(recipe=recipe, groups=[factories.group("Indian")])
        ensured = runs.ensure(plan=plan, by=lead)
        assert (ensured.added, ensured.total, ensured.run.state) == (6, 6, RunState.PLANNED)
        assert ensured.run.created_by == lead
        image_set = ensured.run.image_set
        assert (image_set.title, image_set.model_name, image_set.drawn) == (image_set.name, "fake", True)
        first = ensured.run.jobs.order_by("pk").first()
        assert (first.prompt, first.number, first.index) == ("a photo of an Indian person", 1, 1)
        assert first.seed == sample_seed(seed=0, prompt=first.prompt, number=1)
        assert sorted(ensured.run.jobs.values_list("index", flat=True)) == [1, 2, 3, 4, 5, 6]
        event = AuditEvent.objects.get()
        assert (event.what, event.by, event.details["jobs"]) == ("run planned", lead, 6)

    def test_a_run_whose_jobs_fail_is_recorded_with_its_study(self, monkeypatch):
        def killed(*_):
            raise SystemExit

        monkeypatch.setattr(runs, "new_jobs", killed)
        study = factories.study()
        plan = plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")], study=study)
        with pytest.raises(SystemExit):
            runs.ensure(plan=plan, by=None)
        event = AuditEvent.objects.get()
        assert (event.what, event.study, event.details["run"]) == ("run planned", study, Run.objects.get().pk)
        monkeypatch.undo()
        runs.ensure(plan=plan, by=None)
        assert AuditEvent.objects.get(what="run extended").study == study

    def test_the_same_plan_again_adds_nothing_and_says_nothing(self):
        first = world.planned("Indian", "Mexican")
        again = world.planned("Mexican", "Indian")
        assert (again.run.pk, again.added, again.total) == (first.run.pk, 0, 12)
        assert AuditEvent.objects.count() == 1

    def test_a_group_that_is_added_adds_only_its_jobs(self):
        first = world.planned("Indian")
        before = list(first.run.jobs.order_by("pk").values())
        more = world.planned("Mexican", "Indian")
        assert (more.run.pk, more.added) == (first.run.pk, 6)
        [extended] = AuditEvent.objects.filter(what="run extended")
        assert (extended.details["run"], extended.details["added"]) == (first.run.pk, 6)
        assert list(first.run.jobs.filter(group__name="Indian").order_by("pk").values()) == before

    def test_more_pictures_a_prompt_are_another_run_that_makes_only_the_rest(self):
        first = world.planned("Indian", images_per_prompt=2)
        more = world.planned("Indian", images_per_prompt=3)
        assert more.run.pk != first.run.pk
        assert list(more.run.jobs.values_list("number", flat=True)) == [3, 3, 3]
        assert sorted(more.run.jobs.values_list("index", flat=True)) == [7, 8, 9]

    def test_what_is_planned_changes_no_other_run_or_set(self):
        """Not even one that is there already, is planned again after it was cancelled, and has limits."""
        world.planned("Indian", image_set="first")
        last = world.planned("Indian", image_set="last")
        ImageSet.objects.update(model_name="said otherwise")
        Run.objects.update(limits={"tokens": 5}, state=RunState.RUNNING, started_at=timezone.now())
        before = [list(model.objects.order_by("pk").values()) for model in (Run, ImageSet)]
        mine = world.planned("Indian")
        runs.cancel(run=mine.run, by=None)
        world.planned("Indian")
        recipe = CompletionRecipe(backend="fake", model="fake")
        runs.ensure(
            plan=plans.plan_askings(recipe=recipe, name="asked", askings=[Asking("a", "Hello")]), by=None
        )
        others = (
            Run.objects.filter(pk__lte=last.run.pk),
            ImageSet.objects.filter(name__in=["first", "last"]),
        )
        assert [list(rows.order_by("pk").values()) for rows in others] == before

    def test_a_set_that_has_images_keeps_what_is_said_of_them(self):
        world.finish(world.planned("Indian").run.jobs.first())
        ImageSet.objects.update(model_name="said otherwise")
        world.planned("Indian", images_per_prompt=3)
        assert ImageSet.objects.get().model_name == "said otherwise"

    def test_numbers_go_on_after_those_of_images_in_the_set(self):
        first = world.planned("Indian")
        factories.image(group_name="Indian", index=40, image_set=first.run.image_set)
        more = world.planned("Indian", images_per_prompt=3)
        assert sorted(more.run.jobs.values_list("index", flat=True)) == [41, 42, 43]

    def test_the_same_recipe_for_another_set_is_another_run_with_the_same_seeds(self):
        one, other = world.planned("Indian"), world.planned("Indian", image_set="other")
        assert one.run.pk != other.run.pk
        seeds = [set(each.run.jobs.values_list("seed", flat=True)) for each in (one, other)]
        assert seeds[0] == seeds[1]

    @pytest.mark.parametrize(
        ("state", "after"),
        [
            (RunState.DONE, RunState.PLANNED),
            (RunState.RUNNING, RunState.RUNNING),
            (RunState.PAUSED, RunState.PAUSED),
        ],
    )
    def test_nothing_runs_that_nobody_started(self, state, after):
        run = world.put(world.planned("Indian").run, state)
        Run.objects.filter(pk=run.pk).update(error="It broke.", finished_at=timezone.now())
        run = world.planned("Indian", "Mexican").run
        assert run.state == after
        again = after == RunState.PLANNED
        assert (run.error, run.finished_at is None) == ("" if again else "It broke.", again)

    def test_a_finished_run_stays_finished_if_nothing_was_added(self):
        world.put(world.planned("Indian").run, RunState.DONE)
        assert world.planned("Indian").run.state == RunState.DONE

    def test_a_plan_larger_than_a_part_is_whole(self, monkeypatch):
        monkeypatch.setattr(runs, "_JOBS_PER_TRANSACTION", 7)
        lock, locked = runs._lock_image_set, []
        monkeypatch.setattr(runs, "_lock_image_set", lambda plan: (locked.append(plan), lock(plan))[1])
        names = ["Indian", "Mexican", "French", "Nepali", "Welsh"]
        assert world.planned(*names).added == 30
        assert len(locked) == 4, "each part is a transaction, and locks the set anew"
        assert world.planned(*names).added == 0

    def test_what_was_interrupted_is_completed(self, monkeypatch):
        monkeypatch.setattr(runs, "_JOBS_PER_TRANSACTION", 6)
        create, calls = Job.objects.bulk_create, []

        def third_fails(jobs, **options):
            calls.append(1)
            if len(calls) == 3:
                raise RuntimeError("killed")
            return create(jobs, **options)

        monkeypatch.setattr(
            type(Job.objects), "bulk_create", lambda self, jobs, **options: third_fails(jobs, **options)
        )
        with pytest.raises(RuntimeError):
            world.planned("Indian", "Mexican", "French")
        assert Job.objects.count() == 12
        again = world.planned("Indian", "Mexican", "French")
        assert (again.added, again.total) == (6, 18)

    def test_a_run_that_is_cancelled_meanwhile_gets_no_more_jobs(self, monkeypatch):
        monkeypatch.setattr(runs, "_JOBS_PER_TRANSACTION", 6)
        find = runs.missing_jobs

        def find_and_cancel(plan):
            found = find(plan)
            runs.cancel(run=Run.objects.get(), by=None)
            return found

        monkeypatch.setattr(runs, "missing_jobs", find_and_cancel)
        ensured = world.planned("Indian", "Mexican", "French")
        assert (ensured.run.state, ensured.added) == (RunState.CANCELLED, 6)
        with pytest.raises(RunRefused, match="Plan it again"):
            runs.start(run=ensured.run, by=None)
        monkeypatch.undo()
        assert world.planned("Indian", "Mexican", "French").total == 18


class TestReading:
    @pytest.fixture
    def shown(self):
        of = factories.image_set("shown")
        for index in (1, 2, 3):
            Image.objects.create(
                image_set=of, group=factories.group(), index=index, width=8, height=8,
                file=f"images/{index}.png", sha256="0" * 64,
            )  # fmt: skip
        return of

    @pytest.mark.parametrize(
        "recipe", [CaptionRecipe(backend="fake"), EmbeddingRecipe(backend="fake", model="fake")]
    )
    def test_a_job_for_each_image_and_later_only_for_new_ones(self, shown, recipe):
        plan = plans.plan_captions_or_embeddings(recipe=recipe, image_set=shown)
        ensured = runs.ensure(plan=plan, by=None)
        assert (ensured.added, ensured.run.image_set) == (3, shown)
        Image.objects.create(
            image_set=shown, group=factories.group(), index=4, width=8, height=8, file="images/4.png",
            sha256="0" * 64,
        )  # fmt: skip
        again = runs.ensure(plan=plans.plan_captions_or_embeddings(recipe=recipe, image_set=shown), by=None)
        assert (again.run.pk, again.added, again.total) == (ensured.run.pk, 1, 4)

    def test_references_are_left_out_with_a_note(self, shown):
        factories.image(index=9, image_set=shown)
        factories.image(image_set=factories.image_set("another"))
        plan = plans.plan_captions_or_embeddings(recipe=CaptionRecipe(backend="fake"), image_set=shown)
        assert plan.total == 3
        assert "1 image has no file" in plan.notes[0]

    def test_a_set_of_references_alone_is_refused(self):
        factories.image()
        with pytest.raises(PlanRefused, match=r"1 references.*Import the files"):
            plans.plan_captions_or_embeddings(
                recipe=CaptionRecipe(backend="fake"), image_set=factories.image_set()
            )

    def test_an_empty_set_is_refused(self):
        with pytest.raises(PlanRefused, match="no image yet"):
            plans.plan_captions_or_embeddings(
                recipe=CaptionRecipe(backend="fake"), image_set=factories.image_set()
            )

    def test_an_unknown_backend_names_those_there_are(self, shown):
        with pytest.raises(PlanRefused, match=r"'gpt' for captions.*fake"):
            plans.plan_captions_or_embeddings(recipe=CaptionRecipe(backend="gpt"), image_set=shown)


class TestMoves:
    @pytest.mark.parametrize(
        ("move", "state", "after"),
        [
            ("start", "planned", "running"),
            ("pause", "running", "paused"),
            ("resume", "paused", "running"),
            ("cancel", "planned", "cancelled"),
            ("cancel", "running", "cancelled"),
            ("cancel", "paused", "cancelled"),
        ],
    )
    def test_what_is_allowed_is_done_and_recorded(self, move, state, after):
        lead = factories.user()
        run = world.put(world.planned("Indian").run, state)
        Run.objects.filter(pk=run.pk).update(error="It broke.")
        assert MOVES[move](run=run, by=lead) is True
        stored = Run.objects.get(pk=run.pk)
        assert stored.error == ("It broke." if move == "resume" else "")
        assert (run.state, stored.state) == (after, after)
        assert (stored.finished_at is not None) == (after == "cancelled")
        event = AuditEvent.objects.exclude(what="run planned").get()
        assert (event.by, event.details["run"]) == (lead, run.pk)

    @pytest.mark.parametrize(
        ("move", "state"),
        [
            ("start", "running"),
            ("start", "done"),
            ("pause", "paused"),
            ("resume", "running"),
            ("cancel", "cancelled"),
        ],
    )
    def test_what_is_so_already_is_no_error(self, move, state):
        run = world.put(world.planned("Indian").run, state)
        assert MOVES[move](run=run, by=None) is False
        assert Run.objects.get(pk=run.pk).state == state
        assert AuditEvent.objects.count() == 1
        assert run.jobs.count() == 6

    @pytest.mark.parametrize(
        ("move", "state", "why"),
        [
            ("start", "paused", "Resume it"),
            ("start", "cancelled", "Plan it again"),
            ("pause", "planned", "has not been started"),
            ("pause", "done", "is done"),
            ("pause", "cancelled", "was cancelled"),
            ("resume", "planned", "Start it"),
            ("resume", "done", "Retry what failed, or plan it again with more groups"),
            ("resume", "cancelled", "Plan it again"),
            ("cancel", "done", "nothing left to cancel"),
        ],
    )
    def test_what_is_not_allowed_says_why(self, move, state, why):
        run = world.put(world.planned("Indian").run, state)
        if move != "start":
            Run.objects.filter(pk=run.pk).update(error="It broke.")
        with pytest.raises(RunRefused, match=f"Run {run.pk} .*{why}"):
            MOVES[move](run=run, by=None)
        assert Run.objects.get(pk=run.pk).state == state

    def test_a_move_asks_the_database_not_the_object_in_hand(self):
        run = world.put(world.planned("Indian").run, RunState.RUNNING)
        stale = Run.objects.get(pk=run.pk)
        runs.cancel(run=run, by=None)
        with pytest.raises(RunRefused, match="was cancelled"):
            runs.pause(run=stale, by=None)

    def test_why_it_stopped_is_known_until_something_is_made(self, monkeypatch):
        monkeypatch.setattr(loaded_model, "_loaded", [])
        monkeypatch.setattr(FakeTextToImage, "batch", 2)
        run = world.put(world.planned("Indian").run, RunState.PAUSED)
        Run.objects.filter(pk=run.pk).update(error="No weights.")
        run.refresh_from_db()
        assert queries.resumed_message(run) == ""
        runs.resume(run=run, by=None)
        assert "had paused because: No weights. If that still holds" in queries.resumed_message(run)
        assert work.work(run_id=run.pk, batches=1) == 2
        run.refresh_from_db()
        assert (run.state, run.error, queries.resumed_message(run)) == (RunState.RUNNING, "", "")

    def test_a_run_whose_jobs_all_failed_did_not_end_by_the_error_that_once_paused_it(self, settings):
        settings.JOB_RETRY_SECONDS = 0
        run = world.put(world.planned("Indian").run, RunState.RUNNING)
        Run.objects.filter(pk=run.pk).update(error="No weights.")
        for job in run.jobs.all():
            world.fail(job)
        work.work(run_id=run.pk)
        run.refresh_from_db()
        assert (run.state, run.error) == (RunState.DONE, "")

    def test_a_recipe_that_its_backend_refuses_is_not_resumed(self):
        run = world.put(world.planned("Indian").run, RunState.PAUSED)
        missing = world.recipe(backend="diffusers", model="/no/such/folder")
        Run.objects.filter(pk=run.pk).update(recipe=as_json(missing), error="No weights.")
        run.refresh_from_db()
        with pytest.raises(RunRefused, match=r"stays paused: There is no folder '/no/such/.*discard it"):
            runs.resume(run=run, by=None)
        run.refresh_from_db()
        assert (run.state, run.error) == (RunState.PAUSED, "No weights.")
        with pytest.raises(RunRefused, match="Start it"):
            runs.resume(run=world.put(run, RunState.PLANNED), by=None)
        Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, recipe={**run.recipe, "version": 0})
        run.refresh_from_db()
        with pytest.raises(RunRefused, match=r"stays paused: .*version"):
            runs.resume(run=run, by=None)

    def test_starting_a_run_that_an_error_paused_says_which(self):
        run = world.put(world.planned("Indian").run, RunState.PAUSED)
        Run.objects.filter(pk=run.pk).update(error="No weights.")
        with pytest.raises(RunRefused, match=r"because of an error: No weights\. Resume it"):
            runs.start(run=run, by=None)

    def test_the_first_start_is_remembered(self):
        run = world.planned("Indian").run
        runs.start(run=run, by=None)
        started = Run.objects.get(pk=run.pk).started_at
        runs.pause(run=run, by=None)
        runs.resume(run=run, by=None)
        assert Run.objects.get(pk=run.pk).started_at == started

    def test_a_run_whose_pictures_another_run_makes_has_nothing_to_do(self):
        world.planned("Indian", images_per_prompt=3)
        less = world.planned("Indian", images_per_prompt=2)
        assert less.total == 0
        assert runs.start(run=less.run, by=None) is False
        assert less.run.state == RunState.DONE
        assert less.run.finished_at is not None

    def test_a_run_whose_jobs_are_all_done_has_nothing_to_do(self):
        run = world.planned("Indian").run
        for job in run.jobs.all():
            world.finish(job)
        assert runs.start(run=run, by=None) is False
        assert run.state == RunState.DONE


class TestCancel:
    def test_what_is_made_and_what_a_worker_holds_stays(self):
        run = world.put(world.planned("Indian").run, RunState.RUNNING)
        made, held, failed, *_ = run.jobs.order_by("pk")
        world.finish(made)
        world.fail(failed)
        now = timezone.now()
        Job.objects.filter(pk=held.pk).update(
            state=JobState.CLAIMED, claim=uuid.uuid4(), lease_expires_at=now, attempts=1
        )
        runs.cancel(run=run, by=None)
        assert set(run.jobs.values_list("pk", flat=True)) == {made.pk, held.pk}
        plan = plans.plan_images(recipe=world.recipe(), groups=[factories.group("Indian")], image_set="trial")
        assert plans.preview(plan).added == 4, "the worker may still make it"
        Job.objects.filter(pk=held.pk).update(claim=None, lease_expires_at=None, state=JobState.PENDING)
        world.fail(held)
        assert plans.preview(plan).added == 5

    def test_a_picture_whose_file_is_made_again_keeps_its_job(self):
        run = world.put(world.planned("Indian").run, RunState.RUNNING)
        job = run.jobs.order_by("pk").first()
        world.finish(job)
        Job.objects.filter(pk=job.pk).update(state=JobState.PENDING, finished_at=None)
        runs.cancel(run=run, by=None)
        assert world.planned("Indian").added == 5
        assert run.jobs.filter(pk=job.pk).exists()

    @pytest.mark.parametrize("kind", ["captions", "descriptions"])
    def test_what_is_to_be_read_from_an_image_goes(self, kind):
        image = factories.image()
        run = Run.objects.create(
            kind=kind,
            name="" if kind == "captions" else "asked",
            image_set=image.image_set,
            backend="fake",
            recipe={},
            recipe_hash="0" * 64,
        )
        asked = {"key": "k", "number": 1, "prompt": "who?", "seed": 1, "group": image.group}
        Job.objects.create(run=run, image=image, **({} if kind == "captions" else asked))
        runs.cancel(run=run, by=None)
        assert not run.jobs.exists()

    def test_a_cancelled_run_that_has_made_everything_stays_cancelled(self):
        run = world.put(world.planned("Indian").run, RunState.RUNNING)
        for job in run.jobs.all():
            world.finish(job)
        runs.cancel(run=run, by=None)
        assert world.planned("Indian").run.state == RunState.CANCELLED

    def test_what_a_worker_put_back_after_the_cancellation_is_planned_once(self):
        run = world.put(world.planned("Indian").run, RunState.RUNNING)
        runs.cancel(run=run, by=None)
        again = world.planned("Indian")
        Run.objects.filter(pk=run.pk).update(state=RunState.CANCELLED)
        assert again.total == 6
        assert world.planned("Indian").total == 6


class TestRetry:
    def test_failed_jobs_get_three_new_tries_and_the_run_runs(self):
        run = world.planned("Indian").run
        first, second, *_ = run.jobs.order_by("pk")
        world.fail(first)
        world.finish(second)
        world.put(run, RunState.DONE)
        Run.objects.filter(pk=run.pk).update(finished_at=timezone.now())
        Job.objects.filter(pk=first.pk).update(not_before=timezone.now())
        assert runs.retry(run=run, by=None) == 1
        first.refresh_from_db()
        assert (first.state, first.attempts, first.error) == (JobState.PENDING, 0, "")
        assert first.not_before is None
        assert Run.objects.get(pk=run.pk).finished_at is None
        second.refresh_from_db()
        assert second.state == JobState.DONE
        assert Run.objects.get(pk=run.pk).state == RunState.RUNNING

    @pytest.mark.parametrize("state", ["planned", "running", "paused"])
    def test_other_runs_stay_as_they_are(self, state):
        run = world.put(world.planned("Indian").run, state)
        world.fail(run.jobs.first())
        assert runs.retry(run=run, by=None) == 1
        assert Run.objects.get(pk=run.pk).state == state

    def test_a_run_without_failures_is_left_alone(self):
        run = world.put(world.planned("Indian").run, RunState.DONE)
        assert runs.retry(run=run, by=None) == 0
        assert Run.objects.get(pk=run.pk).state == RunState.DONE
        assert AuditEvent.objects.count() == 1

    def test_a_cancelled_run_is_refused(self):
        run = world.put(world.planned("Indian").run, RunState.CANCELLED)
        with pytest.raises(RunRefused, match="was cancelled"):
            runs.retry(run=run, by=None)


def test_who_resumes_a_run_that_hardly_fails_accepts_no_failures():
    run = world.put(world.planned("Indian").run, RunState.PAUSED)
    assert runs.resume(run=run, by=None)
    assert not Run.objects.get(pk=run.pk).failures_accepted


def test_who_resumes_a_run_that_mostly_fails_accepts_it_only_if_it_was_paused(monkeypatch):
    monkeypatch.setattr(claims, "mostly_fails", lambda pk: "Most jobs fail.")
    run = world.put(world.planned("Indian").run, RunState.RUNNING)
    assert not runs.resume(run=run, by=None)
    assert not Run.objects.get(pk=run.pk).failures_accepted
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, error="Most jobs fail.")
    assert runs.resume(run=run, by=None)
    run.refresh_from_db()
    assert run.failures_accepted
    assert queries.resumed_message(run).endswith("because: Most jobs fail.")


def test_a_run_is_found_by_its_number_first_and_else_by_its_name():
    first, second = a_run(), a_run()
    Run.objects.filter(pk=second.pk).update(name=str(first.pk))
    world.planned("Indian")  # has no name
    for name, found in ((str(first.pk), first), (first.name, first), (str(second.pk), second)):
        assert find_run(Run.objects.all(), name) == found
    for name in ("", "²", "9" * 5000, "nothing"):
        assert find_run(Run.objects.all(), name) is None
