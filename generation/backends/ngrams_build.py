"""Build the n-gram cache (ngrams.py) from text files, in constant memory, as antarctic-captions does
(https://github.com/dzryk/antarctic-captions, README "Method")."""

import hashlib
import json
import os
import shutil
import sqlite3
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

_TEXTS_AT_ONCE = 4096  # the encoder splits them into its own batches


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
    progress: Callable[[str, int, int], None] = lambda step, done, total: None,
) -> Manifest:
    """Count the n-grams of `files`, encode them, and write the cache to `out`: all of it or nothing.

    Memory does not grow with the files. `progress` gets (step, done, total). Raises TextRefused for files
    that are not text or have too few n-grams, BackendError if `out` exists or cannot be written.
    """
    for name, value in (("--max-n", max_n), ("--min-count", min_count), ("--limit", limit)):
        if value is not None and value < 1:
            raise BackendError(f"{name} {value}: choose 1 or more.")
    if out.exists():
        raise BackendError(f"{out} already exists. Name another folder, or remove this one first.")
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise BackendError(f"Cannot write to {out.parent}: {error.strerror}.") from error
    try:
        size = sum(path.stat().st_size for path in files if path.is_file())
        counts = folder / "counted"
        sources = counting.count_ngrams(
            files,
            into=counts,
            max_n=max_n,
            progress=lambda done: progress("reading", done, size),
        )
        ngrams = counting.most_frequent(counts, min_count=min_count, limit=limit)
        per_n, texts_sha256 = _write_texts(folder, ngrams)
        counts.unlink()
        rows = sum(per_n.values())
        if not rows:
            raise TextRefused(
                f"No n-gram occurs {min_count} times in {', '.join(one.name for one in sources)}. "
                "Use more text, or a smaller --min-count."
            )
        vectors_sha256 = _write_vectors(folder, rows, encoder, np.dtype(dtype), progress)
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
        text = json.dumps(asdict(manifest), indent=2) + "\n"
        (folder / "manifest.json").write_text(text, encoding="utf-8")
        for path in folder.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        folder.chmod(0o755)  # mkdtemp makes it private
        folder.rename(out)
    except (OSError, sqlite3.Error) as error:
        raise BackendError(
            f"{out} could not be written: {getattr(error, 'strerror', '') or error}."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
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
    progress: Callable[[str, int, int], None],
) -> str:
    """Writes through files, not memory maps: writing to a map on a full disk kills the process."""
    sha256 = hashlib.sha256()
    with (
        (folder / "texts.txt").open("rb") as texts,
        (folder / "vectors.npy").open("wb") as vectors,
    ):
        descr = np.lib.format.dtype_to_descr(dtype)
        header = {"descr": descr, "fortran_order": False, "shape": (rows, encoder.dim)}
        np.lib.format.write_array_header_1_0(vectors, header)
        done = 0
        while lines := list(islice(texts, _TEXTS_AT_ONCE)):
            encoded = _encode(encoder, [line.decode().rstrip("\n") for line in lines])
            stored = encoded.astype(dtype).tobytes()
            sha256.update(stored)
            vectors.write(stored)
            done += len(lines)
            progress("encoding", done, rows)
    return sha256.hexdigest()


def _encode(encoder: Encoder, texts: list[str]) -> Vectors:
    while True:
        before = encoder.batch
        try:
            encoded = encoder.encode_texts(texts)
        except OutOfMemory as error:
            if encoder.batch < before:
                continue
            raise BackendError(f"The device has too little memory even for one text: {error}") from error
        if not np.isfinite(encoded).all():
            raise BackendError("The model returned NaN or infinity. Try --dtype float32.")
        return encoded
