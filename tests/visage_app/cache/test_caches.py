"""The setting CACHES, and what the cache makes of each way in which Redis fails."""

from __future__ import annotations

import pickle

import pytest
from django.core.exceptions import ImproperlyConfigured
from redis.exceptions import RedisError

from visage_app.cache import caches, shared_cache

URL = "redis://cache.lab:6379/1"


@pytest.fixture
def configured(monkeypatch):
    """The cache from these variables and no others."""

    def made(*, code: str = "abc", **variables: str):
        for name in ("CACHE_URL", "CELERY_BROKER_URL"):
            monkeypatch.setenv(name, variables.get(name, ""))
        return caches.configured(code=code)["default"]

    return made


def test_it_is_shared_if_there_is_an_address_and_each_version_reads_its_own(configured):
    assert configured()["BACKEND"].endswith("LocMemCache")
    found = configured(CACHE_URL=f" {URL} ", CELERY_BROKER_URL="redis://cache.lab:6379/0")
    assert (found["BACKEND"].rpartition(".")[2], found["LOCATION"]) == ("SharedCache", URL)
    assert found["KEY_PREFIX"] == "visage:abc"
    assert configured(CACHE_URL="rediss://cache.lab", code="")["KEY_PREFIX"] == "visage"


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"CACHE_URL": "memcached://cache.lab"}, "is not a Redis URL"),
        ({"CACHE_URL": "redis:///1"}, "is not a Redis URL"),
        ({"CACHE_URL": URL, "CELERY_BROKER_URL": f"{URL} "}, "are the same"),
    ],
)
def test_what_cannot_be_is_refused(configured, variables, why):
    with pytest.raises(ImproperlyConfigured, match=why):
        configured(**variables)


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(shared_cache, "paused_until", {})
    return shared_cache._Client([URL])


@pytest.mark.parametrize(
    ("fault", "pauses"),
    [
        (RedisError, True),
        (OSError, True),
        *((fault, False) for fault in (pickle.UnpicklingError, AttributeError, ImportError, TypeError)),
        *((fault, False) for fault in (EOFError, IndexError)),
    ],
)
def test_a_fault_of_the_server_rests_it_and_a_value_of_another_version_does_not(client, fault, pauses):
    def fail():
        raise fault

    assert client._try("none", fail) == "none"
    assert (URL in shared_cache.paused_until) is pauses


def test_nobody_waits_for_long(client):
    options = client._redis.get_client("a").connection_pool.connection_kwargs
    assert options["socket_timeout"] == options["socket_connect_timeout"] == 0.5
    assert options["retry"]._retries == 1, "the server may have closed an idle connection"
