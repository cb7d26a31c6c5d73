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
