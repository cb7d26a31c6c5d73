"""Import one image: decode it, compare it with its set, store it. Used by uploads.py."""

from dataclasses import dataclass, replace

from annotation.images import files as image_files
from annotation.imports.readers.oddities import FileRefused
from annotation.models import IdentityGroup, Image
from generation.models import Provenance
from generation.uploads import decoding
from generation.uploads.bundles import Bundle
from generation.uploads.tables import ImageTable, Row


class UploadRefused(ValueError):
    """Images that cannot be imported into this set. The message names the row and the cure. `field`: of the
    form that is wrong; empty if it is none."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class CheckedImage:
    """A row whose image was decoded; `original_sha256` is that of the uploaded file.

    `image` without its data: it is read again when it is stored, because a set may be larger than memory.
    """

    row: Row
    group: IdentityGroup
    image: decoding.CleanImage
    sha256: str
    original_sha256: str

    @property
    def note(self) -> str:
        if not self.image.reencoded:
            return self.row.note
        stored = (
            f"Stored as PNG, its pixels alone. SHA-256 of the file that was brought: {self.original_sha256}"
        )
        return f"{self.row.note}\n{stored}".strip()


def check_image(bundle: Bundle, table: ImageTable, row: Row, group: IdentityGroup) -> CheckedImage:
    """Decode the image of a row. Raises FileRefused."""
    data = bundle.read(row.path, limit=decoding.MAX_BYTES)
    clean = _clean(table, row, data)
    sha256 = image_files.digest(clean.data)
    return CheckedImage(row, group, replace(clean, data=b""), sha256, image_files.digest(data))


def _clean(table: ImageTable, row: Row, data: bytes) -> decoding.CleanImage:
    try:
        return decoding.clean_image(data)
    except decoding.PictureRefused as refused:
        raise FileRefused(table.name, f"'{row.file}':", str(refused), row=row.number, column="file") from None


def store_image(bundle: Bundle, table: ImageTable, checked: CheckedImage) -> str:
    """Store the image under its hash; returns the file name."""
    data = bundle.read(checked.row.path, limit=decoding.MAX_BYTES)
    if image_files.digest(data) != checked.original_sha256:
        raise UploadRefused(
            f"'{checked.row.file}' changed while it was read. Start again; nothing was changed."
        )
    if checked.image.reencoded:
        data = _clean(table, checked.row, data).data
    try:
        name, _ = image_files.store(data, suffix=checked.image.suffix)
    except OSError as error:
        raise UploadRefused(
            f"'{checked.row.file}' cannot be stored ({error.strerror or error}). No image was added: free "
            "disk space, then import everything again."
        ) from error
    return name


def check_existing(table: ImageTable, checked: CheckedImage, image: Image | None) -> None:
    """Raise FileRefused if the set already has `image` under this name, with other pixels or other facts."""
    if image is None:
        return
    if not image.file:
        # Boxes may have been drawn in its pixels.
        size = f"{checked.image.width} × {checked.image.height}"
        if image.width and size != f"{image.width} × {image.height}":
            raise FileRefused(
                table.name,
                f"'{checked.row.file}' has {size} pixels, but the set has it as "
                f"{image.width} × {image.height}.",
                "Import the image that was judged.",
                row=checked.row.number,
                column="file",
            )
        return
    row, provenance = checked.row, getattr(image, "provenance", None) or Provenance()
    want = (
        checked.sha256,
        row.prompt,
        row.prompt_set,
        row.attribute,
        row.seed,
        row.model,
        row.revision,
        checked.note,
    )
    have = (
        image.sha256,
        image.prompt if row.prompt else "",
        provenance.prompt_set,
        provenance.attribute.text if provenance.attribute else "",
        provenance.seed,
        provenance.model,
        provenance.revision,
        provenance.note,
    )
    if want != have:
        raise FileRefused(
            table.name,
            f"the set already has '{row.file}' of {row.group}, as another image or with other values.",
            "Judged images cannot change: choose another name for the file or for the set.",
            row=row.number,
        )
