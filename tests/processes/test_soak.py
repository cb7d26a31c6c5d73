"""What benchmarks/soak.py makes of the memory that it noted (tests/processes/test_day.py runs its server)."""

from __future__ import annotations

import random

import pytest

from benchmarks import soak
from tests.waiting import wait_for

MB = soak.MB


def samples(grows_a_second: float, *, warming: float = 0.0, noise: float = 0.0, replaced_at: int = -1):
    """Two processes of the web server for 200 s, looked at every second: together they grow so many MB a
    second, and by `warming` at first; one of them is put in place of another at a moment."""
    dice = random.Random(1)
    found = []
    for second in range(200):
        one = 100 + grows_a_second * second + min(warming, second) + dice.uniform(-noise, noise)
        other = 3 if 0 <= replaced_at <= second else 2
        found.append((float(second), {"web": {1: int(one * MB), other: 100 * MB}}))
    return found


def web(found, **limits):
    return soak.growth(found, requests_a_second=20, limits=limits)["web"]


def test_growth_is_told_for_ten_thousand_requests_and_a_day():
    told = web(samples(0.01), web=2000 * MB)
    assert told["mb_per_10000_requests"] == pytest.approx(5.0, abs=0.01)
    assert told["mb_a_day"] == pytest.approx(864, abs=1)
    assert (told["begin_mb"], told["processes"], told["replaced"]) == (200, 2, 0)
    assert told["days_to_limit"] == pytest.approx((2000 - 202) / 864, abs=0.1)


def test_what_is_loaded_at_first_and_one_large_export_do_not_count():
    found = samples(0.0, warming=50, noise=1)
    found[150][1]["web"][1] += 500 * MB
    told = web(found, web=2000 * MB)
    assert abs(told["mb_per_10000_requests"]) < soak.GROWS_MB
    assert told["most_mb"] > 700


def test_what_speaks_against_a_server_is_said():
    def said(found, lost=0, failed=0):
        memory = soak.growth(found, requests_a_second=20, limits={})
        return soak.wrong({"memory": memory, "compared": {"lost": lost}, "errors": {"number": failed}})

    assert said(samples(0.0)) == []
    assert said(samples(0.01)) == ["web grows by 5.0 MB for 10,000 requests"]
    assert said(samples(0.0, replaced_at=150)) == ["web: 2 processes came or went"]
    assert said(samples(0.0), lost=1, failed=2) == ["1 answers lost", "2 requests failed"]


def test_the_limits_are_those_of_the_containers():
    found = soak.limits()
    assert found["web"] == 2 * 2**30
    assert found["cache"] == 256 * 2**20


def test_memory_is_looked_at_until_the_end():
    class Server:
        def memory(self):
            return {"web": {1: MB}}

    watch = soak.Watch(Server(), every=0.01)
    watch.start()
    wait_for(lambda: len(watch.samples) > 2, "it does not look")
    watch.end()
    assert not watch.is_alive()
    assert watch.samples[0][1] == {"web": {1: MB}}
