"""Results that cannot be stored as they are, beside others that can."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.core.leases import JobState
from annotation.models import Image
from generation import backends
from generation.backends.base import About, Reply
from generation.jobs.services import stream_session, work
from generation.models import Answer, RunState
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.recipes.askings import ClassificationRecipe
from generation.runs import services as runs
from tests import factories
from tests.generation.jobs.asked import run_of
from tests.generation.jobs.world import counted, run_of_pictures, state

pytestmark = pytest.mark.django_db
ODD, KEPT = "one\0two \ud800three", "one\N{REPLACEMENT CHARACTER}two ?three"


def test_an_answer_that_cannot_be_stored_fails_alone_and_the_others_are_asked_once(server):
    asked = server(in_flight=8, together=8)
    asked.answers["3"] = Reply("text", "stop", 10**30)
    run = run_of(*map(str, range(8)))
    while work.work(run_id=run.pk):
        pass
    assert counted(run) == {JobState.DONE: 7, JobState.FAILED: 1}
    assert asked.asked == {**{str(number): 1 for number in range(8)}, "3": 3}
    assert "The result could not be stored (" in run.jobs.get(key="3").error


def test_a_picture_whose_place_is_taken_costs_the_others_of_its_batch_nothing(model):
    run = run_of_pictures(3)
    group = run.jobs.get(number=2).group
    Image.objects.create(
        image_set=run.image_set, group=group, index=2, width=8, height=8, reference="somebody.png"
    )
    assert work.work(run_id=run.pk) == 2
    assert set(run.jobs.filter(state=JobState.DONE).values_list("attempts", flat=True)) == {1}


def test_a_run_pauses_when_most_of_what_it_makes_cannot_be_stored(model):
    run = run_of_pictures(3)
    for job in run.jobs.all():
        Image.objects.create(
            image_set=run.image_set, group=job.group, index=job.index, width=8, height=8, reference="a.png"
        )
    work.work(run_id=run.pk)
    assert state(run)[0] == RunState.PAUSED
    assert "Most jobs fail: 3 of 3 so far. The first error: The result could not be stored" in run.error


def test_the_reason_why_an_answer_ended_is_kept_as_far_as_it_can_be(server):
    asked = server()
    asked.answers["a"] = Reply("text", ODD)
    run = run_of("a")
    assert work.work(run_id=run.pk) == 1
    assert Answer.objects.get(run=run).ended == KEPT


def test_the_reason_of_a_filter_is_kept_and_stands_on_the_page_of_the_answer(server, client):
    asked = server()
    asked.answers["a"] = Reply("", "filter", reason=ODD)
    run = run_of("a", "b")
    assert work.work(run_id=run.pk) == 2
    job = run.jobs.get(key="a")
    assert job.answer.extra == {"reason": KEPT}
    assert run.jobs.get(key="b").answer.extra == {}
    client.force_login(factories.user("maker", lead=True))
    assert KEPT in client.get(reverse("run_answer", args=[run.pk, job.pk])).text


def test_an_error_that_no_database_takes_is_kept_as_far_as_it_can_be(server, caplog):
    # the traceback in the log holds half a character, which no process of pytest can send to another
    caplog.set_level("CRITICAL", logger=stream_session.log.name)
    asked = server()
    asked.answers["a"] = ValueError(ODD)
    run = run_of("a", "b", "c")
    assert work.work(run_id=run.pk) == 2
    assert run.jobs.get(key="a").error == f"ValueError: {KEPT}"


def test_labels_that_no_database_takes_are_kept_as_far_as_they_can_be(model, monkeypatch):
    class Classifier:
        about, batch, labels = About("m", "", "cpu", {}), 4, (ODD, "b")

        def classify(self, texts):
            return [(0.75, 0.25)] * len(texts)

    monkeypatch.setattr(backends, "check", lambda recipe: None)
    monkeypatch.setattr(backends, "load", lambda recipe, device: Classifier())
    plan = plans.plan_askings(
        recipe=ClassificationRecipe(model="m"), name="asked", askings=[Asking("a", "a")], limits=None
    )
    run = runs.ensure(plan=plan, by=None).run
    runs.start(run=run, by=None)
    assert work.work(run_id=run.pk) == 1
    assert state(run) == (RunState.DONE, "")
    answer = Answer.objects.get(run=run)
    assert (answer.text, answer.probabilities) == (KEPT, {KEPT: 0.75, "b": 0.25})
