"""Pictures and bundles as people bring them, made in memory."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from PIL import Image


def pixels(colour="teal", size=(8, 6), mode: str = "RGB") -> Image.Image:
    return Image.new(mode, size, colour)


def encoded(image: Image.Image | None = None, kind: str = "PNG", **options) -> bytes:
    stored = io.BytesIO()
    (image or pixels()).save(stored, format=kind, **options)
    return stored.getvalue()


def folder(at: Path, files: dict[str, bytes | str]) -> Path:
    for name, data in files.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return at


def zipped(files: dict[str, bytes | str]) -> io.BytesIO:
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    stored.seek(0)
    return stored


def table(*rows: dict[str, str]) -> str:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [",".join(columns)] + [
        ",".join('"' + row.get(column, "").replace('"', '""') + '"' for column in columns) for row in rows
    ]
    return "\n".join(lines) + "\n"
