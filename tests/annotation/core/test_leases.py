"""Leases: a job is one worker's at a time, a try is counted before it begins, and the key is the fence.

For each of the four tables of jobs.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.core import leases
from annotation.core.leases import Heartbeat, JobState
from annotation.exports.services.jobs import LEASES as EXPORTS
from annotation.models import Delivery, ExportJob, Webhook
from annotation.webhooks.services.deliveries import LEASES as MESSAGES
from generation.jobs.services.claims import JOBS
from generation.models import Job
from metrics.models import ScoreRun
from metrics.score_runs.services import LEASES as SCORES
from tests import factories
from tests.generation.jobs.world import run_of_pictures

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def _exports(number):
    by = factories.user("lead")
    study = factories.study("words", leads=[by])
    return ExportJob.objects.bulk_create(ExportJob(study=study, by=by, format="csv") for _ in range(number))


def _messages(number):
    webhook = Webhook.objects.create(
        study=factories.study("words"), url="https://hooks.example.org", secret="x"
    )
    return Delivery.objects.bulk_create(
        Delivery(webhook=webhook, event="study.paused", key=uuid4()) for _ in range(number)
    )


def _scores(number):
    study = factories.study("words")
    return ScoreRun.objects.bulk_create(
        ScoreRun(
            study=study, metric="theta", version=1, variant="corrected", digest="0" * 64, seed=n, resamples=9
        )
        for n in range(number)
    )


def _pictures(number):
    return list(run_of_pictures(number).jobs.order_by("pk"))


TABLES = {
    "exports": (EXPORTS, _exports),
    "messages": (MESSAGES, _messages),
    "scores": (SCORES, _scores),
    "pictures": (JOBS, _pictures),
}


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param]


class World:
    """Six jobs of one table."""

    def __init__(self, table) -> None:
        self.leases, make = table
        self.jobs = make(6)

    def claim(self, limit=1, *, now=NOW):
        rows = self.leases.table.objects.filter(pk__in=[job.pk for job in self.jobs]).order_by("pk")
        return self.leases.claim(rows, limit=limit, now=now)

    def numbers(self, claim):
        return [self.jobs.index(job) + 1 for job in claim.jobs]

    def job(self, number):
        return self.leases.table.objects.get(pk=self.jobs[number - 1].pk)

    def after(self, **more):
        return NOW + self.leases.length() + timedelta(**more)


@pytest.fixture
def world(table):
    return World(table)


def test_jobs_are_claimed_in_order_once_and_the_try_is_counted(world):
    first, second, third = world.claim(4), world.claim(4), world.claim(4)
    assert (world.numbers(first), world.numbers(second), third) == ([1, 2, 3, 4], [5, 6], None)
    assert {(job.state, job.attempts, job.claim) for job in first.jobs} == {(JobState.CLAIMED, 1, first.key)}
    assert {job.lease_expires_at for job in first.jobs} == {world.after()}
    assert first.key != second.key
    assert not world.leases.claimable(world.after()).exists()
    assert world.leases.claimable(world.after(seconds=1)).count() == 6


def test_what_was_tried_before_comes_last_and_alone(world):
    world.claim(3)
    later = world.after(seconds=1)
    found = [world.claim(4, now=later) for _ in range(5)]
    assert [world.numbers(claim) for claim in found[:4]] == [[4, 5, 6], [1], [2], [3]]
    assert found[4] is None


def test_what_failed_comes_after_what_was_abandoned_and_alone_too(world):
    failed, _abandoned = world.claim(2), world.claim(4)
    failed.fail({job.pk: "No." for job in failed.jobs}, now=NOW)
    later = world.after(days=1)
    found = [world.claim(4, now=later) for _ in range(6)]
    assert [world.numbers(claim) for claim in found] == [[3], [4], [5], [6], [1], [2]]


def test_a_lease_that_is_renewed_is_not_claimed(world):
    mine = world.claim(6)
    assert mine.renew(now=NOW + world.leases.length() / 2) == 6
    assert world.claim(now=world.after(seconds=1)) is None
    late = NOW + world.leases.length() * 1.5 + timedelta(seconds=1)
    assert world.claim(now=late) is not None
    # Another worker has one of them now.
    assert mine.renew(now=late) == 5


def test_a_job_whose_workers_never_came_back_fails_after_the_last(world):
    rows = world.leases.table.objects.filter(pk=world.jobs[0].pk)
    for day in range(world.leases.tries):
        assert world.leases.claim(rows, now=NOW + timedelta(days=day)).jobs[0].attempts == day + 1
    end = NOW + timedelta(days=world.leases.tries)
    assert world.leases.claim(rows, now=end) is None
    job = world.job(1)
    assert (job.state, job.claim, job.finished_at) == (JobState.FAILED, None, end)
    assert "worker" in job.error


def test_a_failed_try_is_made_again_after_a_pause_and_is_over_after_the_last(world):
    rows = world.leases.table.objects.filter(pk=world.jobs[0].pk)
    now = NOW
    for attempt in range(1, world.leases.tries):
        mine = world.leases.claim(rows, now=now)
        assert mine.fail({mine.jobs[0].pk: "it rained"}, now=now) == 0
        pause = world.leases.pause(attempt)
        job = world.job(1)
        assert (job.state, job.error, job.not_before) == (JobState.PENDING, "it rained", now + pause)
        assert not pause or world.leases.claim(rows, now=now + pause - timedelta(seconds=1)) is None
        now += pause
    mine = world.leases.claim(rows, now=now)
    assert mine.jobs[0].not_before is None, "the pause is over"
    assert mine.fail({mine.jobs[0].pk: ""}, now=now) == 1
    job = world.job(1)
    assert (job.state, job.not_before, job.attempts) == (JobState.FAILED, None, world.leases.tries)
    assert job.error, "people need a reason"
    assert world.leases.claim(rows, now=now + timedelta(days=9)) is None


def test_what_is_refused_for_good_is_not_tried_again(world):
    mine = world.claim()
    assert mine.fail({mine.jobs[0].pk: "never"}, final=True) == 1
    assert (world.job(1).state, world.job(1).attempts) == (JobState.FAILED, 1)


def test_what_is_given_back_used_up_no_try_and_is_claimed_with_others(world):
    mine = world.claim(3)
    assert mine.release([mine.jobs[0].pk], error="the disk is full", not_before=world.after()) == 1
    assert mine.release() == 2
    job = world.job(1)
    assert (job.attempts, job.error, job.claim) == (0, "the disk is full", None)
    assert world.numbers(world.claim(6)) == [2, 3, 4, 5, 6]
    assert world.numbers(world.claim(6, now=world.after())) == [1]


def test_what_is_done_has_no_error_any_more():
    world = World(TABLES["messages"])
    mine = world.claim()
    mine.fail({mine.jobs[0].pk: "it rained"}, now=NOW)
    Delivery.objects.exclude(pk=mine.jobs[0].pk).delete()
    assert world.claim(now=world.after(days=1)).finish(now=world.after(days=1)) == 1
    job = world.job(1)
    assert (job.state, job.error, job.claim) == (JobState.DONE, "", None)
    assert job.finished_at == world.after(days=1)


def test_a_worker_that_comes_too_late_changes_nothing(world):
    late = world.claim(6)
    other = world.claim(now=world.after(seconds=1))
    [theirs] = other.jobs
    late.fail({theirs.pk: "too late"})
    late.release([theirs.pk])
    assert late.finish([theirs.pk]) == 0
    job = world.leases.table.objects.get(pk=theirs.pk)
    assert (job.state, job.claim, job.attempts, job.error) == (JobState.CLAIMED, other.key, 2, "")


def test_the_heartbeat_renews_sets_what_it_is_given_and_notices_a_lost_claim(monkeypatch):
    world = World(TABLES["exports"])
    mine = world.claim(now=timezone.now() - leases.lease_length())
    beat = Heartbeat(mine, values=lambda: {"rows": 7})
    beat._renew()
    assert (world.job(1).rows, beat.lost) == (7, False)
    assert world.job(1).lease_expires_at > timezone.now()
    with monkeypatch.context() as completing:
        completing.setattr(leases.Claim, "renew", lambda _claim, **_values: 0)  # another thread has the row
        beat._renew()
    assert not beat.lost
    ExportJob.objects.filter(pk=mine.jobs[0].pk).update(claim=uuid4())
    beat._renew()
    assert beat.lost


def test_the_heartbeat_beats_three_times_per_lease_or_more_often():
    third = leases.lease_length().total_seconds() / 3
    assert [Heartbeat(every=each)._every() for each in (None, 1, 10 * third)] == [third, 1, third]


def test_other_columns_are_set_with_the_claim():
    world = World(TABLES["pictures"])
    world.leases.claim(Job.objects.order_by("pk"), limit=2, worker="here 1")
    assert [job.worker for job in Job.objects.order_by("pk")] == ["here 1"] * 2 + [""] * 4
