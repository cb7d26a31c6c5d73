"""Workers killed with -9 at scores (out of memory, say): another computes them, once."""

from __future__ import annotations

import signal

import pytest

from tests.processes.conftest import Installation, finish
from tests.processes.starts import Started

pytestmark = [pytest.mark.processes, pytest.mark.real_time]


def start(installation: Installation, actor: str, *arguments: object) -> Started:
    return installation.start(actor, *arguments, of="scorers")


def test_a_worker_killed_at_any_step_leaves_scores_that_another_computes(installation: Installation):
    installation.env["DJANGO_SETTINGS_MODULE"] = "visage_app.settings"
    [enrolment] = installation.act("set_up", 3, 1, "any")
    installation.act("annotate_together", enrolment, 1, installation.env["VAR_DIR"], 0)
    whole = finish(start(installation, "compute", 99))["scores"]
    assert whole > 0
    steps = {"computing": ("claimed", 0), "storing": ("claimed", 0), "stored": ("done", whole)}
    for seed, (step, left) in enumerate(steps.items()):
        worker = start(installation, "compute", seed, step)
        worker.communicate()
        assert worker.returncode == -signal.SIGKILL, f"nobody died {step}"
        found, looked = finish(start(installation, "finish", seed))
        assert (found["state"], found["scores"]) == left, step
        tries = 1 if found["state"] == "done" else 2
        assert looked == {"state": "done", "attempts": tries, "scores": whole}, step
