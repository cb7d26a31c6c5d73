"""Rows a second and peak memory of the long table, beside PostgreSQL's own COPY of the same query.

    DATABASE_URL=postgresql://.../NAME python -m benchmarks.export [--judgements 1000000] [--out FILE.json]

The database is made and migrated if need be, and left as it is. For the size asked for and a tenth of it: a
study is made in it if it is not there (a third of the attributes that were seen are boxed), then each side
runs in a process of its own, one after the other, whose peak memory is told beside that of a process that
only starts. Figures are kept in FILE.json after each size, with the load of the machine at each side's
beginning and end, and how they stand to the targets: CSV in at most three times the seconds of COPY, less
than 300 MB of memory. COPY writes no boxes: they are other rows. 12000000 judgements are
a hundred times ViSAGe's release. Sizes are rounded down to whole units of 15 judgements. The server's
processor time is that of the connection's own process, if the server is on this machine, without its parallel
helpers. A large study is sooner made by a superuser with PGOPTIONS="-c session_replication_role=replica".
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
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "export-postgresql.json"
SIDES = ("start", "copy", "csv", "jsonl", "parquet")
WRITERS = ("csv", "jsonl", "parquet")
MOST_TIMES = 3  # COPY's seconds, for CSV
MOST_MIB = 300_000_000 / 2**20
UNIT = 15  # judgements: five options, three annotators
STUDY = """
INSERT INTO annotation_image (image_set_id, group_id, prompt, index, width, height, file, sha256, reference)
SELECT {image_set}, {group}, '', i, 512, 512, '', '', 'Benchmark' || i || '.png'
FROM generate_series(1, {images}) i;
INSERT INTO annotation_unit (task_id, position, image_id, page, repeat, purpose, feedback, source_name)
SELECT {task}, row_number() OVER (ORDER BY i.id, p), i.id, p, 0, 'data', '', ''
FROM annotation_image i, generate_series(1, 5) p WHERE i.image_set_id = {image_set}
ORDER BY i.id, p LIMIT {units};
INSERT INTO annotation_option (unit_id, attribute_id, role, position)
SELECT u.id, CASE WHEN o < 5 THEN (SELECT min(id) FROM annotation_attribute) + o - 1 END,
       CASE WHEN o < 5 THEN 'unassigned' ELSE 'none_of_above' END, o
FROM annotation_unit u, generate_series(1, 5) o WHERE u.task_id = {task};
INSERT INTO annotation_slot (study_id, unit_id, index, stratum, queue, state, annotator_id)
SELECT {study}, u.id, s, 'any', (u.position - 1) * 3 + s + 1, 'filled',
       (SELECT min(id) FROM annotation_annotator) + (u.position % 20) * 3 + s
FROM annotation_unit u, generate_series(0, 2) s WHERE u.task_id = {task};
INSERT INTO annotation_response (unit_id, slot_id, annotator_id, client_key, task_version, revision, current,
                                 started_at, submitted_at, active_ms, idle_ms, language)
