"""Workers killed with -9 in the middle of an export: another makes it, whole and once."""

from __future__ import annotations

import signal

import pytest

from tests.processes.conftest import Installation, finish
from tests.processes.starts import Started

pytestmark = [pytest.mark.processes, pytest.mark.real_time]
STEPS = ("writing", "written", "kept", "done")
ROWS = 40


def start(installation: Installation, actor: str, *arguments: object) -> Started:
    return installation.start(actor, *arguments, of="exporters")


def act(installation: Installation, actor: str, *arguments: object):
    return finish(start(installation, actor, *arguments))


@pytest.mark.timeout(600)  # each process takes many seconds to start on a machine that others keep busy
def test_a_worker_killed_at_any_step_leaves_an_export_that_another_makes(installation: Installation):
    installation.env |= {"DJANGO_SETTINGS_MODULE": "visage_app.settings", "JOB_LEASE_SECONDS": "5"}
    jobs = dict(zip(STEPS, act(installation, "plan", ROWS), strict=True))
    finished: list[str] = []
    for step, job in jobs.items():
        worker = start(installation, "make", job, step)
        worker.communicate()
        assert worker.returncode == -signal.SIGKILL, f"nobody died {step}"
        left, looked = act(installation, "finish", job)
        done = step == "done"
        assert left["state"] == ("done" if done else "claimed"), step
        assert left["exports"] == done, f"noted as taken out when dying {step}"
        assert left["unfinished"] == (step in {"writing", "written"}), step
        assert len(left["files"]) - len(finished) == (step in {"kept", "done"}), step
        assert looked["state"] == "done", step
        assert (looked["whole"], looked["rows"], looked["exports"]) == (True, ROWS, 1), step
        assert looked["attempts"] == (1 if done else 2), step
        assert looked["unfinished"] == 0, f"half a file was left by dying {step}"
        assert len(looked["files"]) - len(finished) == 1, f"a file of nobody was left by dying {step}"
        finished = looked["files"]
