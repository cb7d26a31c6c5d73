"""Runs that ask a server: how many at once, what is stored, what comes of its errors, and the limits."""

from __future__ import annotations

import errno
import time
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.core.leases import JobState
from generation.backends.base import BackendError, Refused, Reply, ServerAway
from generation.jobs.services import claims, pauses, work
from generation.models import Answer, RunState
from generation.recipes.askings import CompletionRecipe
from generation.recipes.limits import Limits
from generation.runs import services as runs
from tests import factories
from tests.generation.jobs.asked import run_of
from tests.generation.jobs.world import counted, state

pytestmark = pytest.mark.django_db


def test_every_prompt_is_asked_once_and_answered_in_a_row_of_its_own(server):
    asked = server()
    run = run_of("a", "b", "c")
    began = time.perf_counter()
    assert work.work(run_id=run.pk) == 3
    took = time.perf_counter() - began
    assert state(run) == (RunState.DONE, "")
    rows = Answer.objects.filter(run=run).values_list("job__key", "text", "ended", "tokens_in", "tokens_out")
    assert list(rows) == [(each, each.upper(), "stop", 3, 2) for each in "abc"]
    assert set(asked.asked.values()) == {1}
    assert (run.tokens_in, run.tokens_out) == (9, 6)
    assert all(0 < answer.seconds <= took for answer in Answer.objects.filter(run=run))


def test_each_sample_has_a_seed_of_its_own_and_more_samples_are_added(server):
    server()
    run = run_of("a", recipe=CompletionRecipe(model="m", times=3))
    assert work.work(run_id=run.pk) == 3
    assert len(set(run.jobs.values_list("seed", flat=True))) == 3
    assert sorted(run.jobs.values_list("number", flat=True)) == [1, 2, 3]


@pytest.mark.parametrize(("limits", "most"), [(None, 4), (Limits(in_flight=2), 2)])
def test_as_many_are_asked_at_once_as_there_are_places(server, monkeypatch, limits, most):
    asked = server(in_flight=4, together=most)
    run = run_of(*map(str, range(40)), limits=limits)
    real, places, held = claims.claim, set(), []

    def claim(**given):
        places.add(given["limit"])
        held.append(run.jobs.filter(state=JobState.CLAIMED).count())
        return real(**given)

    monkeypatch.setattr(claims, "claim", claim)
    assert work.work(run_id=run.pk) == 40
    assert asked.most == most
    assert places == {most}
    assert most <= max(held) < most + most // 2 + 1, "it leaves the rest to other workers"


@pytest.mark.parametrize(
    ("how", "number"), [({"batches": 1}, 4), ({"seconds": 0}, 0), ({"stopping": lambda: True}, 0)]
)
def test_it_ends_after_so_many_batches_or_seconds_or_when_told(server, how, number):
    server(in_flight=4)
    run = run_of(*map(str, range(12)))
    assert work.work(run_id=run.pk, **how) == number
    left = {JobState.PENDING: 12 - number} | ({JobState.DONE: number} if number else {})
    assert (state(run)[0], counted(run)) == (RunState.RUNNING, left)


def test_a_refused_prompt_is_not_asked_again_as_the_page_says_and_stops_no_other(server, client):
    asked = server()
    asked.answers["b"] = Refused("The prompt is too long.")
    run = run_of("a", "b", "c")
    work.work(run_id=run.pk)
    assert asked.asked["b"] == 1
    assert counted(run) == {JobState.DONE: 2, JobState.FAILED: 1}
    assert run.jobs.get(key="b").error == "The prompt is too long."
    client.force_login(factories.user("maker", lead=True))
    page = client.get(reverse("run", args=[run.pk])).text
    assert "up to three attempts. One that a server refused for good is not" in page


def test_a_server_that_is_away_costs_no_attempt(server):
    asked = server(in_flight=1)
    asked.answers["a"] = ServerAway("The server 'test' does not answer.")
    run = run_of("a", "b")
    assert work.work(run_id=run.pk) == 0
    job = run.jobs.get(key="a")
    assert (job.state, job.attempts, job.error) == (
        JobState.PENDING,
        0,
        "The server 'test' does not answer.",
    )
    assert asked.asked == {"a": 1}, "the others wait, too"
    del asked.answers["a"]
    while work.work(run_id=run.pk):
        pass
    assert counted(run) == {JobState.DONE: 2}


def test_a_storage_that_is_away_for_one_asking_costs_no_attempt_and_stops_no_other(server, monkeypatch):
    monkeypatch.setattr(pauses, "SERVER_SECONDS", 60)
    server().answers["a"] = OSError(errno.EIO, "Input/output error")
    run = run_of("a", "b")
    assert work.work(run_id=run.pk) == 1
    job = run.jobs.get(key="a")
    assert (job.state, job.attempts) == (JobState.PENDING, 0)
    assert "tried again every minute" in job.error


@pytest.mark.parametrize("seconds", [7200.0, 90.0])
def test_a_server_that_asks_to_wait_is_asked_nothing_of_the_run_until_then(server, monkeypatch, seconds):
    monkeypatch.setattr(pauses, "SERVER_SECONDS", 60)
    monkeypatch.setattr(claims, "_HELD_AT_ONCE", 2)
    asked = server(in_flight=2)
    asked.answers["a"] = ServerAway("Slow down.", seconds)
    run, other = run_of("a", *map(str, range(9))), run_of("other", name="other")
    before = timezone.now()
    while work.work(run_id=run.pk):
        pass
    assert asked.asked.total() <= 2, "those in flight"
    open_jobs = run.jobs.exclude(state=JobState.DONE)
    assert set(open_jobs.values_list("state", "attempts")) == {(JobState.PENDING, 0)}
    then = before + timedelta(seconds=seconds)
    assert min(open_jobs.values_list("not_before", flat=True)) >= then
    assert work.runs_needing_work() == [other.pk]
    open_jobs.update(not_before=timezone.now())
    del asked.answers["a"]
    while work.work(run_id=run.pk):
        pass
    assert counted(run) == {JobState.DONE: 10}


