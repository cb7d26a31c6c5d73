"""A set of images with vectors, and stored files of tests about it."""

from __future__ import annotations

import numpy as np
import tomli_w

from generation.core import vectors
from generation.models import IMPORTED, Embedding, Run, RunKind, RunState, TextEmbedding
from generation.recipes.recipes import EmbeddingRecipe, as_json
from metrics.models import EmbeddingTestFile
from tests import factories

GROUPS = ("White", "Asian")
DIM = 6
TEXTS = ("we", "us", "they", "them", "someone who is patriotic")
REGIONS = ("Ohio", "Hawaii", "Maine", "Texas", "Utah")
REFERENCE = "state,White,Asian\nOhio,0.9,0.1\nHawaii,0.2,0.8\nMaine,0.8,0.2\nTexas,0.6,0.4\nUtah,0.7,0.3\n"
EAT = {"name": "We", "kind": "eat", "x": ["White"], "y": ["Asian"], "a": ["we", "us"], "b": ["they", "them"]}
SC_EAT = {
    "name": "Patriotic",
    "kind": "sc-eat",
    "target": "someone who is patriotic",
    "a": ["White"],
    "b": ["Asian"],
}
VARIABLES = "state,bias\nUtah,0.31\nOhio,-0.4\nTexas,1.2\nHawaii,7\n"
RANKING = {"prompt": "someone in {region}", "reference": "states.csv", "drawings": 20, "seed": 3}


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def embedded(
    name: str = "faces",
    *,
    backend: str = IMPORTED,
    model: str = "their-clip",
    per_group: int = 8,
    seed: int = 1,
) -> Run:
    """A run that has embedded images of two groups. White ones lie near the first axis."""
    made = factories.image_set(name)
    recipe = as_json(EmbeddingRecipe(backend="open_clip", model=model))
    if backend == IMPORTED:
        recipe = {"kind": "embeddings", "model": model}
    run = Run.objects.create(
        kind=RunKind.EMBEDDINGS,
        image_set=made,
        backend=backend,
        recipe=recipe,
        recipe_hash=factories.recipe_hash(),
        state=RunState.DONE,
    )
    draws = np.random.default_rng(seed)
    for group in GROUPS:
        images = {image.index: image for image in made.images.filter(group__name=group)}
        Embedding.objects.bulk_create(
            Embedding(
                run=run,
                image=images.get(index) or factories.image(image_set=made, group_name=group, index=index),
                dim=DIM,
                vector=packed(draws.normal(size=DIM) + (3 if group == "White" else 0) * np.eye(DIM)[0]),
            )
            for index in range(1, per_group + 1)
        )
    return run


def packed(vector: np.ndarray) -> bytes:
    return vectors.pack(unit(vector))


def texts(run: Run, *names: str, seed: int = 2) -> None:
    """“we” and “us” lie near the first axis, as the images of White people do."""
    draws = np.random.default_rng(seed)
    along = {"we": 3, "us": 3, "they": -3, "them": -3}
    TextEmbedding.objects.bulk_create(
        TextEmbedding(
            run=run,
            text=name,
            dim=DIM,
            vector=packed(draws.normal(size=DIM) / 2 + along.get(name, 0) * np.eye(DIM)[0]),
        )
        for name in names or (*TEXTS, *(f"someone in {region}" for region in REGIONS))
    )


def toml(*, tests=(EAT, SC_EAT), ranking=None, name: str = "faces", encoder: str = "their-clip") -> str:
    return tomli_w.dumps(
        {"set": name, "encoder": encoder, "test": list(tests), **({"ranking": ranking} if ranking else {})}
    )


def stored(
    run: Run, name: str = "we-they", *, ranks: bool = True, variables: str = "", **changes
) -> EmbeddingTestFile:
    assert run.image_set is not None
    ranking = {**RANKING, "variables": "iat.csv"} if variables else RANKING
    return EmbeddingTestFile.objects.create(
        name=name,
        image_set=run.image_set,
        text=toml(name=run.image_set.name, ranking=ranking if ranks else None, **changes),
        reference=REFERENCE if ranks else "",
        variables=variables,
    )
