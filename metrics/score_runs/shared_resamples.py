"""Share resamples, or influences, between the metrics that a worker computes together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

from metrics.score_runs.rows import Inputs

Key = tuple[str, int, int, bool]
"""(digest of the inputs, seed, number of resamples, whether influences are computed instead)."""
T = TypeVar("T")
_cache: ContextVar[dict[str, tuple[Key, object]] | None] = ContextVar("kept", default=None)


@contextmanager
def sharing_resamples() -> Iterator[None]:
    """Inside this context, metrics with the same answers, seed and number of resamples draw once, those with
    clustered intervals of the same answers compute their influences once, those without intervals sum the
    answers once, and agreement reuses the answers that were already read. The last of each kind are kept."""
    if _cache.get() is not None:
        yield
        return
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


def is_sharing() -> bool:
    """Whether what a metric reads, draws or computes is kept for the next one."""
    return _cache.get() is not None


def draw_once(kind: str, inputs: Inputs, digest: str, draw: Callable[[], T]) -> T:
    """The kept result of `draw`, which draws resamples or computes influences, for these inputs, or a new
    one. Call only if `is_sharing`."""
    kept, key = _cache.get(), (digest, inputs.seed, inputs.resamples, inputs.clustered)
    assert kept is not None
    if kind not in kept or kept[kind][0] != key:
        kept.pop(kind, None)  # free the memory of the old one first
        kept[kind] = (key, draw())
    return cast(T, kept[kind][1])


def cached_draw(kind: str, digest: str) -> object | None:
    """What is kept of a kind and digest: resamples of any seed and number, or influences; None if there is
    nothing."""
    kept = (_cache.get() or {}).get(kind)
    return kept[1] if kept is not None and kept[0][0] == digest else None
