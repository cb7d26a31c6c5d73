"""Tendency, offensiveness and agreement with intervals, against a straightforward pandas and numpy program.

    python -m benchmarks.score [--copies 100] [--resamples 1000] [--plain-resamples 5] [--keep FOLDER]

On the ViSAGe release and on one study of `--copies` of it (benchmarks/copies.py; 100 are 12 million
judgements), in SQLite databases in a temporary folder (`--keep`: in this one, and used again if they are
there). Both programs are whole processes and read the same database. The plain one
(benchmarks/score_plain.py) makes few resamples and what each took is multiplied, since a thousand would take
it an hour; its agreement is α of the study and its groups only, where the program's is all that the
`agreement` metric has. `intervals`: what the rows of all metrics take with clustered intervals and with the
bootstrap's, each in a process of its own, and the ratio. `page` is the
identity table from the stored run, by Django's test client in a process of its own: the median of several.

Written to benchmarks/results/score-sqlite.json. `cpu` is processor time, which other work on the machine
hardly changes; `seconds` are of the wall clock and suffer from it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RELEASED = Path(os.environ.get("VISAGE_DATA", ROOT.parent / "shared" / "data"))
METRICS = ("tendency", "offensiveness", "agreement")
Result = dict[str, Any]


def manage(folder: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=True,
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.DEVNULL,
    )


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "VAR_DIR": str(folder),
        "DATABASE_URL": "",
        "CELERY_BROKER_URL": "",
        "STATIC_MANIFEST": "no",
        # processor time is then of work, and not of threads that wait for each other
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "DJANGO_SETTINGS_MODULE": "visage_app.settings",
    }


def database(folder: Path, copies: int) -> None:
    """The imported release, `copies` times, unless the folder holds it already."""
    if (folder / "visage.sqlite3").is_file():
        return manage(folder, "migrate", "--verbosity", "0")
    folder.mkdir(parents=True, exist_ok=True)
    manage(folder, "migrate", "--verbosity", "0")
    manage(folder, "import_seegull", str(RELEASED / "seegull" / "stereotypes_global_v2.csv"))
    attributes, annotations = (
        str(RELEASED / "visage" / name) for name in ("Visual Attributes_.xlsx", "Image Annotations.xlsx")
    )
    manage(folder, "import_visage", "--attributes", attributes, "--annotations", annotations)
    if copies > 1:
        child(folder, "multiply", str(copies))
    return None


def child(folder: Path, what: str, *arguments: str) -> Result:
    """What a process of its own says of `what`, with its processor time and most memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.score", "--child", what, *arguments],
        check=True,
        cwd=ROOT,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    found: Result = json.loads(done.stdout.splitlines()[-1])
    return found


def multiply(copies: int) -> Result:
    from benchmarks.copies import multiply as multiplied

    multiplied(copies)
    return {}


def scored(resamples: int) -> Result:
    """All the metrics, one after the other, as a worker does; each from its request to its stored scores."""
    from metrics.score_runs.shared_resamples import sharing_resamples

    with sharing_resamples():
        return {metric: one_scored(metric, resamples) for metric in METRICS}


def one_scored(metric: str, resamples: int) -> Result:
    """A score run from its request to its stored scores."""
    from annotation.models import Study
    from metrics.models import ScoreRun
    from metrics.score_runs import services as score_runs

    study = Study.objects.get(name="visage")
    ScoreRun.objects.filter(study=study, metric=metric).delete()
    began, cpu = time.perf_counter(), time.process_time()
    run = score_runs.request(study=study, metric=metric, variant="corrected", resamples=resamples)
    run = score_runs.compute(run_id=run.pk) or run
    if run.state != "done":
        raise SystemExit(run.error)
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "cpu": round(time.process_time() - cpu, 2),
        "scores": run.scores.count(),
    }


def rows_computed(resamples: int) -> Result:
    """The rows of all metrics with bootstrap intervals, or with clustered ones if `resamples` is 0, without
    storing them."""
    from annotation.models import Study
    from metrics.core.fingerprints import snapshot
    from metrics.score_runs import registry
    from metrics.score_runs.rows import Inputs
    from metrics.score_runs.shared_resamples import sharing_resamples

    inputs = Inputs(Study.objects.get(name="visage"), resamples=resamples, clustered=not resamples)
    found: Result = {}
    with sharing_resamples():
        for metric in METRICS:
            began, cpu = time.perf_counter(), time.process_time()
            entry = registry.get(metric)
            with snapshot():
                rows = entry.compute(replace(inputs, parameters=registry.parameters(entry, None)))
            found[metric] = {
                "seconds": round(time.perf_counter() - began, 2),
                "cpu": round(time.process_time() - cpu, 2),
                "intervals": sum(row.low is not None for row in rows),
            }
    return found


