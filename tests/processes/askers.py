"""Runs that ask a server, for workers that are processes of their own (makers.py)."""

from __future__ import annotations

import json
import sys
from collections import Counter

import django

django.setup()

from django.utils import timezone  # noqa: E402

from annotation.core.leases import JobState  # noqa: E402
from generation.models import Answer, Job, Run  # noqa: E402
from generation.recipes.askings import CompletionRecipe  # noqa: E402
from generation.recipes.limits import Limits  # noqa: E402
from tests.generation.jobs.asked import run_of  # noqa: E402


def plan(number: str, in_flight: str) -> int:
    """A running run of so many askings of the server `fake`, so many of them at once; its id."""
    prompts = [f"prompt {each}" for each in range(int(number))]
    recipe = CompletionRecipe(server="fake", model="m", max_tokens=10)
    return run_of(*prompts, recipe=recipe, limits=Limits(in_flight=int(in_flight))).pk


def end_leases(run_id: str) -> int:
    """As if those who hold jobs had not been heard of for as long as a lease is; how many these are."""
    held = Job.objects.filter(run_id=run_id, state=JobState.CLAIMED)
    return held.update(lease_expires_at=timezone.now())


def count(run_id: str) -> dict[str, object]:
    """What there is of a run. `answers`: by what was asked."""
    run = Run.objects.get(pk=run_id)
    return {
        "state": run.state,
        "jobs": Counter(run.jobs.values_list("state", flat=True)),
        "answers": dict(Answer.objects.filter(run=run).values_list("job__prompt", "text")),
    }


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))
