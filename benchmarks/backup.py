"""How long a backup and a restore of the imported ViSAGe release take, and their peak memory.

    python -m benchmarks.backup [--out FILE.json]

The release (120,170 judgements) is imported into a SQLite database of its own. Where DATABASE_URL names a
PostgreSQL server, it also moves there, into a database made for it and dropped again. Each step is a process
of its own; its time and memory are told beside those of a command that does nothing but start (`check`), and
beside SQLite's own copy of the file. The released files are looked for in VISAGE_DATA, else ../shared/data.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent
RELEASED = Path(os.environ.get("VISAGE_DATA", ROOT.parent / "shared" / "data")) / "visage"


def measured(*arguments: str, env: dict[str, str]) -> dict[str, float]:
    """Run `manage.py ARGUMENTS`; returns seconds (wall clock and CPU) and peak memory."""
    started = time.perf_counter()
    pid = os.posix_spawn(
        sys.executable, [sys.executable, str(ROOT / "manage.py"), *arguments], {**os.environ, **env}
    )
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"manage.py {' '.join(arguments)} failed")
    seconds, busy = time.perf_counter() - started, used.ru_utime + used.ru_stime
    return {
        "seconds": round(seconds, 1),
        "of the processor": round(busy, 1),
        "peak MiB": round(used.ru_maxrss / 1024),
    }


@contextmanager
def on_postgresql() -> Iterator[str | None]:
    """The URL of an empty database on the server of DATABASE_URL, if that is PostgreSQL."""
    server = os.environ.get("DATABASE_URL", "")
    if not server.startswith("postgres"):
        yield None
        return
    import psycopg

    name = f"visage_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{server.rsplit('/', 1)[0]}/{name}"
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    attributes, annotations = RELEASED / "Visual Attributes_.xlsx", RELEASED / "Image Annotations.xlsx"
    if not annotations.is_file():
        sys.exit(f"The released files are not in {RELEASED}. Set VISAGE_DATA to the folder above 'visage'.")
    figures: dict[str, object] = {"load average": [round(each, 1) for each in os.getloadavg()]}
    with tempfile.TemporaryDirectory() as folder, on_postgresql() as server:

        def at(name: str, database: str = "") -> dict[str, str]:
            # An empty DATABASE_URL also outdoes one in .env.
            return {"VAR_DIR": str(Path(folder, name)), "DATABASE_URL": database}

        first, file = at("first"), str(Path(folder, "first.tar"))
        measured("migrate", "-v0", env=first)
        measured(
            "import_visage", "--attributes", str(attributes), "--annotations", str(annotations), env=first
        )
        figures["a command that only starts"] = measured("check", env=first)
        figures["backup from SQLite"] = measured("backup", file, env=first)
        database = Path(folder, "first", "visage.sqlite3")
        started = time.perf_counter()
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(f"{file}.copy")) as copy:
            source.backup(copy)
        figures["sqlite3's own copy"] = {"seconds": round(time.perf_counter() - started, 1)}
        figures["bytes"] = {"backup": Path(file).stat().st_size, "database": database.stat().st_size}
        figures["restore --check"] = measured("restore", "--check", file, env=first)
        places = [("SQLite", at("second"))] + ([("PostgreSQL", at("third", server))] if server else [])
        for name, place in places:
            measured("migrate", "-v0", env=place)
            figures[f"restore into {name}"] = measured("restore", file, env=place)
        if server:
            figures["backup from PostgreSQL"] = measured("backup", f"{file}.2", env=at("third", server))
    for what, said in figures.items():
        print(f"{what:30} {said}")
    if options.out:
        options.out.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
