"""What benchmarks/generate.py does on a machine with a GPU, as far as a machine without one can tell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from benchmarks import device, generate
from generation.backends.base import OutOfMemory
from tests.generation.backends import tiny
from tests.waiting import wait_for


@pytest.fixture(scope="module", autouse=True)
def _torch() -> None:
    """Imported for these tests alone, and not by every process that collects tests: it takes seconds."""
    global torch
    torch = pytest.importorskip(
        "torch", reason="NO MODELS: torch is not installed. Cure: pip install '.[models]'"
    )


def test_batches_are_tried_until_the_memory_is_full():
    asked = []

    def measure(size):
        asked.append(size)
        if size > 8:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return size * 1.5

    assert device.best_by_batch((4, 8, 16, 32), measure) == {4: 6.0, 8: 12.0}
    assert asked == [4, 8, 16]
    with pytest.raises(OutOfMemory):
        device.best_by_batch((16, 32), measure)


@pytest.mark.processes
def test_only_the_card_at_work_is_watched(tmp_path, monkeypatch):
    """A machine of eight cards of which seven rest is not an eighth busy."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        f"#!/bin/sh\nfor i in 1 2 3 4 5 6; do echo 9$i; done\n"
        f'echo "$@" > {tmp_path}/asking && mv {tmp_path}/asking {tmp_path}/asked\nexec sleep 60\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    cards = [SimpleNamespace(uuid="0000-first"), SimpleNamespace(uuid="0000-mine")]
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: cards[number])
    with device.busy() as seen:
        wait_for((tmp_path / "asked").is_file, "nothing asks how busy the card is")
    assert "--id=GPU-0000-mine" in (tmp_path / "asked").read_text()
    assert seen == [91, 92, 93, 94, 95, 96]
    assert device.percent_busy(seen) == 93.5


def test_where_nothing_says_how_busy_it_is_no_figure_is_given(monkeypatch):
    with device.busy() as seen:
        pass
    assert device.percent_busy(seen) is None


def test_what_visages_pictures_take_and_cost():
    told = generate.of_visage(0.5, 2.0)
    assert told["hours"] == {"detection": 2025 / 1800, "pull": 89_055 / 1800}
    assert told["cost"]["detection"] == 2 * 2025 / 1800
    assert "cost" not in generate.of_visage(0.5, None)


@pytest.mark.processes
def test_the_baseline_measures_the_pipeline_without_the_program(tmp_path):
    """Each way that needs no compiler, in a process that imports nothing of it."""
    folder = tiny.stable_diffusion(tmp_path / "tiny", safety="flags none")
    code = (
        "import json, sys\n"
        "from benchmarks.generate_baseline import measure\n"
        "print(json.dumps(measure(json.loads(sys.argv[1]))))\n"
        "ours = {'generation', 'annotation', 'metrics', 'visage_app', 'tests'}\n"
        "assert not ours & {name.split('.')[0] for name in sys.modules}\n"
    )
    asked = {"folder": str(folder), "safety": "record", "sizes": [1, 2]}
    asked["call"] = {"num_inference_steps": 2, "width": 64, "height": 64}
    for way, sizes in (("documented loop", {"1"}), ("fused projections", {"1", "2"})):
        command = [sys.executable, "-c", code, json.dumps({**asked, "way": way})]
        done = subprocess.run(command, cwd=generate.ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rates = json.loads(done.stdout.splitlines()[-1])
        assert set(rates) == sizes
        assert min(rates.values()) > 0
