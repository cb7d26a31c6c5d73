"""Django's cache in a Redis that all processes share, and that nothing depends on.

While it is away every question is answered as if nothing had ever been kept: pages count anew, the API's rate
limits let everybody pass. Then it is left alone for some seconds, so that not every request waits for it.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from time import monotonic
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

# How long a request may wait for it, twice at most, and how long nobody asks after it did not answer.
_WAIT_SECONDS = 0.5
PAUSE_SECONDS = 5.0
# What reading raises if another version of the program wrote it.
_UNREADABLE = (pickle.UnpicklingError, AttributeError, ImportError, TypeError, EOFError, IndexError)
log = logging.getLogger(__name__)


class _Pause:
    """Of this process, for each Redis: until when nobody asks it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._until: dict[str, float] = {}

    def lasts(self, server: str) -> bool:
        return monotonic() < self._until.get(server, 0.0)

    def begin(self, server: str) -> bool:
        """False if another thread began it meanwhile."""
        with self._lock:
            if self.lasts(server):
                return False
            self._until[server] = monotonic() + PAUSE_SECONDS
            return True

    def end(self) -> None:
        self._until.clear()


pause = _Pause()


class _Client:
    """What Django's client for Redis says, or what it would say of a cache that holds nothing."""

    def __init__(self, servers: list[str], **options: Any) -> None:
        patience: dict[str, Any] = {
            "socket_connect_timeout": _WAIT_SECONDS,
            "socket_timeout": _WAIT_SECONDS,
            # once more: the server may have closed an idle connection
            "retry": Retry(NoBackoff(), 1),
        }
        self._server = servers[0]
        self._redis = RedisCacheClient(servers, **patience, **options)

    def add(self, key: str, value: Any, timeout: int | None) -> bool:
        return bool(self._or(True, self._redis.add, key, value, timeout))

    def get(self, key: str, default: Any) -> Any:
        return self._or(default, self._redis.get, key, default)

    def set(self, key: str, value: Any, timeout: int | None) -> None:
        self._or(None, self._redis.set, key, value, timeout)

    def touch(self, key: str, timeout: int | None) -> bool:
        return bool(self._or(False, self._redis.touch, key, timeout))

    def delete(self, key: str) -> bool:
        return bool(self._or(False, self._redis.delete, key))

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        found: dict[str, Any] = self._or({}, self._redis.get_many, keys)
        return found

    def has_key(self, key: str) -> bool:
        return bool(self._or(False, self._redis.has_key, key))

    def incr(self, key: str, delta: int) -> int:
        count: int | None = self._or(None, self._redis.incr, key, delta)
        if count is None:
            raise ValueError(f"Key '{key}' not found.")
        return count

    def set_many(self, data: Mapping[str, Any], timeout: int | None) -> None:
        self._or(None, self._redis.set_many, data, timeout)

    def delete_many(self, keys: Iterable[str]) -> None:
        self._or(None, self._redis.delete_many, keys)

    def clear(self) -> bool:
        return bool(self._or(False, self._redis.clear))

    def _or(self, otherwise: Any, ask: Callable[..., Any], *given: Any) -> Any:
        if pause.lasts(self._server):
            return otherwise
        try:
            return ask(*given)
        except (RedisError, OSError) as error:
            if pause.begin(self._server):
                log.warning(
                    "the cache at CACHE_URL does not answer; %g s without it: %s", PAUSE_SECONDS, error
                )
        except _UNREADABLE as error:
            log.warning("what the cache holds cannot be read, and counts as nothing: %s", error)
        return otherwise


class SharedCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client
