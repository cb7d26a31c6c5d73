"""Read a file of embeddings that were made elsewhere: an NPZ file of numpy. Pure: no Django.

`names`, `groups` and `vectors` have a row for each image, `texts` and `text_vectors` one for each text. An
error names the array and the row as numpy counts it, from 0: `vectors[3]`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from annotation.core.zip_files import UNREADABLE
from generation.core.file_errors import MOST_SHOWN, FileUnusable

_STRINGS, _NUMBERS = ("names", "groups", "texts"), ("vectors", "text_vectors")
_IMAGES, _TEXTS = ("names", "groups", "vectors"), ("texts", "text_vectors")
_ROWS = 4096  # normalized at once, in float64
_NO_NPZ = (
    "It is not an NPZ file. Write it with numpy.savez(FILE, names=..., groups=..., vectors=...), and copy it "
    "again if it is damaged"
)


@dataclass(frozen=True)
class VectorFile:
    """The content of a file. `vectors` has the shape (names, dim), `text_vectors` (texts, dim); both are of
    length 1. `ignored`: names of arrays that were not read."""

    names: list[str]
    groups: list[str]
    vectors: npt.NDArray[np.float32]
    texts: list[str]
    text_vectors: npt.NDArray[np.float32]
    ignored: tuple[str, ...] = ()


class _Errors:
    """The first errors of a file, and how many there are."""

    def __init__(self, path: Path) -> None:
        self._path, self._shown, self._number = path, list[str](), 0

    def add(self, error: str) -> None:
        self._number += 1
        if len(self._shown) < MOST_SHOWN:
            self._shown.append(error)

    def raise_if_any(self) -> None:
        """Raises FileUnusable."""
        if self._number:
            raise FileUnusable(self._path, self._shown, self._number)


def digest(path: Path) -> str:
    """SHA-256 of the file, in hex. Raises FileUnusable."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileUnusable(path, [f"The file cannot be read: {error.strerror or error}."]) from error


def read(path: Path, *, longest: Mapping[str, int]) -> VectorFile:
    """The whole file, checked, with vectors of any scale brought to length 1.

    `longest`: characters of one of `names`, `groups` and `texts`. Raises FileUnusable with the first errors.
    """
    arrays, ignored = _arrays(path)
    errors = _Errors(path)
    _check_arrays(arrays, errors)
    errors.raise_if_any()
    texts = {name: _strings(name, arrays[name], longest[name], errors) for name in _STRINGS if name in arrays}
    for name in ("names", "texts"):
        _check_different(name, texts.get(name, []), errors)
    vectors = {name: _unit(name, arrays.pop(name), errors) for name in _NUMBERS if name in arrays}
    errors.raise_if_any()
    images = vectors["vectors"]
    return VectorFile(
        names=texts["names"],
        groups=texts["groups"],
        vectors=images,
        texts=texts.get("texts", []),
        text_vectors=vectors.get("text_vectors", np.zeros((0, images.shape[1]), np.float32)),
        ignored=ignored,
    )


def _arrays(path: Path) -> tuple[dict[str, npt.NDArray[Any]], tuple[str, ...]]:
    """The arrays that are read, and the names of the others."""
    known = (*_IMAGES, *_TEXTS)
    errors = _Errors(path)
    found: dict[str, npt.NDArray[Any]] = {}
    try:
        with path.open("rb") as file:
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise FileUnusable(path, [f"{_NO_NPZ}. It holds one array without a name."])
            for name in [name for name in known if name in stored.files]:
                try:
                    array = stored[name]
                except ValueError:  # numpy refuses objects with it, and damaged headers
                    array = None
                except MemoryError:
                    errors.add(f"{name}: it does not fit into memory. Save it as float32, or in parts.")
                    continue
                if isinstance(array, np.ndarray):
                    found[name] = array
                else:
                    cure = "texts: numpy.array(..., dtype=str)" if name in _STRINGS else "float32"
                    errors.add(f"{name}: it holds Python objects, or is damaged. Save it as {cure}.")
            ignored = tuple(sorted(set(stored.files) - set(known)))
    except FileUnusable:
        raise
    except OSError as error:
        raise FileUnusable(path, [f"The file cannot be read: {error.strerror or error}."]) from error
    except UNREADABLE as error:
        raise FileUnusable(path, [f"{_NO_NPZ} ({' '.join(str(error).split())[:200]})."]) from error
    errors.raise_if_any()
    return found, ignored


