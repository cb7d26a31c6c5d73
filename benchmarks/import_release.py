"""How long `import_visage` takes, as a ratio to pandas reading the same sheet.

    python -m benchmarks.import_release

Both are timed as whole processes of one run, since machines are noisy. The import goes into a fresh SQLite
database in a temporary folder. The released files are looked for in VISAGE_DATA, else ../shared/data.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASED = Path(os.environ.get("VISAGE_DATA", ROOT.parent / "shared" / "data")) / "visage"
READ_WITH_PANDAS = (
    "import sys, pandas; pandas.read_excel(sys.argv[1], sheet_name='full_set_annotations', engine='openpyxl')"
)


def seconds(*arguments: str, env: dict[str, str]) -> float:
    """Wall-clock seconds of a Python process; raises CalledProcessError if it fails."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, cwd=ROOT, env=env, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    attributes, annotations = RELEASED / "Visual Attributes_.xlsx", RELEASED / "Image Annotations.xlsx"
    if not annotations.is_file():
        sys.exit(f"The released files are not in {RELEASED}. Set VISAGE_DATA to the folder above 'visage'.")
    with tempfile.TemporaryDirectory() as folder:
        env = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        # An empty DATABASE_URL also outdoes one in .env.
        env |= {"VAR_DIR": folder, "DATABASE_URL": ""}
        seconds("manage.py", "migrate", env=env)
        command = ("import_visage", "--attributes", str(attributes), "--annotations", str(annotations))
        first = seconds("manage.py", *command, env=env)
        again = seconds("manage.py", *command, env=env)
        pandas = seconds("-c", READ_WITH_PANDAS, str(annotations), env=env)
    print(f"pandas (openpyxl) reads the sheet     {pandas:6.1f} s   1.00")
    print(f"import_visage, rows in the database   {first:6.1f} s   {first / pandas:.2f}")
    print(f"import_visage again, nothing to do    {again:6.1f} s   {again / pandas:.2f}")


if __name__ == "__main__":
    main()
