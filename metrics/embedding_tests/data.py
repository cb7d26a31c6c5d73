"""Cosines of a run's images with texts, and the groups of a set, from the database (PROTOCOL §12)."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from django.db.models import Count, Max

from annotation.exports.table import image_name
from annotation.models import IdentityGroup, Image, ImageSet
from generation.core import vectors
from generation.embeddings.queries import encoder_id, text_vectors
from generation.models import Embedding, Run, TextEmbedding
from metrics.core.suggestions import did_you_mean

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_AT_A_TIME = 2000
_DIGITS = 12
"""The last bits of a product of matrices depend on the machine, and on what else is multiplied; equal images
have equal cosines only without them."""
_SHOWN = 5
"""Names, at most, that a message lists."""


class TestsRefused(Exception):
    """Why a file cannot be tested with the vectors that there are. The message names what, and the cure."""

    __test__ = False  # for pytest


@dataclass(frozen=True)
class Cosines:
    """Of images, in the order of their ids, with texts. `groups`: ids, shape (images,); `values`: (images,
    texts), in the order of the texts that were asked for."""

    groups: Ints
    values: Floats
    texts: Sequence[str]

    def of(self, texts: Sequence[str]) -> Floats:
        """The columns of `texts`."""
        return self.values[:, [self.texts.index(text) for text in texts]]


class SetGroups:
    """The identity groups of a set's images, by name. One query."""

    def __init__(self, image_set: ImageSet) -> None:
        self._image_set = image_set
        groups = Image.objects.filter(image_set=image_set).order_by().values("group").distinct()
        self._groups = list(IdentityGroup.objects.filter(pk__in=groups).order_by("name", "axis"))

    def find(self, name: str, *, column: bool = False) -> int:
        """The id of the group `name`, or `axis:name` where two axes have one of that name. `column`: it heads
        one of a reference table. Raises TestsRefused."""
        found = [group for group in self._groups if group.name == name]
        found = found or [group for group in self._groups if f"{group.axis}:{group.name}" == name]
        if len(found) == 1:
            return found[0].pk
        if found:
            names = " or ".join(f"'{group.axis}:{group.name}'" for group in found)
            raise TestsRefused(
                f"The set '{self._image_set.name}' has several groups '{name}'. Write {names}."
            )
        known = [group.name for group in self._groups]
        cure = (
            " Name the group as the set does, or rename the column in the reference table." if column else ""
        )
        raise TestsRefused(
            f"The set '{self._image_set.name}' has no images of a group '{name}'.{did_you_mean(name, known)} "
            f"Its groups are: {', '.join(known) or 'none, since it is empty'}.{cure}"
        )


def version_of(run: Run) -> str:
    """What changes when the vectors of the run do. Two queries."""
    images = Embedding.objects.filter(run=run).aggregate(number=Count("pk"), last=Max("pk"))
    texts = TextEmbedding.objects.filter(run=run).aggregate(number=Count("pk"), last=Max("pk"))
    finished = run.finished_at.timestamp() if run.finished_at else 0
    parts = (run.pk, finished, images["number"], images["last"], texts["number"], texts["last"])
    return ":".join(str(part) for part in parts)


def missing(run: Run, texts: Collection[str]) -> list[str]:
    """Those of `texts`, in their order and each once, that the run has not embedded. One query."""
    known = TextEmbedding.objects.filter(run=run, text__in=set(texts)).values_list("text", flat=True)
    there = set(known)
    return [text for text in dict.fromkeys(texts) if text not in there]


def read_cosines(run: Run, groups: Collection[int], texts: Collection[str]) -> Cosines:
    """The cosines of all embedded images of `groups` with `texts`. Two queries; a part of the images is read
    at a time. Raises TestsRefused."""
    order = list(dict.fromkeys(texts))
    of_texts = _text_matrix(run, order)
    dim = of_texts.shape[1]
    rows = Embedding.objects.filter(run=run, image__group__in=set(groups)).order_by("image")
    of_groups: list[int] = []
    parts: list[Floats] = []
    part: list[tuple[int, bytes | memoryview]] = []
    for group, image, size, vector in rows.values_list("image__group", "image", "dim", "vector").iterator(
        chunk_size=_AT_A_TIME
    ):
        if size != dim:
            raise TestsRefused(
                f"{_image(image)} has an embedding of {size} numbers, and the texts of {dim}, in "
                f"{_name(run)}. Embed images and texts with the same model."
            )
        of_groups.append(group)
        part.append((image, vector))
        if len(part) == _AT_A_TIME:
            parts.append(_cosines(part, of_texts, run))
            part = []
    if part:
        parts.append(_cosines(part, of_texts, run))
    values = np.concatenate(parts) if parts else np.empty((0, len(order)))
    return Cosines(groups=np.array(of_groups, dtype=np.int64), values=values, texts=order)


def _cosines(stored: Sequence[tuple[int, bytes | memoryview]], of_texts: Floats, run: Run) -> Floats:
    """`stored`: the ids and vectors of images."""
    of_images = vectors.unpack([vector for _, vector in stored], dim=of_texts.shape[1])
    rows = _unit(of_images, run, lambda row: _image(stored[row][0]))
    return np.asarray(np.round(rows @ of_texts.T, _DIGITS))


def _text_matrix(run: Run, texts: Sequence[str]) -> Floats:
    """Unit vectors of `texts`, shape (texts, dim)."""
    found = text_vectors(run, texts)
    if lacking := [text for text in texts if text not in found]:
        raise TestsRefused(_missing_message(run, lacking, len(texts)))
    sizes = {len(vector) for vector in found.values()}
    if len(sizes) > 1:
        raise TestsRefused(
            f"The texts' embeddings in {_name(run)} have {' and '.join(map(str, sorted(sizes)))} numbers. "
            "Embed all texts with the same model."
        )
    return _unit(np.stack([found[text] for text in texts]), run, lambda row: f"The text '{texts[row]}'")


def _unit(rows: npt.NDArray[np.float32], run: Run, name: Callable[[int], str]) -> Floats:
    """Rows of length 1 in float64; they are stored in float32. `name`: of what a row is the vector."""
    exact = rows.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(wrong):
        raise TestsRefused(
            f"{name(int(wrong[0]))} has an embedding in {_name(run)} that is zero or not finite. Embed the "
            "images and texts again."
        )
    return np.asarray(exact / lengths)


def _missing_message(run: Run, lacking: Sequence[str], number: int) -> str:
    named = ", ".join(f"'{text}'" for text in lacking[:_SHOWN])
    more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
    image_set = run.image_set.name if run.image_set else ""
    return (
        f"{len(lacking)} of {number} texts have no embedding in {_name(run)}: {named}{more}. Write the "
        "missing ones to a file, one a line (--missing-texts), and run: manage.py embed "
        f"{image_set} --texts FILE. If the images' embeddings were imported, import those of the texts with "
        "import_embeddings."
    )


def _image(pk: int) -> str:
    """An image by its group and number there, and by its name in exports."""
    image = Image.objects.select_related("group").get(pk=pk)
    return f"Image {image.index} of '{image.group.name}' ({image_name(image.reference, image.file.name)})"


def _name(run: Run) -> str:
    return f"run {run.pk} ({encoder_id(run)})"
