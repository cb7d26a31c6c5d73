"""Resamples that several metrics of one pass of a worker have in common: drawn once, kept until the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

from metrics.score_runs.rows import Inputs

Key = tuple[str, int, int]
"""The digest of what was read, the seed and the number of resamples."""
T = TypeVar("T")
_cache: ContextVar[dict[str, tuple[Key, object]] | None] = ContextVar("kept", default=None)


@contextmanager
def sharing_resamples() -> Iterator[None]:
    """Within, metrics of the same answers, seed and number of resamples draw them once, and agreement after
    them reads no answers that they have read.

    For a worker with several metrics of a study to compute: reading and drawing is nearly all that each of
    them does. Of each kind (the answers of a study, those of two sides, embeddings) what was drawn last is
    kept, without the responses or vectors it was drawn from.
    """
    if _cache.get() is not None:
        yield
        return
    token = _cache.set({})
    try:
        yield
    finally:
        _cache.reset(token)


def is_sharing() -> bool:
    return _cache.get() is not None


def is_shared(inputs: Inputs) -> bool:
    """Whether what is drawn for `inputs` is kept for the next metric."""
    return is_sharing() and inputs.resamples > 0


def draw_once(kind: str, inputs: Inputs, digest: str, draw: Callable[[], T]) -> T:
    """What `draw` gives for `inputs` of this digest, drawn if nothing is kept of it. Only where `shared`."""
    kept, key = _cache.get(), (digest, inputs.seed, inputs.resamples)
    assert kept is not None
    if kind not in kept or kept[kind][0] != key:
        kept.pop(kind, None)  # never two of a kind at once
        kept[kind] = (key, draw())
    return cast(T, kept[kind][1])


def cached_draw(kind: str, digest: str) -> object | None:
    """What is kept of a kind and digest, whatever it was drawn with."""
    kept = (_cache.get() or {}).get(kind)
    return kept[1] if kept is not None and kept[0][0] == digest else None
