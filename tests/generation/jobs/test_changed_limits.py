"""Limits that are changed while a worker is at a run hold for its next claim."""

import pytest

from generation.jobs.services import claims
from generation.jobs.services.budget import Budget
from generation.models import Job, RunState
from generation.recipes.limits import Limits
from generation.recipes.recipes import from_json
from generation.runs.limits import set_limits
from tests.generation.answers.answered import a_run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("first", [{}, {"tokens": 10**6}, {"cost": 50.0, "price_in": 1, "price_out": 1}])
def test_a_limit_that_is_set_while_a_run_is_running_holds_at_the_next_claim(first):
    run = a_run(state=RunState.RUNNING, limits=first)
    Job.objects.bulk_create(
        Job(run=run, key=f"k{number}", number=1, prompt="what?", seed=1) for number in range(9)
    )
    budget = Budget.of(run, from_json(run.recipe))

    def claimed() -> int:
        claim = claims.claim(run_id=run.pk, limit=2, worker="w", budget=budget)
        return len(claim.jobs) if claim else 0

    assert claimed() == 2
    set_limits(run=run, limits=Limits(tokens=1), by=None)
    assert claimed() == 0
    assert "0 of at most 1 tokens are used" in budget.exhausted(run)
    set_limits(run=run, limits=Limits(cost=1e-9, price_in=1, price_out=1), by=None)
    assert claimed() == 0
    set_limits(run=run, limits=Limits(), by=None)
    assert claimed() == 2
    assert budget.exhausted(run) == ""


@pytest.mark.parametrize(
    ("kind", "fields", "limits", "room"),
    [
        ("completions", {}, {"tokens": 700}, 10),
        ("completions", {"system": "y" * 30}, {"tokens": 700}, 7),
        ("descriptions", {}, {"tokens": 20_700}, 10),
        ("completions", {}, {"tokens": 700, "cost": 220e-6, "price_in": 1, "price_out": 1}, 3),
        ("completions", {}, {"tokens": 140, "cost": 220e-6, "price_in": 1, "price_out": 1}, 2),
        ("completions", {}, {"tokens": 700, "cost": 1e-6, "price_in": 0, "price_out": 0}, 10),
    ],
)
def test_there_is_room_for_what_one_asking_of_the_run_takes_at_most(kind, fields, limits, room):
    """10 characters, 50 tokens of a chat template, and 10 of the answer."""
    run = a_run(kind, state=RunState.RUNNING, limits=limits, max_tokens=10, **fields)
    other = a_run(state=RunState.RUNNING)
    for of, length in ((run, 10), (run, 1), (other, 500)):
        Job.objects.create(run=of, key=str(length), number=1, prompt="x" * length, seed=1)
    claims.claim(run_id=other.pk, limit=1, worker="w")
    assert Budget.of(run, from_json(run.recipe)).room(run) == room
    claims.claim(run_id=run.pk, limit=1, worker="w")
    assert Budget.of(run, from_json(run.recipe)).room(run) == room - 1


def test_the_limit_that_is_reached_is_the_one_that_is_named():
    limits = {"tokens": 10**6, "cost": 1e-6, "price_in": 1, "price_out": 1}
    run = a_run(state=RunState.RUNNING, limits=limits)
    assert "0 of at most 1e-06 is spent" in Budget.of(run, from_json(run.recipe)).exhausted(run)