def compared_intervals(folder: Path, resamples: int) -> Result:
    """The time of clustered intervals, of the bootstrap's, and the ratio: of the computation of all metrics,
    and of whole processes."""
    clustered, drawn = (child(folder, "rows", str(number)) for number in (0, resamples))
    seconds, cpu = (
        [sum(found[metric][key] for metric in METRICS) for found in (clustered, drawn)]
        for key in ("seconds", "cpu")
    )
    return {
        "clustered": clustered,
        "bootstrap": drawn,
        "ratio": {
            "seconds": round(seconds[0] / seconds[1], 3),
            "cpu": round(cpu[0] / cpu[1], 3),
            "cpu_of_processes": round(clustered["cpu"] / drawn["cpu"], 3),
        },
    }


def page(rounds: int = 15) -> Result:
    """Milliseconds of the identity table, and of asking whether its run is stale."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    from annotation.models import Study
    from metrics.score_runs import queries

    settings.ALLOWED_HOSTS = ["testserver"]
    study = Study.objects.get(name="visage")
    lead, _ = get_user_model().objects.get_or_create(username="benchmark")
    study.leads.add(lead)
    client = Client()
    client.force_login(lead)
    times, used = [], []
    for _ in range(rounds):
        began, cpu = time.perf_counter(), time.process_time()
        answer = client.get("/studies/visage/identities/")
        times.append(1000 * (time.perf_counter() - began))
        used.append(1000 * (time.process_time() - cpu))
        if answer.status_code != 200 or b"Mexican" not in answer.content:
            raise SystemExit(f"The page answered {answer.status_code} without its rows.")
    run = queries.newest_run(study, "tendency", "corrected")
    began = time.perf_counter()
    stale = run is None or queries.is_stale(run)
    return {
        "page_ms": round(statistics.median(times), 1),
        "page_cpu_ms": round(statistics.median(used), 1),
        "page_first_ms": round(times[0], 1),
        "is_stale_ms": round(1000 * (time.perf_counter() - began), 1),
        "stale": stale,
    }


def plain(resamples: int) -> Result:
    from django.conf import settings

    from benchmarks import score_plain

    return {"steps": score_plain.run(str(settings.DATABASES["default"]["NAME"]), resamples)}


def as_child(what: str, arguments: list[str]) -> None:
    import django

    django.setup()
    actions = {"multiply": multiply, "page": page, "plain": plain, "rows": rows_computed, "scored": scored}
    found = actions[what](*(int(each) for each in arguments))
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = round(used.ru_utime + used.ru_stime, 2)
    print(json.dumps({**found, "cpu": cpu, "peak_mib": used.ru_maxrss // 1024}))


def size(folder: Path, copies: int, resamples: int, plain_resamples: int) -> Result:
    """All figures of one size."""
    database(folder, copies)
    few = child(folder, "plain", str(plain_resamples))
    done = child(folder, "scored", str(resamples))
    scaled = {
        key: sum(few["steps"][step][key] for step in ("read", "once", "agreement once"))
        + resamples * sum(few["steps"][step][key] for step in ("resample", "agreement resample"))
        for key in ("seconds", "cpu")
    }
    seconds = sum(done[metric]["seconds"] for metric in METRICS)
    # all of the process, its start included
    ours = {"seconds": round(seconds, 1), "cpu": done["cpu"]}
    return {
        "copies": copies,
        "program": {**done, **ours},
        "plain": {
            **{key: round(value, 1) for key, value in scaled.items()},
            "resamples_made": plain_resamples,
            "steps": {
                name: {key: round(value, 3) for key, value in step.items()}
                for name, step in few["steps"].items()
            },
            "peak_mib": few["peak_mib"],
        },
        "ratio": {key: round(scaled[key] / ours[key], 1) for key in ("seconds", "cpu")},
        "intervals": compared_intervals(folder, resamples),
        **child(folder, "page"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--copies", type=int, default=100)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--plain-resamples", type=int, default=5)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return as_child(options.child[0], options.child[1:])
    if not (RELEASED / "visage").is_dir():
        sys.exit(
            f"The released files are not in {RELEASED}. Set VISAGE_DATA to the folder that holds 'visage'."
        )
    from benchmarks.annotate import machine

    found: Result = {"machine": machine(), "database": "sqlite", "resamples": options.resamples, "sizes": []}
    with tempfile.TemporaryDirectory(prefix="visage-score-") as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        for copies in sorted({1, options.copies}):
            result = size(folder / f"copies-{copies}", copies, options.resamples, options.plain_resamples)
            found["sizes"].append(result)
            print(json.dumps(result), flush=True)
            found["machine"]["load_after"] = [round(load, 1) for load in os.getloadavg()]
            path = ROOT / "benchmarks" / "results" / "score-sqlite.json"
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
