"""Associations of half a million completed words (PROTOCOL §11), against a plain pandas program.

    python -m benchmarks.associations [--descriptors 406] [--runs 10] [--resamples 1000] [--keep FOLDER]

Answers with planted associations are written in the form of the authors' tables, one for each of the five
settings (406 x 26 x 10 x 5 = 527,800), and imported into an SQLite database in a temporary folder (`--keep`:
in this one, and used again if it is there). Both programs are whole processes that read the same database:
the pairs of each setting, scores and significance in both variants, and the share of significant pairs with
an interval that resamples descriptors. The plain one (benchmarks/associations_plain.py) makes few resamples;
what each took is multiplied. `page` is the run's page with every pair, by Django's test client: the median,
and the time in the database.

Written to benchmarks/results/associations-sqlite.json. `cpu` is processor time.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ("singular", "plural", "adjective", "noun", "verb")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DIMENSIONS = ("age", "disability", "gender", "nationality", "religion")
WORDS_PER_LETTER = 120
PLANTED = 0.4
Result = dict[str, Any]


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "VAR_DIR": str(folder),
        "DATABASE_URL": "",
        "CELERY_BROKER_URL": "",
        "STATIC_MANIFEST": "no",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
    }


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def child(folder: Path, what: str, *arguments: str) -> Result:
    """What a process of its own says of `what`, with its processor time and most memory."""
    began = time.perf_counter()
    out = run(folder, "-m", "benchmarks.associations", "--child", what, *arguments)
    found: Result = json.loads(out.splitlines()[-1])
    return {"seconds": round(time.perf_counter() - began, 2), **found}


def write_table(path: Path, descriptors: int, runs: int, seed: int) -> None:
    """The authors' table of one setting. Each descriptor has a word of its own with one letter, which it gets
    with the probability PLANTED; all other words have the frequencies of Zipf's law."""
    draw = random.Random(seed)
    words = {
        letter: [letter + "".join(draw.choices("aeioulmnrst", k=7)) for _ in range(WORDS_PER_LETTER)]
        for letter in LETTERS
    }
    weights = [1 / (place + 1) for place in range(WORDS_PER_LETTER)]
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["bias_type", "template", *(f"answer_{letter}" for letter in LETTERS), "run", "seed"])
        for number in range(1, runs + 1):
            for row in range(descriptors):
                answers = [draw.choices(words[letter], weights)[0] for letter in LETTERS]
                if draw.random() < PLANTED:
                    place = row % len(LETTERS)
                    answers[place] = f"{LETTERS[place]}planted{LETTERS[row // len(LETTERS)]}"
                dimension = DIMENSIONS[row % len(DIMENSIONS)]
                table.writerow([dimension, f"A descriptor{row} is", *answers, number, seed])


def database(folder: Path, descriptors: int, runs: int) -> Result:
    """Make and import the tables, unless the folder holds them already."""
    if (folder / "visage.sqlite3").is_file():
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    run(folder, "manage.py", "migrate", "--verbosity", "0")
    seconds = 0.0
    for number, setting in enumerate(SETTINGS):
        path = folder / f"{setting}.csv"
        write_table(path, descriptors, runs, number)
        began = time.perf_counter()
        layout = ("--layout", "biasdora", "--modality", "t2t", "--setting", setting)
        run(folder, "manage.py", "import_answers", str(path), *layout, "--name", setting, "--model", "made")
        seconds += time.perf_counter() - began
    return {"import_seconds": round(seconds, 1)}


def ours(resamples: int) -> Result:
    """Pairs, both variants and intervals of all settings."""
    from generation.models import Run
    from metrics.associations.comparison_stats import ratio_by
    from metrics.associations.evaluation import evaluate
    from metrics.core.stats import bootstrap

    found: Result = {"answers": 0, "pairs": 0, "significant": 0, "significant_corrected": 0}
    for name in SETTINGS:
        for setting in evaluate(Run.objects.get(name=name)).settings():
            found["answers"] += setting.facts["answers"]
            found["pairs"] += len(setting.associations)
            for variant in ("significant", "significant_corrected"):
                values = [(row.groups[0], float(getattr(row, variant))) for row in setting.associations]
                ratio_by(values, rng=bootstrap.generator(0, variant), resamples=resamples)
                found[variant] += setting.facts[variant]
    return found


def plain(resamples: int) -> Result:
    from django.conf import settings

    from benchmarks import associations_plain

    return associations_plain.run(str(settings.DATABASES["default"]["NAME"]), resamples)


def page(rounds: int) -> Result:
    """Milliseconds of the page of a run with all of its pairs, and of its queries."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from generation.models import Run
    from metrics.associations.services import lists

    settings.ALLOWED_HOSTS = ["testserver"]
    run = Run.objects.get(name=SETTINGS[0])
    began = time.perf_counter()
    found = lists.compute(lists.request(run=run).pk) or run.association_list
    stored = time.perf_counter() - began
    admin, _ = get_user_model().objects.get_or_create(username="benchmark", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(admin)
    times, in_database = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(f"/associations/{run.pk}/?show=all")
        times.append(1000 * (time.perf_counter() - began))
        in_database.append(1000 * sum(float(query["time"]) for query in queries.captured_queries))
        if answer.status_code != 200:
            raise SystemExit(f"The page answered {answer.status_code}.")
    return {
        "pairs": found.associations.count(),
        "store_seconds": round(stored, 1),
        "page_ms": round(statistics.median(times), 1),
        "database_ms": round(statistics.median(in_database), 1),
    }


def as_child(what: str, arguments: list[str]) -> None:
    import django

    django.setup()
    found = {"ours": ours, "plain": plain, "page": page}[what](*(int(each) for each in arguments))
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = round(used.ru_utime + used.ru_stime, 2)
    print(json.dumps({**found, "cpu": cpu, "peak_mib": used.ru_maxrss // 1024}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--descriptors", type=int, default=406)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--plain-resamples", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return as_child(options.child[0], options.child[1:])
    from benchmarks.annotate import machine

    with tempfile.TemporaryDirectory(prefix="visage-associations-") as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        imported = database(folder, options.descriptors, options.runs)
        few = child(folder, "plain", str(options.plain_resamples))
        done = child(folder, "ours", str(options.resamples))
        shown = child(folder, "page", "15")
    more = options.resamples - options.plain_resamples
    scaled = {key: round(few[key] + more * few[f"resample_{key}"], 1) for key in ("seconds", "cpu")}
    found = {
        "machine": machine(),
        "database": "sqlite",
        "resamples": options.resamples,
        **imported,
        "program": done,
        "plain": {**few, "scaled": scaled},
        "ratio": {key: round(scaled[key] / done[key], 1) for key in ("seconds", "cpu")},
        "ratio_without_intervals": round((few["cpu"] - few["resamples_cpu"]) / done["cpu"], 1),
        "page": shown,
    }
    print(json.dumps(found, indent=1))
    path = ROOT / "benchmarks" / "results" / "associations-sqlite.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
