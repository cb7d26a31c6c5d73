"""Workers on scores as processes of their own, which kill themselves at a step."""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import timedelta

import django

django.setup()

from django.utils import timezone  # noqa: E402

from annotation.core.leases import lease_length  # noqa: E402
from annotation.models import Study  # noqa: E402
from metrics.models import ScoreRun  # noqa: E402
from metrics.score_runs import services as score_runs  # noqa: E402


def compute(seed: str, die: str = "") -> dict[str, object]:
    """Compute the scores of the study `load` with this seed; with `die` the process kills itself there."""
    run = score_runs.request(
        study=Study.objects.get(name="load"),
        metric="visual_nature",
        variant="corrected",
        resamples=100,
        seed=int(seed),
    )
    if die:
        STEPS[die]()
    score_runs.compute(run_id=run.pk)
    return _look(seed)


def finish(seed: str) -> list[dict[str, object]]:
    """What a worker that died has left; and what there is once its lease is over and another looked."""
    left = _look(seed)
    score_runs.compute_pending(now=timezone.now() + lease_length() + timedelta(seconds=1))
    return [left, _look(seed)]


def _look(seed: str) -> dict[str, object]:
    run = ScoreRun.objects.get(seed=seed)
    return {"state": run.state, "attempts": run.attempts, "scores": run.scores.count()}


def _die(*_args: object, **_kwargs: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_computing() -> None:
    score_runs.evaluate = _die


def _die_storing() -> None:
    """With the scores written and not committed."""
    score_runs.events.announce = _die


def _die_stored() -> None:
    store = score_runs._store

    def dying(*arguments):
        store(*arguments)
        _die()

    score_runs._store = dying


STEPS = {"computing": _die_computing, "storing": _die_storing, "stored": _die_stored}


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    print(json.dumps(globals()[name](*arguments)))
