"""The embeddings of an image set by one encoder, as arrays (PROTOCOL §9, §12)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import ImageSet
from generation.core import vectors
from generation.models import IMPORTED, Embedding, Run, RunKind, TextEmbedding


@dataclass(frozen=True)
class ImageVectors:
    """Unit vectors of images, in the order of their ids: `images` and `groups` are ids, shape (n,);
    `vectors` has the shape (n, dim)."""

    images: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.float32]


def encoder_id(run: Run) -> str:
    """The encoder of an embedding run, as test files name it: the model, with its weights where the recipe
    names them, such as "ViT-B-32 openai"."""
    recipe = run.recipe
    if run.backend == IMPORTED:
        return str(recipe["model"])
    if run.backend == "fake":
        return "fake"
    return " ".join(filter(None, (recipe.get("model", ""), recipe.get("pretrained", ""))))


def runs_of_set(image_set: ImageSet) -> QuerySet[Run]:
    """The runs that embed images of a set: first those that have embedded one, of these the newest first."""
    embedded = Exists(Embedding.objects.filter(run=OuterRef("pk")))
    runs = Run.objects.filter(kind=RunKind.EMBEDDINGS, image_set=image_set)
    return runs.annotate(embedded=embedded).order_by("-embedded", "-pk")


def image_vectors(run: Run) -> ImageVectors:
    """All images that the run has embedded. One query."""
    rows = Embedding.objects.filter(run=run).order_by("image")
    found = list(rows.values_list("image", "image__group", "dim", "vector"))
    dim = found[0][2] if found else 1
    return ImageVectors(
        images=np.array([row[0] for row in found], dtype=np.int64),
        groups=np.array([row[1] for row in found], dtype=np.int64),
        vectors=vectors.unpack([row[3] for row in found], dim=dim),
    )


def text_vectors(run: Run, texts: Sequence[str]) -> dict[str, npt.NDArray[np.float32]]:
    """Text -> its unit vector, shape (dim,), for those of `texts` that the run has embedded. One query."""
    rows = TextEmbedding.objects.filter(run=run, text__in=set(texts))
    return {
        text: vectors.unpack([vector], dim=dim)[0]
        for text, dim, vector in rows.values_list("text", "dim", "vector")
    }
