"""How long `open_study` takes for large studies, and whether its memory stays flat.

    python -m benchmarks.open_study [UNITS ...]          default: 1000 100000 1000000

Each size is a process of its own on a fresh SQLite database (or the empty one that DATABASE_URL names, for
one size at a time): a visual_nature study of that many attributes, each with three slots. The rate is given
as a ratio to that of the smallest size in the same run, since machines are noisy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """
name = "large"
title = "Large"
contact = "nobody"
[consent]
text = "None."
[[tasks]]
kind = "visual_nature"
attributes = { file = "words.txt" }
"""
# the command, then the most memory it ever held
RUN = """
import resource, sys
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "open_study", sys.argv[1]])
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def measured(units: int) -> tuple[float, float, int]:
    """Seconds to make and open the study, seconds to find nothing to change, peak MiB of the first."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "VAR_DIR": folder, "DJANGO_SETTINGS_MODULE": "visage_app.settings"}
        env.setdefault("DATABASE_URL", "")
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"], check=True, cwd=ROOT, env=env
        )
        words = "\n".join(f"attribute number {number}" for number in range(units))
        Path(folder, "words.txt").write_text(words, encoding="utf-8")
        Path(folder, "large.toml").write_text(HEAD, encoding="utf-8")
        times, peak = [], 0
        for _ in range(2):
            started = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", RUN, str(Path(folder, "large.toml"))],
                check=True,
                cwd=ROOT,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            times.append(time.perf_counter() - started)
            peak = peak or int(done.stdout.split()[-1])
        return times[0], times[1], peak


def main() -> None:
    sizes = sorted(int(each) for each in sys.argv[1:]) or [1_000, 100_000, 1_000_000]
    first = 0.0
    for units in sizes:
        made, again, peak = measured(units)
        rate = units / made
        first = first or rate
        print(
            f"{units:>9,} units  made {made:7.1f} s  {rate:7,.0f} units/s  {rate / first:5.2f}  "
            f"again {again:6.1f} s  peak {peak:,} MiB",
            flush=True,
        )


if __name__ == "__main__":
    main()
