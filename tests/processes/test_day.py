"""The day of annotators that benchmarks/day.py makes, in short: nothing fails, nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import drills
from tests.processes.conftest import ROOT

POSTGRESQL = os.environ.get("DATABASE_URL", "").startswith("postgresql")
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        not (POSTGRESQL and shutil.which("redis-server")),
        reason="NO POSTGRESQL OR NO REDIS: there was no day of annotators",
    ),
]
SHORT = ("--annotators", "10", "--minutes", "0.2", "--ramp", "3", "--think", "1", "--alone", "2")


def test_a_short_day_loses_and_doubles_nothing(tmp_path: Path):
    found = tmp_path / "day.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.day", *SHORT, "--seed", str(drills.seed(1)), "--out", str(found)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    day = json.loads(found.read_text())
    compared, counted = day["compared"], day["counted"]
    assert compared["annotators"] == 11  # and who was alone
    assert compared["acknowledged"] > 0
    assert compared["lost"] == compared["over_assigned"] == day["errors"]["number"] == 0
    assert compared["withdrawn"] == counted.get("withdrawals", 0)
    assert counted["outcome kept"] + counted.get("outcome repeat", 0) == compared["acknowledged"]
    assert {"next", "submit", "image"} <= set(day["day"]) | set(day["coming"])
