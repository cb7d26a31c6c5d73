"""Which Python `make` begins with."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSTEM = "/usr/bin/python3"
DOES = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
pytestmark = pytest.mark.processes


def begins_with(folder: Path, *arguments: str) -> str:
    path = f"{folder}:/usr/bin:/bin"
    command = ["make", "--dry-run", "VENV=not-there", "not-there/.python", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": path}, capture_output=True, text=True, check=True)
    return next(line.split()[0] for line in done.stdout.splitlines() if "-m venv" in line)


def system_python_will_do() -> bool:
    return Path(SYSTEM).exists() and not subprocess.run([SYSTEM, "-c", DOES], capture_output=True).returncode


@pytest.mark.parametrize("optimised", [True, False])
def test_the_system_s_python_is_taken_for_one_that_is_compiled_without_optimisation(tmp_path, optimised):
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\nexit {0 if optimised else 1}\n")
    python.chmod(0o700)
    assert begins_with(tmp_path) == (SYSTEM if not optimised and system_python_will_do() else "python3")
    assert begins_with(tmp_path, "PYTHON=mine") == "mine"
