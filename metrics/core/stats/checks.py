"""Input checks shared by all statistics."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
UNKNOWN_ANNOTATOR = -1
"""An unknown annotator, or the missing second annotator of a cell with one. Not resampled: weight 1."""


def counts(name: str, values: ArrayLike, *, ndim: int) -> Ints:
    """`values` as integers of at least 0 with `ndim` dimensions. Raises ValueError."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise ValueError(f"{name} has {array.ndim} dimensions; {ndim} are needed.")
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iub" and not (
        array.dtype.kind == "f" and bool(np.all(np.isfinite(array) & (array == np.round(array))))
    ):
        raise ValueError(f"{name} must be counts, that is whole numbers; it holds {_odd(array)}.")
    if bool((array < 0).any()):
        raise ValueError(f"{name} must be counts; it holds {array[array < 0].flat[0]}, which is negative.")
    return array.astype(np.int64)


def selected_of_shown(selected: ArrayLike, shown: ArrayLike, *, ndim: int) -> tuple[Ints, Ints]:
    """k and n of the same shape with k <= n. Raises ValueError."""
    k, n = counts("selected", selected, ndim=ndim), counts("shown", shown, ndim=ndim)
    if k.shape != n.shape:
        raise ValueError(f"selected has shape {k.shape} and shown {n.shape}; they must be the same.")
    if bool((k > n).any()):
        where = tuple(int(axis[0]) for axis in np.nonzero(k > n))
        raise ValueError(f"selected {k[where]} times of {n[where]} shown, at index {where}: more than shown.")
    return k, n


def mask(name: str, values: ArrayLike, *, length: int) -> Bools:
    """`values` as `length` booleans. Raises ValueError."""
    array = np.asarray(values)
    if array.shape != (length,):
        raise ValueError(f"{name} has shape {array.shape}; ({length},) is needed.")
    if array.size and array.dtype.kind != "b":
        raise ValueError(f"{name} must be True or False for each attribute; it holds {_odd(array)}.")
    return array.astype(np.bool_)


def labels(name: str, values: ArrayLike, *, length: int) -> Ints:
    """`values` as `length` cluster numbers 0, 1, ... in order of first appearance, so that a draw depends on
    the order of the data and not on the labels. Raises ValueError."""
    array = np.asarray(values)
    if array.shape != (length,):
        raise ValueError(f"{name} has shape {array.shape}; ({length},) is needed.")
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    renumbered = np.empty(len(first), dtype=np.int64)
    renumbered[np.argsort(first)] = np.arange(len(first))
    return renumbered[inverse]


def _odd(array: NDArray[Any]) -> str:
    if array.dtype.kind != "f":
        return f"values of type {array.dtype}"
    odd = array[~(np.isfinite(array) & (array == np.round(array)))]
    return str(odd.flat[0]) if odd.size else f"values of type {array.dtype}"
