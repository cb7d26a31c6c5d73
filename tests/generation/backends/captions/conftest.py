"""Tiny captioners, made once a session, in the folder of the other tiny models."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from generation import backends
from generation.backends import ngrams_build
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from tests.generation.backends import tiny_captions
from tests.generation.backends.conftest import tiny_models  # noqa: F401 - a fixture

TEXT = "An old man in a hat. A woman in a sari; the street\nA young man in the street, with a beard\n" * 2


@pytest.fixture(scope="session")
def folders(tiny_models) -> dict[str, Path]:  # noqa: F811
    root = tiny_models.root
    made = {name: getattr(tiny_captions, name)(root / name) for name in ("bart", "blip", "coca")}
    return {**made, "clip": tiny_models.open_clip}


@pytest.fixture(scope="session")
def ngrams(folders) -> Path:
    clip = f"local-dir:{folders['clip']}"
    text = folders["clip"].parent / "text.txt"
    text.write_text(TEXT)
    encoder = backends.load(EmbeddingRecipe(model=clip, pretrained=""), device="cpu")
    ngrams_build.build([text], text.parent / "ngrams", encoder=encoder, model=clip, pretrained="")
    return text.parent / "ngrams"


@pytest.fixture(scope="session")
def recipe(folders, ngrams):
    """The recipe of a tiny captioner."""

    def of(backend, *, count=4, **options):
        own = {
            "blip": ("", {}),
            # each of its tokens is one of 49,408, which takes its time, and so does sorting them
            "coca": ("local-dir:", {"method": "top_k", "max_tokens": 4}),
            "bart": ("", {}),
            "fake": ("", {}),
            "visage": (
                "",
                {
                    "ngrams": str(ngrams),
                    "clip": f"local-dir:{folders['clip']}",
                    "pretrained": "",
                    "top_ngrams": 3,
                },
            ),
        }
        prefix, given = own[backend]
        folder = folders.get("bart" if backend == "visage" else backend, "")
        dtype = options.pop("dtype", "float32")
        return CaptionRecipe(
            backend=backend,
            model=f"{prefix}{folder}",
            count=count,
            dtype=dtype,
            options={} if backend == "fake" else {"max_tokens": 8, **given, **options},
        )

    return of


@pytest.fixture(scope="session")
def load(recipe):
    """A tiny captioner on the CPU."""
    return lambda backend, **options: backends.load(recipe(backend, **options), device="cpu")


@pytest.fixture(scope="session")
def images():
    random = np.random.default_rng(5)
    return [Image.fromarray(random.integers(0, 256, (48, 40, 3), np.uint8)) for _ in range(3)]
