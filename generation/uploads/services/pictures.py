"""One finished picture on its way in (uploads.py): decoded, compared with what its set knows, kept."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.images import files as image_files
from annotation.imports.readers.oddities import FileRefused
from annotation.models import IdentityGroup, Image
from generation.models import Provenance
from generation.uploads import decoding
from generation.uploads.bundles import Bundle
from generation.uploads.tables import Finished, Row


class UploadRefused(ValueError):
    """Images that cannot be brought into this set. The message names the row and the cure."""


@dataclass(frozen=True)
class Looked:
    """A row whose picture was decoded once; `brought` is the SHA-256 of the file before it was cleaned. The
    bytes are read again to be stored: a set may be larger than the memory."""

    row: Row
    group: IdentityGroup
    sha256: str
    suffix: str
    width: int
    height: int
    changed: bool
    brought: str

    @property
    def note(self) -> str:
        if not self.changed:
            return self.row.note
        stored = f"Stored as PNG, its pixels alone. SHA-256 of the file that was brought: {self.brought}"
        return f"{self.row.note}\n{stored}".strip()


def look(bundle: Bundle, finished: Finished, row: Row, group: IdentityGroup) -> Looked:
    """Decode the picture of a row. Raises FileRefused."""
    data = bundle.read(row.at, most=decoding.LARGEST_BYTES)
    clean = _clean(finished, row, data)
    return Looked(
        row=row,
        group=group,
        sha256=image_files.digest(clean.data),
        suffix=clean.suffix,
        width=clean.width,
        height=clean.height,
        changed=clean.changed,
        brought=image_files.digest(data),
    )


def _clean(finished: Finished, row: Row, data: bytes) -> decoding.CleanImage:
    try:
        return decoding.clean_image(data)
    except decoding.PictureRefused as refused:
        raise FileRefused(
            finished.table, f"'{row.file}':", str(refused), row=row.number, column="file"
        ) from None


def keep(bundle: Bundle, finished: Finished, looked: Looked) -> str:
    """Stores the picture under its hash; returns the name of its file."""
    data = bundle.read(looked.row.at, most=decoding.LARGEST_BYTES)
    if image_files.digest(data) != looked.brought:
        raise UploadRefused(
            f"'{looked.row.file}' changed while it was read. Start again; nothing was changed."
        )
    if looked.changed:
        data = _clean(finished, looked.row, data).data
    try:
        name, _ = image_files.keep(data, suffix=looked.suffix)
    except OSError as error:
        raise UploadRefused(
            f"'{looked.row.file}' cannot be stored ({error.strerror or error}). No image was added: make "
            "room, then bring all of it again."
        ) from error
    return name


def check_known(finished: Finished, each: Looked, image: Image | None) -> None:
    """That a picture which the set knows already is this very one, told of in the same way."""
    if image is None:
        return
    if not image.file:
        # Boxes may have been drawn in pixels of it.
        if (each.width, each.height) != (image.width, image.height):
            raise FileRefused(
                finished.table,
                f"'{each.row.file}' has {each.width} × {each.height} pixels, and the set knows it as "
                f"{image.width} × {image.height}.",
                "Bring the picture that was judged.",
                row=each.row.number,
                column="file",
            )
        return
    row, origin = each.row, getattr(image, "provenance", None) or Provenance()
    want = (
        each.sha256,
        row.prompt,
        row.prompt_set,
        row.attribute,
        row.seed,
        row.model,
        row.revision,
        each.note,
    )
    have = (
        image.sha256,
        image.prompt if row.prompt else "",
        origin.prompt_set,
        origin.attribute.text if origin.attribute else "",
        origin.seed,
        origin.model,
        origin.revision,
        origin.note,
    )
    if want != have:
        raise FileRefused(
            finished.table,
            f"the set holds '{row.file}' of {row.group} already, as another picture or told otherwise.",
            "What was judged does not change: choose another name for the file or for the set.",
            row=row.number,
        )


__all__ = ["Looked", "UploadRefused", "check_known", "keep", "look"]
