"""Seconds and peak memory of a release of ViSAGe's released study, which must be in the database.

    python manage.py import_visage --attributes XLSX --annotations XLSX
    python -m benchmarks.release [--study visage] [--out FILE.json]

The release is made in a process of its own, into a folder that is thrown away. The load average is told
beside the seconds: on a busy machine the seconds of the processor say more than those of the clock.
Written to benchmarks/results/release.json, with the machine, the commit and whether it took less than 20 s.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "release.json"
MOST_SECONDS = 20


def made(name: str) -> None:
    """One release, in this process."""
    import django

    django.setup()
    from annotation.models import Study
    from annotation.releases.request import ReleaseOptions
    from annotation.releases.services import bundle

    study = Study.objects.get(name=name)
    started, busy = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "release")
        counts = bundle.write(study=study, path=out, by=None, options=ReleaseOptions()).counts
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        size = sum(each.stat().st_size for each in out.rglob("*") if each.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    said = {"seconds": round(seconds, 1), "of the processor": round(busy, 1), "bytes": size}
    print(json.dumps({**said, "judgements": counts.judgements, "peak MiB": round(peak)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="visage")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="JSON file for the figures (default: %(default)s)"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
    if options.here:
        made(options.study)
        return
    # not in the process that is measured
    from benchmarks.annotate import commit, machine

    about = machine()
    command = [sys.executable, "-m", "benchmarks.release", "--here", "--study", options.study]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the release failed: {done.stderr.strip()}")
    said = json.loads(done.stdout.splitlines()[-1])
    figures = {
        "machine": about | {"load_after": [round(load, 1) for load in os.getloadavg()]},
        "commit": commit(),
        "study": options.study,
        **said,
        "target met": said["seconds"] < MOST_SECONDS,
    }
    print(json.dumps(figures, indent=2))
    options.out.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"Kept in {options.out}.")


if __name__ == "__main__":
    main()
