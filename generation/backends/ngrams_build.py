"""Build the cache of n-grams (ngrams.py) from text files, in constant memory, all of it or nothing.

The idea is that of antarctic-captions (https://github.com/dzryk/antarctic-captions, README "Method").
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from generation.backends import counting
from generation.backends.base import BackendError, Encoder, OutOfMemory
from generation.backends.counting import TextRefused
from generation.backends.ngrams import FORMAT, Manifest, Vectors

_ENCODED = 4096  # texts at a time; the encoder makes its own batches of them


def build(
    files: Sequence[Path],
    out: Path,
    *,
    encoder: Encoder,
    model: str,
    pretrained: str,
    dtype: Literal["float16", "float32"] = "float16",
    max_n: int = 3,
    min_count: int = 2,
    limit: int | None = None,
    told: Callable[[str, int, int], None] = lambda step, done, total: None,
) -> Manifest:
    """Count the n-grams of `files`, encode them, and put the finished cache at `out`: all of it or nothing.

    Memory does not grow with the files. `told` hears (step, done, total). Raises TextRefused for a file that
    is no text or has too few n-grams, BackendError if `out` is there already or cannot be written.
    """
    for name, value in (("--max-n", max_n), ("--min-count", min_count), ("--limit", limit)):
        if value is not None and value < 1:
            raise BackendError(f"{name} {value}: choose 1 or more.")
    if out.exists():
        raise BackendError(f"{out} is there already. Name another folder, or remove this one first.")
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise BackendError(f"Nothing can be written in {out.parent}: {error.strerror}.") from error
    try:
        size = sum(path.stat().st_size for path in files if path.is_file())
        read = made / "counted"
        sources = counting.count(
            files,
            into=read,
            folder=made,
            max_n=max_n,
            told=lambda done: told("reading", done, size),
        )
        per_n, texts_sha256 = _write_texts(made, counting.chosen(read, min_count=min_count, limit=limit))
        read.unlink()
        rows = sum(per_n.values())
        if not rows:
            raise TextRefused(
                f"No n-gram was seen {min_count} times in {', '.join(one.name for one in sources)}. "
                "Give more text, or a smaller --min-count."
            )
        vectors_sha256 = _write_vectors(made, rows, encoder, np.dtype(dtype), told)
        manifest = Manifest(
            format=FORMAT,
            model=model,
            pretrained=pretrained,
            rows=rows,
            dim=encoder.dim,
            dtype=dtype,
            max_n=max_n,
            min_count=min_count,
            limit=limit,
            per_n=per_n,
            sources=[asdict(one) for one in sources],
            libraries=dict(encoder.about.libraries),
            texts_sha256=texts_sha256,
            vectors_sha256=vectors_sha256,
        )
        (made / "manifest.json").write_text(json.dumps(asdict(manifest), indent=2) + "\n", encoding="utf-8")
        for path in made.iterdir():
            _to_disk(path)
        made.chmod(0o755)  # a temporary folder is its maker's only
        made.rename(out)
    except OSError as error:
        raise BackendError(f"{out} could not be written: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return manifest


def _write_texts(folder: Path, ngrams: Iterator[tuple[str, int]]) -> tuple[dict[str, int], str]:
    per_n: dict[str, int] = {}
    sha256 = hashlib.sha256()
    with (folder / "texts.txt").open("wb") as file:
        for ngram, _ in ngrams:
            line = f"{ngram}\n".encode()
            sha256.update(line)
            file.write(line)
            words = str(ngram.count(" ") + 1)
            per_n[words] = per_n.get(words, 0) + 1
    return dict(sorted(per_n.items())), sha256.hexdigest()


def _write_vectors(
    folder: Path,
    rows: int,
    encoder: Encoder,
    dtype: np.dtype[Any],
    told: Callable[[str, int, int], None],
) -> str:
    """Both arrays go through files, not memory maps: writing to a map on a full disk kills the process."""
    sha256 = hashlib.sha256()
    with (
        (folder / "texts.txt").open("rb") as texts,
        (folder / "vectors.npy").open("wb") as vectors,
        (folder / "offsets.npy").open("wb") as offsets,
    ):
        _header(vectors, (rows, encoder.dim), dtype)
        _header(offsets, (rows + 1,), np.dtype("<i8"))
        end = done = 0
        offsets.write(np.zeros(1, "<i8").tobytes())
        while lines := list(islice(texts, _ENCODED)):
            found = _encoded(encoder, [line.decode().rstrip("\n") for line in lines])
            stored = found.astype(dtype).tobytes()
            sha256.update(stored)
            vectors.write(stored)
            ends = end + np.cumsum([len(line) for line in lines])
            offsets.write(ends.astype("<i8").tobytes())
            end = int(ends[-1])
            done += len(lines)
            told("encoding", done, rows)
    return sha256.hexdigest()


def _encoded(encoder: Encoder, texts: list[str]) -> Vectors:
    while True:
        before = encoder.batch
        try:
            found = encoder.encode_texts(texts)
        except OutOfMemory as error:
            if encoder.batch < before:
                continue
            raise BackendError(f"The device has too little memory for one text: {error}") from error
        if not np.isfinite(found).all():
            raise BackendError("The model's vectors are not numbers (NaN). Try --dtype float32.")
        return found


def _header(file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    told = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, told)


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


__all__ = ["TextRefused", "build"]
