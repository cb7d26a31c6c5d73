"""What the apps above announce: scores that were computed, runs that came to their end."""

import pytest

from annotation.core.leases import JobState
from annotation.models import Delivery, TaskKind
from annotation.webhooks.services import subscriptions
from generation.jobs.services import claims
from generation.models import RunState
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.recipes.askings import CompletionRecipe
from generation.runs import services as runs
from metrics.score_runs import services as score_runs
from tests import factories
from tests.generation.jobs.world import run_of_pictures
from tests.metrics.cast import depiction_study
from tests.metrics.machine_judges import judged

pytestmark = pytest.mark.django_db


def listen(study, event):
    return subscriptions.add(
        study=study, url="https://hooks.example.org/", events=[event], by=factories.user()
    )


def test_scores_that_are_computed_are_announced_and_those_that_failed_are_not(monkeypatch):
    study = depiction_study()
    listen(study, "scores.finished")
    run = score_runs.request(study=study, metric="tendency", variant="corrected", resamples=100)
    with monkeypatch.context() as broken:
        broken.setattr(score_runs, "evaluate", lambda **asked: 1 / 0)
        score_runs.compute(run_id=run.pk)
    assert not Delivery.objects.exists()
    score_runs.compute(run_id=run.pk)
    message = Delivery.objects.get()
    assert message.payload == {
        "run": run.pk,
        "metric": "tendency",
        "variant": "corrected",
        "scores": run.scores.count(),
    }
    assert run.scores.count() > 0
    score_runs.compute(run_id=run.pk)
    assert Delivery.objects.count() == 1


def test_a_run_that_ends_is_announced_to_each_study_that_shows_its_images():
    run = run_of_pictures(2)
    shows, other = factories.study("shows"), factories.study("other")
    for version in (1, 2):
        factories.task(shows, kind=TaskKind.DEPICTION, image_set=run.image_set, version=version)
    mine = listen(shows, "run.finished")
    listen(other, "run.finished")
    assert not claims.close_run(run_id=run.pk)
    first, second = run.jobs.order_by("pk")
    now = run.created_at
    type(first).objects.filter(pk=first.pk).update(state=JobState.FAILED, error="x", finished_at=now)
    second.delete()
    assert claims.close_run(run_id=run.pk)
    assert not claims.close_run(run_id=run.pk)
    run.refresh_from_db()
    assert run.state == RunState.DONE
    message = Delivery.objects.get()
    assert (message.webhook, message.event) == (mine, "run.finished")
    assert message.payload == {
        "run": run.pk,
        "kind": run.kind,
        "image_set": run.image_set_id,
        "failed_jobs": 1,
    }


def test_a_run_without_images_is_announced_to_nobody():
    study = factories.study("other")
    factories.task(study)
    listen(study, "run.finished")
    plan = plans.plan_askings(
        recipe=CompletionRecipe(backend="fake", model="fake"), name="asked", askings=[Asking("a", "a")]
    )
    run = runs.ensure(plan=plan, by=None).run
    runs.start(run=run, by=None)
    run.jobs.all().delete()
    assert claims.close_run(run_id=run.pk)
    assert not Delivery.objects.exists()


def test_a_machine_judge_is_announced_to_the_study_whose_items_it_judges():
    study, shows = depiction_study(name="judged"), factories.study("shows")
    image_set = study.tasks.get().units.earliest("pk").image.image_set
    for one in (study, shows):
        one.tasks.update_or_create(kind=TaskKind.DEPICTION, defaults={"image_set": image_set, "wording": "?"})
    mine = listen(study, "run.finished")
    listen(shows, "run.finished")
    run = judged.planned(study, TaskKind.DEPICTION)
    assert run.image_set_id == image_set.pk
    runs.start(run=run, by=None)
    run.jobs.all().delete()
    assert claims.close_run(run_id=run.pk)
    assert Delivery.objects.get().webhook == mine
