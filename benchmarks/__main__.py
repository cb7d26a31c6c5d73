"""Run all benchmarks one after the other: `make bench`. Those without their released files say so."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = (
    *("import_release", "open_study", "score", "pull", "annotate", "prepared", "page"),
    *("coverage", "coverage_shares", "coverage_agreement", "coverage_few", "coverage_groups"),
    *("coverage_captions", "coverage_images", "coverage_pull", "coverage_ranks", "coverage_sensitivity"),
    *("associations", "candidates", "embedding_tests", "asking"),
    *("jobs", "faults", "generate", "embed", "export", "release", "backup", "day"),
)

failed = []
for name in NAMES:
    print(f"== {name}", flush=True)
    if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=HERE.parent, check=False).returncode:
        failed.append(name)
if failed:
    sys.exit(f"Not measured: {', '.join(failed)}")
