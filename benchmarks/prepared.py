"""What preparing and joining statements saves at an answer that brings the next item.

    python -m benchmarks.prepared [--requests 400] [--seed 1]

One process, no HTTP: Django's test client posts an answer whose reply brings the next item, as the page at
work does. In random turn a request runs as it is, or *without*: every statement is compiled anew in each
request, changes run one after another, and PostgreSQL plans each statement. A database is made for it and
deleted: SQLite in memory, or one on the server that DATABASE_URL names.

Prints the milliseconds and the processor time (of this process) of both ways and their ratios. Writes them to
benchmarks/results/prepared-<database>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.server")
django.setup()

from django.conf import settings  # noqa: E402
from django.db import connection, connections  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402

from annotation.assignment import queries  # noqa: E402
from annotation.core import prepared, prepared_together  # noqa: E402
from benchmarks import annotate_study  # noqa: E402
from benchmarks.annotate import machine  # noqa: E402

RESULTS = Path(__file__).parent / "results"
WARM_UP = 20
PAGE = "/studies/load/annotate"


class Annotator:
    """Somebody at work, who always has an item."""

    def __init__(self, session: str) -> None:
        self.client = Client()
        self.client.cookies[settings.SESSION_COOKIE_NAME] = session
        self.item = self._post("items", {"have": [], "wanted": 1})["items"][0]

    def answer(self) -> None:
        [option] = self.item["options"]
        body = {
            "unit": self.item["unit"],
            "client_key": self.item["client_key"],
            "active_ms": 900,
            "answers": [{"option": option["id"], "value": 5, "position": option["position"]}],
            "next": {"have": [], "wanted": 1},
        }
        [self.item] = self._post("answers", body)["next"]["items"]

    def _post(self, what: str, body: dict[str, Any]) -> Any:
        answer = self.client.post(f"{PAGE}/{what}/", body, content_type="application/json")
        if answer.status_code != 200:
            raise RuntimeError(f"{answer.status_code}: {answer.content[:300]!r}")
        return answer.json()


@contextmanager
def without() -> Iterator[None]:
    """No statement is kept from an earlier request, none is joined with others, none is planned once."""
    kept = vars(connections["default"]).pop("prepared", {})
    with (
        patch.object(prepared_together.Together, "run", one_after_another),
        # the result of an earlier change comes as a value
        patch.object(prepared_together.InsertedId, "as_postgresql", prepared.Param.as_sql),
        patch.object(prepared_together.Changed, "as_postgresql", prepared.Param.as_sql),
        patch.object(prepared, "cursor", connection.cursor),
        patch.object(queries, "cursor", connection.cursor),
    ):
        yield
    vars(connections["default"])["prepared"] = kept


def one_after_another(together: prepared_together.Together, **values: Any) -> dict[str, Any]:
    """The changes as SQLite runs them, on any database."""
    with patch.object(prepared_together, "connection", SimpleNamespace(vendor="sqlite")):
        return AS_IT_IS(together, **values)


AS_IT_IS = prepared_together.Together.run
WAYS = {"with": nullcontext, "without": without}


def measure(requests: int, seed: int) -> dict[str, Any]:
    """Milliseconds and processor milliseconds of each way: medians over its requests, and their ratios."""
    people = annotate_study.make(units=2 * (requests + WARM_UP) + 2)
    at_work = Annotator(people[0]["session"])
    turns = [way for way in WAYS for _ in range(requests)]
    random.Random(seed).shuffle(turns)
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for number, way in enumerate([*list(WAYS) * WARM_UP, *turns]):
        with WAYS[way]():
            began = time.perf_counter(), time.process_time()
            at_work.answer()
            ended = time.perf_counter(), time.process_time()
        if number >= len(WAYS) * WARM_UP:
            taken[way].append((ended[0] - began[0], ended[1] - began[1]))
    result: dict[str, Any] = {"requests_each": requests, "seed": seed}
    for column, name in enumerate(("ms", "cpu_ms")):
        of = {way: 1000 * statistics.median(times[column] for times in taken[way]) for way in WAYS}
        result[name] = {way: round(value, 3) for way, value in of.items()}
        result[f"{name}_ratio"] = round(of["without"] / of["with"], 2)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=400, help="requests of each way")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the turns")
    options = parser.parse_args()
    setup_test_environment()
    before = machine()
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        result = measure(options.requests, options.seed)
    finally:
        connection.creation.destroy_test_db("", verbosity=0)
    written = {"machine": before, "database": connection.vendor, **result}
    (RESULTS / f"prepared-{connection.vendor}.json").write_text(json.dumps(written, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
