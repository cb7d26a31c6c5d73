"""Does the served way keep to its memory? A gentle day (benchmarks/day.py) for a long time, with the memory
of every process looked at.

    DATABASE_URL=postgresql://... python -m benchmarks.soak
        [--minutes 25] [--annotators 80] [--think 10] [--every 5] [--out FILE.json]

The processes and settings are those of docker-compose.yml, the people those of the day: annotators at work,
leads with a dashboard open, an admin who has exports made and scores computed. Resident memory of each
process is noted every few seconds, by service. A server that has just begun grows while it loads what it
needs for the first time, so the first part of the time does not count: of the rest, the slope of a straight
line (Theil and Sen: the median of the slopes between samples, which one large export does not tilt) is told
as megabytes for 10,000 requests, and what that makes in a day at this rate against the `mem_limit` of docker-
compose.yml.

Written to benchmarks/results/soak.json. Ends with an error if web server or beat grow by more than GROWS_MB
for 10,000 requests, a process was put in place of another, an answer was lost or a request failed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import composed
from benchmarks.annotate import commit, machine
from benchmarks.annotate_server import ROOT
from benchmarks.day import Served, check_servers, live

Result = dict[str, Any]
Sample = tuple[float, dict[str, dict[int, int]]]
"""Seconds since the beginning, and bytes by service and process."""
MB = 1_000_000
JUDGED = ("web", "beat")
"""What these do for a request is the same at any time. A worker's exports and scores are of ever more answers
in such a run: what it takes is told, and tests/processes/test_memory.py holds it to the same work again."""
GROWS_MB = 2.0
"""More than that for 10,000 requests is said to grow: a server that answers a million requests a day would
need 200 MB more every day."""
WARMING = 0.4
"""The share of the time that does not count."""
MOST_POINTS = 200


class Watch(threading.Thread):
    """Notes the memory of all processes of `served` until it is told to `end`."""

    def __init__(self, served: Served, every: float) -> None:
        super().__init__(daemon=True)
        self.samples: list[Sample] = []
        self._served, self._every, self._over = served, every, threading.Event()

    def run(self) -> None:
        began = time.monotonic()
        while not self._over.wait(self._every):
            self.samples.append((time.monotonic() - began, self._served.memory()))

    def end(self) -> None:
        self._over.set()
        self.join()


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between any two of `points`, some MOST_POINTS of them, evenly chosen."""
    few = points[:: max(1, len(points) // MOST_POINTS)]
    slopes = [(b - a) / (then - when) for (when, a), (then, b) in combinations(few, 2) if then > when]
    return statistics.median(slopes) if slopes else 0.0


def growth(samples: Sequence[Sample], *, requests_a_second: float, limits: dict[str, int]) -> Result:
    """Of each service: megabytes at the beginning, when it was warm and at the end, and how it grows, that is
    its processes together; `replaced` are processes that were not there all the time."""
    warm = samples[int(len(samples) * WARMING) :]
    found: Result = {}
    for service in samples[-1][1]:
        of_service = [(when, sum(of[service].values()) / MB) for when, of in warm]
        a_second = slope(of_service)
        there = [set(of[service]) for _, of in warm]
        found[service] = {
            "begin_mb": round(sum(samples[0][1][service].values()) / MB, 1),
            "warm_mb": round(of_service[0][1], 1),
            "end_mb": round(of_service[-1][1], 1),
            "most_mb": round(max(sum(of[service].values()) for _, of in samples) / MB, 1),
            "processes": len(there[-1]),
            "replaced": len(set.union(*there) - set.intersection(*there)),
            "mb_per_10000_requests": round(a_second / requests_a_second * 10_000, 2),
            "mb_a_day": round(a_second * 86_400, 1),
        }
        if service in limits:
            left = limits[service] / MB - of_service[-1][1]
            days = left / (a_second * 86_400) if a_second > 0 else None
            found[service] |= {
                "limit_mb": round(limits[service] / MB),
                "days_to_limit": days and round(days, 1),
            }
    return found


def limits() -> dict[str, int]:
    """`mem_limit` in bytes of each service of docker-compose.yml."""
    units = {"m": 2**20, "g": 2**30}
    said = {name: of["mem_limit"] for name, of in composed.SERVICES.items()}
    return {name: int(limit[:-1]) * units[limit[-1]] for name, limit in said.items()}


def wrong(found: Result) -> list[str]:
    """What speaks against the server, in words."""
    said = []
    for service, of in found["memory"].items():
        if service in JUDGED and of["mb_per_10000_requests"] > GROWS_MB:
            said.append(f"{service} grows by {of['mb_per_10000_requests']} MB for 10,000 requests")
        if of["replaced"]:
            said.append(f"{service}: {of['replaced']} processes came or went")
    if lost := found["compared"]["lost"]:
        said.append(f"{lost} answers lost")
    if number := found["errors"]["number"]:
        said.append(f"{number} requests failed")
    return said


def soak(options: argparse.Namespace) -> Result:
    about = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="visage-soak-")))
        served = stack.enter_context(Served(folder))
        watch = Watch(served, options.every)
        watch.start()
        plan, told = live(served, options, folder)
        watch.end()
        compared = served.tool("compare", told["journal"])
    seconds = plan["seconds"] - plan["ramp_seconds"]
    asked = sum(map(len, told["taken"]["day"].values()))
    return {
        "machine": about | {"load_after": [round(load, 1) for load in os.getloadavg()]},
        "commit": commit(),
        "minutes": options.minutes,
        "annotators": options.annotators,
        "think_seconds": options.think,
        "requests": sum(len(times) for of in told["taken"].values() for times in of.values()),
        "requests_a_second": round(asked / seconds, 1),
        "processors_busy": told["busy"],
        "memory": growth(watch.samples, requests_a_second=asked / seconds, limits=limits()),
        "counted": told["counted"],
        "compared": {name: compared[name] for name in ("acknowledged", "in_database", "lost")},
        "errors": {"number": len(told["errors"]), "first": told["errors"][:20]},
        "megabytes": _curve(watch.samples),
    }


def _curve(samples: Sequence[Sample]) -> list[list[Any]]:
    """Some thirty moments: the minute, and megabytes by service, largest process first."""
    return [
        [
            round(when / 60, 1),
            {name: sorted((b // MB for b in of[name].values()), reverse=True) for name in of},
        ]
        for when, of in samples[:: max(1, len(samples) // 30)]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--minutes", type=float, default=25)
    parser.add_argument("--annotators", type=int, default=80)
    parser.add_argument("--think", type=float, default=10, help="seconds for one item, in the median")
    parser.add_argument("--ramp", type=float, default=60, help="seconds in which they come")
    parser.add_argument("--alone", type=float, default=5, help="seconds of the single user")
    parser.add_argument("--every", type=float, default=5, help="seconds from one look to the next")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "soak.json")
    options = parser.parse_args()
    check_servers()
    found = soak(options)
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    shown = ("requests", "requests_a_second", "processors_busy", "memory", "compared", "errors")
    print(json.dumps({name: found[name] for name in shown}, indent=1))
    if said := wrong(found):
        sys.exit("; ".join(said))
    print(f"neither grew by more than {GROWS_MB} MB for 10,000 requests")


if __name__ == "__main__":
    main()
