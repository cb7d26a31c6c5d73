"""Sets of images whose embeddings, and those of texts, are planted: rows as runs leave them behind."""

from __future__ import annotations

import numpy as np
from django.utils import timezone

from annotation.models import IdentityGroup, Image
from generation.core import vectors
from generation.models import Embedding, Run, RunKind, RunState, TextEmbedding
from generation.recipes.recipes import EmbeddingRecipe, as_json
from tests import factories

DIM = 8
SET = "faces"
ENCODER = "ViT-B-32 openai"
FILE = """
set = "faces"
encoder = "ViT-B-32 openai"

[[test]]
name = "White and Asian, We and They"
kind = "eat"
x = ["White"]
y = ["Asian"]
a = ["we", "us"]
b = ["they"]

[[test]]
name = "patriotic"
kind = "sc-eat"
target = "patriotic"
a = "White"
b = ["Asian", "Black"]
"""
RANKING = """
set = "faces"
encoder = "ViT-B-32"

[ranking]
prompt = "lives in {region}"
reference = "shares.csv"
drawings = 50

[ranking.prompts]
"Ohio" = "lives in the Buckeye State"
"""


def unit(vector) -> np.ndarray:
    array = np.asarray(vector, dtype=np.float32)
    return array / np.linalg.norm(array)


def run(image_set: str = SET, *, backend: str = "open_clip", **recipe) -> Run:
    return Run.objects.create(
        kind=RunKind.EMBEDDINGS,
        state=RunState.DONE,
        image_set=factories.image_set(image_set),
        backend=backend,
        recipe=as_json(EmbeddingRecipe(backend=backend, **recipe)),
        recipe_hash=factories.recipe_hash(),
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )


def images(of: Run, group: str, rows: np.ndarray, *, axis: str = "race_colour") -> np.ndarray:
    """Images of a group with these vectors, brought to length 1 and stored. The vectors as stored."""
    there, _ = IdentityGroup.objects.get_or_create(name=group, axis=axis, defaults={"demonym": group})
    stored = np.stack([unit(row) for row in rows])
    first = 1 + Image.objects.filter(image_set=of.image_set, group=there).count()
    made = Image.objects.bulk_create(
        Image(
            image_set=of.image_set,
            group=there,
            index=index,
            width=8,
            height=8,
            reference=f"{group}{index}.png",
        )
        for index in range(first, first + len(stored))
    )
    Embedding.objects.bulk_create(
        Embedding(run=of, image=image, dim=len(vector), vector=vectors.pack(vector))
        for image, vector in zip(made, stored, strict=True)
    )
    return stored


def texts(of: Run, rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    stored = {text: unit(row) for text, row in rows.items()}
    TextEmbedding.objects.bulk_create(
        TextEmbedding(run=of, text=text, dim=len(vector), vector=vectors.pack(vector))
        for text, vector in stored.items()
    )
    return stored


def plain_cosine(first: np.ndarray, second: np.ndarray) -> float:
    a, b = ([float(number) for number in each] for each in (first, second))
    dot = sum(p * q for p, q in zip(a, b, strict=True))
    return dot / (sum(p * p for p in a) ** 0.5 * sum(q * q for q in b) ** 0.5)


def noisy(axis, number, seed, spread=0.5):
    return np.eye(DIM)[axis] + spread * np.random.default_rng(seed).normal(size=(number, DIM))


def world() -> tuple[Run, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A run with three groups and five texts; the vectors of both, as stored."""
    made, axes = run(), np.eye(DIM)
    groups = {
        "White": images(made, "White", noisy(0, 12, 1)),
        "Asian": images(made, "Asian", noisy(1, 9, 2)),
        "Black": images(made, "Black", noisy(2, 10, 3)),
    }
    words = {
        "we": axes[0] + 0.1,
        "us": axes[0] - axes[3],
        "they": axes[1],
        "patriotic": axes[0] + axes[2],
        "other": axes[5],
    }
    return made, groups, texts(made, words)