def _check_arrays(arrays: Mapping[str, npt.NDArray[Any]], errors: _Errors) -> None:
    """Which arrays there are, of which types and shapes."""
    for name in _IMAGES:
        if name not in arrays:
            errors.add(f"{name}: the array is missing. Give names, groups and vectors, a row for each image.")
    for name, other in (_TEXTS, _TEXTS[::-1]):
        if name in arrays and other not in arrays:
            errors.add(f"{other}: the array is missing. Give texts with text_vectors, or neither.")
    for name, array in arrays.items():
        dimensions, kinds = (1, "US") if name in _STRINGS else (2, "f")
        if array.dtype.kind not in kinds:
            cure = "texts: numpy.array(..., dtype=str)" if name in _STRINGS else "floats, such as float32"
            errors.add(f"{name}: its type is {array.dtype}. Save it as {cure}.")
        if array.ndim != dimensions or (dimensions == 2 and not array.shape[1]):
            cure = "(rows,)" if dimensions == 1 else "(rows, numbers of a vector)"
            errors.add(f"{name}: its shape is {array.shape}. It should be {cure}.")
    errors.raise_if_any()
    for names in (_IMAGES, _TEXTS):
        lengths = {name: len(arrays[name]) for name in names if name in arrays}
        if len(set(lengths.values())) > 1:
            counted = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
            errors.add(f"The arrays have different numbers of rows: {counted}. Give each the same rows.")
    if not len(arrays["names"]):
        errors.add("names: there is no row. Give at least one image.")
    if "text_vectors" in arrays and len(arrays["text_vectors"]):
        of_images, of_texts = arrays["vectors"].shape[1], arrays["text_vectors"].shape[1]
        if of_images != of_texts:
            errors.add(
                f"vectors have {of_images} numbers each, text_vectors {of_texts}. Embed images and texts by "
                "the same encoder, into the space that they share."
            )


def _strings(name: str, array: npt.NDArray[Any], longest: int, errors: _Errors) -> list[str]:
    found: list[str] = []
    for row, value in enumerate(array.tolist()):
        try:
            text = value.decode() if isinstance(value, bytes) else str(value)
            text.encode()
        except UnicodeError:
            errors.add(f"{name}[{row}]: it is not valid Unicode. Write it in UTF-8.")
            text = f"\0{row}"
        else:
            if not text.strip():
                errors.add(f"{name}[{row}]: it is empty. Fill it in, or leave the row out.")
            elif "\0" in text:
                errors.add(f"{name}[{row}]: it contains a null character. Remove it.")
            elif len(text) > longest:
                errors.add(f"{name}[{row}]: it has {len(text)} characters. Shorten it to {longest}.")
        found.append(text)
    return found


def _check_different(name: str, texts: list[str], errors: _Errors) -> None:
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        if (earlier := first.setdefault(text, row)) != row:
            errors.add(f"{name}[{row}]: '{text[:80]}' is also {name}[{earlier}]. Leave one of them out.")


def _unit(name: str, array: npt.NDArray[Any], errors: _Errors) -> npt.NDArray[np.float32]:
    unit = np.zeros(array.shape, dtype=np.float32)
    for start in range(0, len(array), _ROWS):
        with np.errstate(all="ignore"):
            part = array[start : start + _ROWS].astype(np.float64)
            # By the largest number first: the squares of tiny or huge ones are no float64.
            largest = np.abs(part).max(axis=1)
            scaled = part / largest[:, None]
            unit[start : start + len(part)] = scaled / np.linalg.norm(scaled, axis=1)[:, None]
        finite = np.isfinite(part).all(axis=1)
        for row in np.flatnonzero(~finite):
            errors.add(
                f"{name}[{start + row}]: a number is NaN or infinite. Embed it again, or leave the row out."
            )
        for row in np.flatnonzero(largest == 0):
            errors.add(
                f"{name}[{start + row}]: all its numbers are 0, so it has no direction. Embed it again, or "
                "leave the row out."
            )
    return unit
