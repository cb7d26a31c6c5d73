"""Django's cache in Redis: shared by all processes, and not needed when it is down."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from django.core.cache import cache

from tests import factories
from tests.annotation.api.calls import Program
from tests.processes.servers import Redis
from visage_app.cache import shared_cache

ROOT = Path(__file__).resolve().parents[3]
AWAY = "the cache at CACHE_URL does not answer"

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Redis(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


def use(settings, url: str) -> None:
    backend = "visage_app.cache.shared_cache.SharedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": url, "KEY_PREFIX": "visage:abc"}}


@pytest.fixture(autouse=True)
def _shared(server, settings):
    use(settings, server.url)
    redis.Redis.from_url(server.url).flushall()
    shared_cache.paused_until.clear()
    yield
    cache.close()
    shared_cache.paused_until.clear()


class Stopped:
    """The server while it is away: on the same address, killed and started again."""

    def __init__(self, server: Redis) -> None:
        self._server = server

    def __enter__(self) -> None:
        self._server.kill()

    def __exit__(self, *_: object) -> None:
        self._server.start()
        shared_cache.paused_until.clear()


def test_every_question_is_answered():
    assert cache.get("a", "none") == "none"
    assert cache.add("a", 1)
    assert not cache.add("a", 2)
    cache.set("b", {"of": [1, 2]}, 60)
    assert cache.incr("a") == 2
    assert cache.get_many(["a", "b", "c"]) == {"a": 2, "b": {"of": [1, 2]}}
    cache.set_many({"c": 1, "d": 2})
    assert "c" in cache
    assert cache.touch("c", 5)
    cache.delete_many(["c"])
    assert cache.delete("d")
    with pytest.raises(ValueError, match="not found"):
        cache.incr("d")
    assert cache.clear()
    assert cache.get("a") is None


def test_one_process_sees_what_another_kept(server):
    said = subprocess.run(
        [sys.executable, "-c", "from django.core.cache import cache; cache.set('said', [7], 60)"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "visage_app.settings",
            "CACHE_URL": server.url,
            "CODE_REVISION": "abc",
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert cache.get("said") == [7]


@pytest.mark.django_db
def test_the_api_counts_over_all_processes_and_lets_all_pass_while_the_cache_is_away(
    server, settings, caplog
):
    settings.API_RATE = "2/hour"
    program = Program(factories.user())
    tries = []
    for _ in range(3):
        tries.append(program.get("studies").status_code)
        # as a process that just started, with nothing of its own
        use(settings, server.url)
    assert tries == [200, 200, 429]
    with Stopped(server), caplog.at_level(logging.WARNING):
        assert [program.get("studies").status_code for _ in range(4)] == [200] * 4
    assert caplog.text.count(AWAY) == 1, "a line a pause, not a line a request"
    # it came back empty, and counts again
    assert [program.get("studies").status_code for _ in range(3)] == [200, 200, 429]


def test_without_it_every_question_is_answered_as_if_nothing_had_been_kept(server, caplog):
    cache.set("a", 1)
    with Stopped(server):
        for _ in range(2):  # first it does not answer, then nobody asks
            assert cache.get("a", "none") == "none"
            assert cache.add("a", 1)
            cache.set("a", 1)
            assert cache.get_many(["a"]) == {}
            cache.set_many({"a": 1})
            assert "a" not in cache
            assert not cache.touch("a")
            assert not cache.delete("a")
            cache.delete_many(["a"])
            assert not cache.clear()
            with pytest.raises(ValueError, match="not found"):
                cache.incr("a")
            assert cache.get_or_set("a", lambda: 5) == 5
    assert caplog.text.count(AWAY) == 1


def test_after_the_pause_it_is_asked_again(server, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(shared_cache, "monotonic", lambda: now[0])
    server.kill()
    cache.set("a", 1)
    server.start()
    cache.set("a", 1)
    assert cache.get("a") is None
    now[0] += shared_cache.PAUSE_SECONDS
    cache.set("a", 1)
    assert cache.get("a") == 1


def test_what_another_version_left_counts_as_nothing(server, caplog):
    gone = pickle.dumps(shared_cache.SharedCache).replace(b"SharedCache", b"SharedCaper")
    redis.Redis.from_url(server.url).set(cache.make_key("a"), gone)
    assert cache.get("a", "none") == "none"
    assert "cannot be read" in caplog.text


def test_a_full_server_that_throws_nothing_out_breaks_nothing(server):
    asked = redis.Redis.from_url(server.url)
    asked.config_set("maxmemory", "1")
    try:
        cache.set("a", 1)
        assert cache.get("a") is None
    finally:
        asked.config_set("maxmemory", "0")
