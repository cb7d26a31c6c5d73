"""The n-gram cache of ViSAGe's captioner: texts and their CLIP vectors on disk.

A text file (UTF-8, one n-gram per line) and a .npy file (one vector per line, read as a memory map), in one
of two forms. A folder by ngrams_build.py holds `texts.txt` (alphabetical), `vectors.npy` (unit vectors) and
`manifest.json` (the model, what was counted, checksums). antarctic-captions' files are read as released
(https://github.com/dzryk/antarctic-captions, README "Generation"): `postcache.txt` and `postcache.npy`, or
any other NAME.txt with NAME.npy beside it. Needs only numpy.
"""

import hashlib
import json
import mmap
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from generation.backends import weights
from generation.backends.base import BackendError, Encoder

Vectors = npt.NDArray[np.float32]

FORMAT = 1
_MANIFEST = "manifest.json"
_SAME = 0.99  # least cosine between a stored and a new vector: float16 gives 0.9999, another model about 0
_SIMILAR = 0.5  # the same without a manifest: the authors' builder can put words before each n-gram
_AUTHORS_CLIP = "antarctic-captions' own cache needs clip=ViT-B-16 and pretrained=openai"


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


class Ngrams:
    """A cache, open for reading. `path`: its folder, or its text file. `manifest`: None for
    antarctic-captions' files. `vectors`: a memory map, shape (rows, dim). `version` identifies the cache.

    Raises BackendError if it is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        texts, vectors = _files(path)
        self.manifest = _manifest(path / _MANIFEST) if (path / _MANIFEST).is_file() else None
        try:
            # Copy-on-write, because torch warns of arrays that are read-only. Nothing is written.
            self.vectors: npt.NDArray[Any] = np.lib.format.open_memmap(vectors, mode="c")
            with texts.open("rb") as file:
                self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._ends = _line_ends(self._texts)
            if self.manifest is None:
                self._texts[:].decode()
        except (OSError, ValueError, EOFError) as error:
            raise self.damaged(str(error)) from error
        if self.vectors.ndim != 2 or self.vectors.dtype not in (np.float16, np.float32):
            raise self.damaged(f"vectors of shape {self.vectors.shape} and type {self.vectors.dtype}")
        if len(self._ends) != len(self.vectors):
            raise self.damaged(
                f"{texts.name} has {len(self._ends):,} lines, {vectors.name} {len(self.vectors):,} rows"
            )
        self._check_manifest()
        self.version = (
            self.manifest.vectors_sha256
            if self.manifest
            else f"{weights.revision_of(texts)} {weights.revision_of(vectors)}"
        )

    def __len__(self) -> int:
        return len(self.vectors)

    def text(self, row: int) -> str:
        start = int(self._ends[row - 1]) + 1 if row else 0
        return self._texts[start : int(self._ends[row])].decode().strip()

    def damaged(self, what: str) -> BackendError:
        """The error for a cache that cannot be used, with the cure."""
        cure = "Build it again: manage.py ngrams" if self.manifest else "Copy or download both files again"
        return BackendError(f"The n-gram cache {self.path} cannot be used ({what}). {cure}.")

    def check_model(self, encoder: Encoder, *, model: str, pretrained: str) -> None:
        """Raise BackendError if another model made the cache: compares the name, if the cache has it, and
        three of the vectors."""
        manifest = self.manifest
        if manifest and (manifest.model, manifest.pretrained) != (model, pretrained):
            raise BackendError(
                f"The n-gram cache {self.path} was made with {manifest.model} "
                f"({manifest.pretrained or 'no tag'}), and the recipe asks for {model} "
                f"({pretrained or 'no tag'}): their vectors cannot be compared. "
                f"Build one with: {_command(self.path, model, pretrained)}"
            )
        probe = sorted({0, len(self) // 2, len(self) - 1})
        new = encoder.encode_texts([self.text(row) for row in probe])
        stored = self.vectors[probe].astype(np.float32)
        least = (_SAME if manifest else _SIMILAR) * np.linalg.norm(stored, axis=1)
        if new.shape != stored.shape or not ((new * stored).sum(axis=1) >= least).all():
            cure = (
                f"Build it again with: {_command(self.path, model, pretrained)}"
                if manifest
                else f"Name the CLIP that made it in the options clip and pretrained; {_AUTHORS_CLIP}."
            )
            raise BackendError(
                f"The n-gram cache {self.path} was made with other weights of {model} than those loaded "
                f"now. {cure}"
            )

    def _check_manifest(self) -> None:
        if self.manifest is None:
            return
        expected = self.manifest.rows, self.manifest.dim
        if self.vectors.shape != expected or self.vectors.dtype != self.manifest.dtype:
            raise self.damaged(f"vectors of shape {self.vectors.shape}")
        if hashlib.sha256(self._texts).hexdigest() != self.manifest.texts_sha256:
            raise self.damaged("texts.txt has changed since it was written")


def _files(path: Path) -> tuple[Path, Path]:
    """The text file and the .npy file of the cache at `path`. Raises BackendError."""
    if (path / _MANIFEST).is_file():
        return path / "texts.txt", path / "vectors.npy"
    texts = [path] if path.is_file() else sorted(path.glob("*.txt"))
    pairs = [(one, one.with_suffix(".npy")) for one in texts if one.with_suffix(".npy").is_file()]
    if len(pairs) > 1:
        names = ", ".join(one.name for one, _ in pairs)
        raise BackendError(f"There are several n-gram caches at {path}. Name one of the files {names}.")
    if not pairs:
        raise BackendError(
            f"There is no n-gram cache at {path}. Name the folder with antarctic-captions' postcache.txt and "
            f"postcache.npy, or build one from any text with: {_command(path, 'NAME', 'TAG')}"
        )
    return pairs[0]


def _line_ends(texts: mmap.mmap) -> npt.NDArray[np.int64]:
    ends = np.flatnonzero(np.frombuffer(texts, np.uint8) == ord("\n"))
    return ends if texts[-1:] == b"\n" else np.append(ends, len(texts))


def _manifest(path: Path) -> Manifest:
    try:
        manifest = Manifest(**json.loads(path.read_text(encoding="utf-8")))
        if manifest.format != FORMAT:
            raise ValueError(f"it has format {manifest.format}, but this program reads {FORMAT}")
    except (OSError, ValueError, TypeError) as error:
        raise BackendError(
            f"The n-gram cache {path.parent} cannot be used ({_MANIFEST}: {error}). "
            "Build it again: manage.py ngrams."
        ) from error
    return manifest


def _command(path: Path, model: str, pretrained: str) -> str:
    out, model, pretrained = (shlex.quote(one) for one in (str(path), model, pretrained))
    return f"manage.py ngrams TEXT --out {out} --model {model} --pretrained {pretrained}"