def test_a_server_that_asks_to_wait_for_less_than_a_minute_is_asked_after_a_minute(server, monkeypatch):
    monkeypatch.setattr(pauses, "SERVER_SECONDS", 60)
    asked = server(in_flight=1)
    asked.answers["a"] = ServerAway("Slow down.", 5.0)
    run = run_of("a", "b")
    before = timezone.now()
    work.work(run_id=run.pk)
    assert run.jobs.get(key="a").not_before >= before + timedelta(seconds=60)
    assert run.jobs.get(key="b").not_before is None


def test_an_error_that_a_person_has_to_mend_pauses_the_run_and_keeps_what_is_answered(server):
    asked = server(in_flight=2, together=2)
    asked.answers["a"] = BackendError("The key is wrong. Set MODEL_SERVER_KEY_TEST.")
    run = run_of("a", "b", "c")
    work.work(run_id=run.pk)
    assert state(run) == (RunState.PAUSED, "The key is wrong. Set MODEL_SERVER_KEY_TEST.")
    assert counted(run) == {JobState.DONE: 1, JobState.PENDING: 2}
    assert asked.asked == {"a": 1, "b": 1}
    assert set(run.jobs.filter(state=JobState.PENDING).values_list("attempts", flat=True)) == {0}


def test_an_unexpected_error_is_tried_three_times(server):
    asked = server()
    asked.answers["a"] = ValueError("what is this?")
    run = run_of("a", *map(str, range(9)))
    while work.work(run_id=run.pk):
        pass
    assert asked.asked["a"] == 3
    assert run.jobs.get(key="a").error == "ValueError: what is this?"


@pytest.mark.parametrize("error", [Refused("No."), ValueError("What is this?")])
def test_most_prompts_failing_pauses_the_run_and_nothing_more_is_asked(server, monkeypatch, settings, error):
    settings.JOB_RETRY_SECONDS = 60
    # it pauses the run itself, and need not look whether somebody did
    monkeypatch.setattr(pauses, "POLL_SECONDS", 600)
    asked = server(in_flight=32, together=32)
    prompts = [str(number) for number in range(200)]
    asked.answers |= dict.fromkeys(prompts, error)
    run = run_of(*prompts)
    work.work(run_id=run.pk)
    assert state(run)[0] == RunState.PAUSED
    # those in the 32 places, and in places that fewer than ten refusals have left
    assert asked.asked.total() < 32 + 10
    assert JobState.CLAIMED not in counted(run)


def test_a_text_that_no_database_takes_is_kept_as_far_as_it_can_be(server):
    asked = server()
    asked.answers["a"] = Reply("one\0two \ud800three", "stop")
    asked.answers["b"] = Reply("x" * 1_000_000, "length")
    run = run_of("a", "b")
    assert work.work(run_id=run.pk) == 2
    assert Answer.objects.get(job__key="a").text == "one\N{REPLACEMENT CHARACTER}two ?three"
    assert len(Answer.objects.get(job__key="b").text) == 1_000_000


def test_tokens_that_a_server_does_not_count_are_estimated_for_the_limits(server):
    asked = server()
    asked.answers["abcd"] = Reply("twelve chars", "stop")
    run = run_of("abcd")
    work.work(run_id=run.pk)
    run.refresh_from_db()
    assert (run.tokens_in, run.tokens_out) == (1, 3)
    assert Answer.objects.get(run=run).tokens_in is None


class TestLimits:
    def test_no_asking_is_made_that_could_exceed_the_tokens(self, server):
        asked = server(in_flight=8)
        # One asking takes at most 1 + 50 (chat template) + 10 tokens, and took 5.
        run = run_of(*"abcdefghijklmnopqrstuvwxyz", limits=Limits(tokens=132))
        while work.work(run_id=run.pk):
            pass
        assert state(run)[0] == RunState.PAUSED
        assert "75 of at most 132 tokens are used, and one more asking may take up to 61" in run.error
        assert sum(asked.asked.values()) == counted(run)[JobState.DONE] == 15
        assert asked.most <= 2

    def test_a_raised_limit_lets_it_go_on(self, server):
        server()
        run = run_of("a", "b", limits=Limits(tokens=5))
        assert work.work(run_id=run.pk) == 0
        assert "0 of at most 5 tokens are used, and one more asking may take up to 61" in state(run)[1]
        run.limits = {"tokens": 10_000}
        run.save()
        runs.resume(run=run, by=None)
        assert work.work(run_id=run.pk) == 2

    def test_cost_is_counted_at_the_prices(self, server):
        server(in_flight=1)
        # 61 tokens at most, 51 of them in the prompt: 51 + 20 millionths; each took 3 + 4.
        run = run_of(*"abc", limits=Limits(cost=80e-6, price_in=1, price_out=2))
        while work.work(run_id=run.pk):
            pass
        assert counted(run) == {JobState.DONE: 2, JobState.PENDING: 1}
        assert "1.4e-05 of at most 8e-05 is spent" in state(run)[1]