SELECT unit_id, id, annotator_id, gen_random_uuid(), 1, 1, true, now(), now(), 9000, 500, 'en'
FROM annotation_slot WHERE study_id = {study};
INSERT INTO annotation_judgement (response_id, option_id, value, position, justification, whole_image)
SELECT r.id, o.id, (o.position < 5 AND (r.id + o.position) % 4 = 0)::int, o.position, '', false
FROM annotation_response r JOIN annotation_slot s ON s.id = r.slot_id
JOIN annotation_option o ON o.unit_id = r.unit_id WHERE s.study_id = {study};
INSERT INTO annotation_box (judgement_id, x0, y0, x1, y1, image_width, image_height)
SELECT j.id, 10.5, 20, 110.25, 220, 512, 512
FROM annotation_judgement j JOIN annotation_response r ON r.id = j.response_id
JOIN annotation_slot s ON s.id = r.slot_id WHERE s.study_id = {study} AND j.value = 1 AND j.id % 3 = 0;
"""


def prepare(units: int) -> str:
    """The study of this size, made if need be."""
    from django.db import connection, transaction
    from django.utils import timezone

    from annotation.models import Annotator, Attribute, IdentityGroup, ImageSet, Study, Task

    name = f"export-{units * UNIT}"
    if Study.objects.filter(name=name).exists():
        return name
    with transaction.atomic():
        now = timezone.now()
        study = Study.objects.create(name=name, title=name, status="open", opened_at=now, simulated=True)
        image_set = ImageSet.objects.create(name=name, title=name)
        group, _ = IdentityGroup.objects.get_or_create(name="Benchmark", defaults={"demonym": "Benchmark"})
        if not Attribute.objects.exists():
            Attribute.objects.bulk_create(Attribute(text=f"attribute {number}") for number in range(4))
        if not Annotator.objects.exists():
            Annotator.objects.bulk_create(
                Annotator(pseudonym=f"b-{number}", simulated=True) for number in range(60)
            )
        task = Task.objects.create(
            study=study, kind="depiction", wording="What?", strata=["any"] * 3, image_set=image_set
        )
        keys = {"study": study.pk, "task": task.pk, "image_set": image_set.pk, "group": group.pk}
        with connection.cursor() as cursor:
            cursor.execute(STUDY.format(images=-(-units // 5), units=units, **keys))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return name


def side(which: str, name: str) -> None:
    """One side, in this process: seconds (by the clock, of its processor and of the server's), rows, bytes,
    peak memory."""
    import django

    django.setup()
    from django.db import connection

    from annotation.exports.selection import Selection
    from annotation.exports.services import writing
    from annotation.exports.table import FIELDS, ordered_judgements
    from annotation.models import Study

    study = Study.objects.get(name=name)
    rows = size = 0
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (server,) = cursor.fetchone()
        at_first = server_seconds(server)
        started, busy = time.perf_counter(), time.process_time()
        if which == "copy":
            query, parameters = (
                ordered_judgements(Selection(study)).values_list(*FIELDS).query.sql_with_params()
            )
            with connection.cursor() as cursor, out.open("wb") as file:
                with cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)", parameters) as copy:
                    for piece in copy:
                        file.write(piece)
                rows = cursor.rowcount
        elif which != "start":
            rows = writing.write(study=study, fmt=which, path=out, by=None).rows
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        size = out.stat().st_size if out.exists() else 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    at_last = server_seconds(server)
    said = {
        "seconds": round(seconds, 2),
        "of the processor": round(busy, 2),
        "of the server's": None if at_last is None else round(at_last - at_first, 2),
        "rows": rows,
        "bytes": size,
    }
    print(json.dumps({**said, "peak MiB": round(peak)}))


def server_seconds(process: int) -> float | None:
    """Processor time that a process of this machine has used; None if there is no such process."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return None
    spent = stat.read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")


def database_there() -> None:
    """Make the database that DATABASE_URL names, if there is none, and its tables."""
    import psycopg
    from django.core.management import call_command
    from django.db import connection
    from psycopg import sql

    if connection.vendor != "postgresql":
        sys.exit(
            "COPY is PostgreSQL's. Set DATABASE_URL to a database that may be filled with a large study."
        )
    wanted = connection.get_connection_params()
    wanted = {key: wanted[key] for key in ("dbname", "user", "password", "host", "port") if wanted.get(key)}
    name = wanted.pop("dbname")
    with psycopg.connect(dbname="postgres", autocommit=True, **wanted) as maintenance:
        there = maintenance.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone()
        if there is None:
            maintenance.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    call_command("migrate", verbosity=0)


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        (server,) = cursor.fetchone()
    return {
        "processors": os.cpu_count(),
        "processor": next(
            (
                line.partition(":")[2].strip()
                for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")
            ),
            "",
        ),
        "Python": sys.version.split()[0],
        "PostgreSQL": server,
    }


def load() -> float:
    return round(os.getloadavg()[0], 1)


def targets(sides: dict[str, dict[str, Any]]) -> dict[str, bool]:
    met = {"CSV in three times COPY's seconds": sides["csv"]["seconds / COPY's"] <= MOST_TIMES}
    return met | {f"{which} under 300 MB": sides[which]["peak MiB"] < MOST_MIB for which in WRITERS}


def measured(which: str, name: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.export", "--side", which, "--study", name]
    at_first = load()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{which} failed: {done.stderr.strip()}")
    return {**json.loads(done.stdout.splitlines()[-1]), "load average": [at_first, load()]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgements", type=int, default=1_000_000)
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="JSON file for the figures (default: %(default)s)"
    )
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--study", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "visage_app.settings")
    if options.side:
        side(options.side, options.study)
        return
    import django

    django.setup()
    database_there()
    figures: dict[str, object] = {"machine": machine()}
    for units in (options.judgements // UNIT // 10, options.judgements // UNIT):
        name = prepare(units)
        sides = {which: measured(which, name) for which in SIDES}
        for which, said in sides.items():
            if said["rows"]:
                said["rows a second"] = round(said["rows"] / said["seconds"])
                said["seconds / COPY's"] = round(said["seconds"] / sides["copy"]["seconds"], 2)
            print(f"{units * UNIT:>10,} {which:8} {said}", flush=True)
        figures[f"{units * UNIT} judgements"] = {**sides, "targets met": targets(sides)}
        options.out.write_text(json.dumps(figures, indent=2) + "\n")
    print(f"Kept in {options.out}.")


if __name__ == "__main__":
    main()
