"""What *next* and *submit* cost, against an empty page of the same server in the same run.

    python -m benchmarks.annotate [--units 1000,100000,1000000] [--annotators 1,10,50]
                                  [--rounds 5] [--seconds 4]

Each size is a study in a database of its own (SQLite; new databases on the server that DATABASE_URL names, if
it does) with a web server of its own, as `manage.py serve` starts it. Annotators work over HTTP, each with a
connection of their own. In each round every size has its turn: with the empty page, with *next* and
*submit*, and with answers that bring the next item, as the page at work sends them, a second of each in turn,
then with one annotator alone far ahead of the rest, and one whose stratum is exhausted. So what else the
machine does falls on all of them alike. What was answered is counted: no unit may have more answers than
wanted. The clients share the processors with the servers.

Written to benchmarks/results/annotate-<database>.json. Rates are of the wall clock, and suffer from whatever
else runs; `cpu` is the processor time of web server and database for one request, which hardly does.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.annotate_server import ROOT, Served, Times, work

Result = dict[str, Any]
ALONE = {"far_ahead": (-2, "cycle"), "exhausted": (-1, "next")}
"""Who works alone -> which of the people, and at what."""


def measure(served: list[Served], annotators: list[int], *, rounds: int, seconds: int) -> Result:
    """All figures of all sizes: {units: {annotators or who works alone: figures}}."""
    parts: dict[tuple[int, str], list[dict[str, Times]]] = {}
    for turn in range(rounds):
        for server in served:
            # Every thread opens its connection again (they end after a minute), every statement is planned.
            work(server, server.people[:10], kind="empty", seconds=1)
            work(server, server.people[:10], kind="cycle", seconds=2)
            if turn == 0:
                server.memory_before = server.memory()
            for number in annotators:
                people = server.people[:number]
                parts.setdefault((server.units, str(number)), []).append(in_turn(server, people, seconds))
            for name, (who, kind) in ALONE.items():
                server.reset()
                # not longer: of the smallest study half is behind one of them
                times = {kind: work(server, [server.people[who]], kind=kind, seconds=1)}
                parts.setdefault((server.units, name), []).append(times)
    for server in served:
        server.reset()
    found: Result = {}
    for (units, name), of_rounds in parts.items():
        found.setdefault(str(units), {})[name] = figures(of_rounds)
    return found


def in_turn(server: Served, people: list[dict[str, str]], seconds: int) -> dict[str, Times]:
    """The empty page, *next* and *submit*, and both in one request, so many seconds each, a second of each in
    turn: a processor that shares its core with another one is up to twice as fast while that has nothing to
    do."""
    found: dict[str, Times] = {}
    for _ in range(math.ceil(seconds / 2)):
        server.reset()  # somebody alone is through the smallest study in some seconds
        for kind in ("empty", "cycle", "both", "both", "cycle", "empty"):
            part = work(server, people, kind=kind, seconds=1)
            found[kind] = found[kind] + part if kind in found else part
    return found


def figures(rounds: list[dict[str, Times]]) -> Result:
    """Percentiles in milliseconds over all rounds; rates, processor time and ratios as medians of rounds."""
    figures: Result = {}
    for what in ("empty", "next", "submit", "both"):
        times = [t for parts in rounds for part in parts.values() for t in part.taken.get(what, [])]
        if times:
            figures[what] = percentiles(times)
    if "cycle" not in rounds[0]:
        return figures
    cycles = [parts["cycle"] for parts in rounds]
    both = [t for part in cycles for what in ("next", "submit") for t in part.taken[what]]
    figures["apart"] = percentiles(both)
    figures["cycles_a_second"] = median(part.rate() / 2 for part in cycles)
    if "empty" in rounds[0]:
        empties = [parts["empty"] for parts in rounds]
        pairs = list(zip(cycles, empties, strict=True))
        figures["empty_a_second"] = median(empty.rate() for empty in empties)
        figures["ratio"] = median(cycle.rate() / empty.rate() for cycle, empty in pairs)
        figures["ratio_lowest_highest"] = [
            round(pick(cycle.rate() / empty.rate() for cycle, empty in pairs), 3) for pick in (min, max)
        ]
        figures["cpu_ms_empty"] = median(empty.cpu_ms() for empty in empties)
        figures["cpu_ms_next_submit"] = median(cycle.cpu_ms() for cycle in cycles)
        figures["cpu_ratio"] = median(empty.cpu_ms() / cycle.cpu_ms() for cycle, empty in pairs)
        figures["in_one"] = in_one([parts["both"] for parts in rounds], empties)
    return figures


def in_one(answers: list[Times], empties: list[Times]) -> Result:
    """Of answers that bring the next item. Each does what two requests did, and counts as two."""
    pairs = list(zip(answers, empties, strict=True))
    return {
        "cycles_a_second": median(answer.rate() for answer in answers),
        "ratio": median(2 * answer.rate() / empty.rate() for answer, empty in pairs),
        "cpu_ms": median(answer.cpu_ms() for answer in answers),
        "cpu_ratio": median(2 * empty.cpu_ms() / answer.cpu_ms() for answer, empty in pairs),
    }


def percentiles(times: list[float]) -> Result:
    ordered = sorted(times)
    at = {f"p{share}": ordered[min(len(ordered) - 1, share * len(ordered) // 100)] for share in (50, 95, 99)}
    return {"n": len(ordered)} | {name: round(1000 * seconds, 2) for name, seconds in at.items()}


def median(values: Any) -> float:
    return round(statistics.median(values), 3)


def growth(found: Result, sizes: list[int]) -> Result:
    """p95 of the largest size against the smallest, for each number of annotators and who works alone."""
    least, most = found[str(sizes[0])], found[str(sizes[-1])]
    of = {name: "next" if name == "exhausted" else "apart" for name in least}
    return {name: round(most[name][what]["p95"] / least[name][what]["p95"], 2) for name, what in of.items()}


def machine() -> Result:
    cpu = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in cpu.read_text().splitlines() if "model name" in line]
    return {
        "processors": f"{os.cpu_count()} of {names[0] if names else platform.processor()}",
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "load_before": [round(load, 1) for load in os.getloadavg()],
    }


def table(found: Result) -> str:
    """The figures as Markdown, for docs/performance.md."""
    lines = [
        "| units | annotators | cycles/s | empty/s | ratio | CPU ratio | next p50/p95/p99 ms "
        "| submit p50/p95/p99 ms | empty p50/p95/p99 ms "
        "| in one: cycles/s | ratio | CPU ratio | p50/p95/p99 ms |",
        "|" + "--:|" * 13,
    ]
    for units, rows in found["sizes"].items():
        for name, row in rows.items():
            times = [
                " / ".join(f"{row[what][p]:.1f}" for p in ("p50", "p95", "p99")) if what in row else ""
                for what in ("next", "submit", "empty")
            ]
            rates = [
                format(row[what], form) if what in row else ""
                for what, form in (
                    ("cycles_a_second", ".0f"),
                    ("empty_a_second", ".0f"),
                    ("ratio", ".0%"),
                    ("cpu_ratio", ".0%"),
                )
            ]
            one = row.get("in_one")
            cells = [f"{int(units):,}", name.replace("_", " "), *rates, *times]
            cells += (
                [f"{one['cycles_a_second']:.0f}", f"{one['ratio']:.0%}", f"{one['cpu_ratio']:.0%}"]
                if one
                else [""] * 3
            )
            cells.append(" / ".join(f"{row['both'][p]:.1f}" for p in ("p50", "p95", "p99")) if one else "")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--units", default="1000,100000,1000000")
    parser.add_argument("--annotators", default="1,10,50")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    options = parser.parse_args()
    sizes = sorted(int(size) for size in options.units.split(","))
    url = os.environ.get("DATABASE_URL", "")
    vendor = "postgresql" if url.startswith("postgres") else "sqlite"
    about = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="visage-bench-")))
        served = []
        for units in sizes:
            server = Served(units, folder / str(units), url=url if vendor == "postgresql" else "")
            served.append(stack.enter_context(server))
            print(f"{units:,} units made in {server.made_in:.0f} s", flush=True)
        annotators = [int(number) for number in options.annotators.split(",")]
        found = measure(served, annotators, rounds=options.rounds, seconds=options.seconds)
        memory = {str(server.units): [server.memory_before, server.memory()] for server in served}
        counted = {str(server.units): dict(server.counted) for server in served}
        result = {
            "machine": about | {"load_after": [round(load, 1) for load in os.getloadavg()]},
            "commit": commit(),
            "database": f"{vendor} {served[0].database_version()}",
            "rounds": options.rounds,
            "seconds": options.seconds,
            "sizes": found,
            "p95_growth": growth(found, sizes),
            "memory_mb_before_after": memory,
            "counted": counted,
        }
    kept = ROOT / "benchmarks" / "results" / f"annotate-{vendor}.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(result, indent=1) + "\n")
    print(table(result))
    print(f"p95 at {sizes[-1]:,} units against {sizes[0]:,}: {result['p95_growth']}")
    print(f"memory, MB: {memory}\ncounted: {counted}")
    if any(each["over_assigned"] or each["met_twice"] for each in counted.values()):
        sys.exit("over-assigned")


def commit() -> str:
    named = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return named.stdout.strip()


if __name__ == "__main__":
    main()
