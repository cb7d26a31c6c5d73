"""The n-gram cache of ViSAGe's captioner: texts and their CLIP vectors on disk.

A folder of four files, read as memory maps: `texts.txt` (one n-gram per line, alphabetical), `offsets.npy`
(where each line starts), `vectors.npy` (one unit vector per row) and `manifest.json` (the model, what was
counted, checksums). Needs only numpy. ngrams_build.py writes them.
"""

import hashlib
import json
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from generation.backends.base import BackendError, Encoder

Vectors = npt.NDArray[np.float32]
Product = Callable[[npt.NDArray[Any], Vectors], Vectors]
"""Rows of the cache, shape (rows, dim), and images, shape (n, dim): all their products, shape (n, rows)."""

FORMAT = 1
_ROWS_AT_ONCE = 1 << 16  # per look-up step: 64 MB of 512 numbers in float16
_SAME = 0.99  # least cosine between a stored and a new vector: float16 gives 0.9999, another model about 0


@dataclass(frozen=True)
class Manifest:
    """Contents and origin of a cache. `per_n`: n -> number of n-grams with n words."""

    format: int
    model: str
    pretrained: str
    rows: int
    dim: int
    dtype: str
    max_n: int
    min_count: int
    limit: int | None
    per_n: dict[str, int]
    sources: list[dict[str, Any]]
    libraries: dict[str, str]
    texts_sha256: str
    vectors_sha256: str


def _product(rows: npt.NDArray[Any], images: Vectors) -> Vectors:
    products: Vectors = images @ rows.astype(np.float32).T
    return products


class Ngrams:
    """A cache, open for reading. Raises BackendError if it is missing or damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = _manifest(folder)
        try:
            self._vectors = np.load(folder / "vectors.npy", mmap_mode="r")
            self._offsets = np.load(folder / "offsets.npy", mmap_mode="r")
            with (folder / "texts.txt").open("rb") as file:
                self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError, EOFError) as error:
            raise _damaged(folder, str(error)) from error
        manifest = self.manifest
        if self._vectors.shape != (manifest.rows, manifest.dim) or self._vectors.dtype != manifest.dtype:
            raise _damaged(folder, f"vectors of shape {self._vectors.shape}")
        if hashlib.sha256(self._texts).hexdigest() != manifest.texts_sha256:
            raise _damaged(folder, "texts.txt has changed since it was written")
        if self._offsets.shape != (manifest.rows + 1,) or self._offsets[-1] != len(self._texts):
            raise _damaged(folder, f"offsets of shape {self._offsets.shape}")

    def __len__(self) -> int:
        return self.manifest.rows

    def text(self, row: int) -> str:
        return self._texts[int(self._offsets[row]) : int(self._offsets[row + 1]) - 1].decode()

    def check_model(self, encoder: Encoder, *, model: str, pretrained: str) -> None:
        """Raise BackendError if another model made the cache: compares the name and three of the vectors."""
        manifest = self.manifest
        if (manifest.model, manifest.pretrained) != (model, pretrained):
            raise BackendError(
                f"The n-gram cache {self.folder} was made with {manifest.model} "
                f"({manifest.pretrained or 'no tag'}), and the recipe asks for {model} "
                f"({pretrained or 'no tag'}): their vectors cannot be compared. "
                f"Build one with: {_command(self.folder, model, pretrained)}"
            )
        probe = sorted({0, manifest.rows // 2, manifest.rows - 1})
        new = encoder.encode_texts([self.text(row) for row in probe])
        stored = self._vectors[probe].astype(np.float32)
        if new.shape != stored.shape or (new * stored).sum(axis=1).min() < _SAME:
            raise BackendError(
                f"The n-gram cache {self.folder} was made with other weights of {model} than those loaded "
                f"now. Build it again with: {_command(self.folder, model, pretrained)}"
            )

    def nearest(self, images: Vectors, *, top: int, product: Product = _product) -> list[list[str]]:
        """For each image, given as a unit vector, the `top` n-grams with the highest cosine, best first.

        The result for an image does not depend on the others: the last digits of the products depend on the
        number of images, so they select twice as many rows as needed, and those are scored again one by one
        in float64. Equal scores are sorted alphabetically.
        """
        number = min(top, len(self))
        spare = min(2 * number + 16, len(self))
        rows = np.empty((len(images), 0), np.int64)
        scores = np.empty((len(images), 0), np.float32)
        for start in range(0, len(self), _ROWS_AT_ONCE):
            chunk = self._vectors[start : start + _ROWS_AT_ONCE]
            products = product(chunk, images)
            indexes = np.broadcast_to(np.arange(start, start + len(chunk)), products.shape)
            scores, rows = np.hstack([scores, products]), np.hstack([rows, indexes])
            best = np.argpartition(-scores, min(spare, scores.shape[1]) - 1, axis=1)[:, :spare]
            scores, rows = np.take_along_axis(scores, best, 1), np.take_along_axis(rows, best, 1)
        return [self._ranked(image, kept)[:number] for image, kept in zip(images, rows, strict=True)]

    def _ranked(self, image: Vectors, rows: npt.NDArray[np.int64]) -> list[str]:
        rows = np.sort(rows)
        exact = (self._vectors[rows].astype(np.float64) * image.astype(np.float64)).sum(axis=1)
        return [self.text(row) for row in rows[np.argsort(-exact, kind="stable")]]


def _manifest(folder: Path) -> Manifest:
    path = folder / "manifest.json"
    if not path.is_file():
        raise BackendError(
            f"There is no n-gram cache at {folder}. Build one from any text with: "
            f"{_command(folder, 'NAME', 'TAG')}"
        )
    try:
        manifest = Manifest(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise _damaged(folder, f"manifest.json: {error}") from error
    if manifest.format != FORMAT:
        raise _damaged(folder, f"it has format {manifest.format}, but this program reads {FORMAT}")
    return manifest


def _damaged(folder: Path, what: str) -> BackendError:
    return BackendError(
        f"The n-gram cache {folder} cannot be used ({what}). Build it again: manage.py ngrams."
    )


def _command(folder: Path, model: str, pretrained: str) -> str:
    return f"manage.py ngrams TEXT --out {folder} --model {model} --pretrained {pretrained}"
