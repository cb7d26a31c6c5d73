"""Django's cache in a Redis shared by all processes. The program works without it.

While Redis is down the cache behaves as if it were empty: pages compute their numbers again, and API rate
limits let everybody pass. It is not tried again for some seconds, so that not every request waits for it.
"""

import logging
import pickle
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

# How long a request waits (at most twice), and the pause after a failure.
_WAIT_SECONDS = 0.5
PAUSE_SECONDS = 5.0
# Errors from reading values that another version of the program wrote.
_UNREADABLE = (pickle.UnpicklingError, AttributeError, ImportError, TypeError, EOFError, IndexError)
log = logging.getLogger(__name__)


paused_until: dict[str, float] = {}
"""For this process: URL of a Redis -> the time until which it is not asked."""


class _Client:
    """Django's Redis client, which acts like an empty cache while Redis is down."""

    def __init__(self, servers: list[str], **options: Any) -> None:
        timeouts: dict[str, Any] = {
            "socket_connect_timeout": _WAIT_SECONDS,
            "socket_timeout": _WAIT_SECONDS,
            # One retry: the server may have closed an idle connection.
            "retry": Retry(NoBackoff(), 1),
        }
        self._server = servers[0]
        self._redis = RedisCacheClient(servers, **timeouts, **options)

    def add(self, key: str, value: Any, timeout: int | None) -> bool:
        return bool(self._try(True, self._redis.add, key, value, timeout))

    def get(self, key: str, default: Any) -> Any:
        return self._try(default, self._redis.get, key, default)

    def set(self, key: str, value: Any, timeout: int | None) -> None:
        self._try(None, self._redis.set, key, value, timeout)

    def touch(self, key: str, timeout: int | None) -> bool:
        return bool(self._try(False, self._redis.touch, key, timeout))

    def delete(self, key: str) -> bool:
        return bool(self._try(False, self._redis.delete, key))

    def get_many(self, keys: Iterable[str]) -> dict[str, Any]:
        found: dict[str, Any] = self._try({}, self._redis.get_many, keys)
        return found

    def has_key(self, key: str) -> bool:
        return bool(self._try(False, self._redis.has_key, key))

    def incr(self, key: str, delta: int) -> int:
        count: int | None = self._try(None, self._redis.incr, key, delta)
        if count is None:
            raise ValueError(f"Key '{key}' not found.")
        return count

    def set_many(self, data: Mapping[str, Any], timeout: int | None) -> None:
        self._try(None, self._redis.set_many, data, timeout)

    def delete_many(self, keys: Iterable[str]) -> None:
        self._try(None, self._redis.delete_many, keys)

    def clear(self) -> bool:
        return bool(self._try(False, self._redis.clear))

    def _try(self, default: Any, method: Callable[..., Any], *arguments: Any) -> Any:
        if monotonic() < paused_until.get(self._server, 0.0):
            return default
        try:
            return method(*arguments)
        except (RedisError, OSError) as error:
            paused_until[self._server] = monotonic() + PAUSE_SECONDS
            log.warning("the cache at CACHE_URL does not answer; not used for %g s: %s", PAUSE_SECONDS, error)
        except _UNREADABLE as error:
            log.warning("a cached value cannot be read and is ignored: %s", error)
        return default


class SharedCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _Client
