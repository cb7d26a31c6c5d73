"""The web server and the demo load no model library, and a missing one is an error that says what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from generation import backends
from generation.recipes.recipes import ImageRecipe

ROOT = Path(__file__).resolve().parents[3]
HEAVY = ("torch", "torchvision", "diffusers", "transformers", "open_clip", "accelerate", "peft", "openai")


def in_a_process(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.processes
def test_listing_and_the_fakes_import_no_model_library():
    in_a_process(f"""
import sys
from generation import backends
from generation.backends.base import ImageRequest, Question, TextPair
from generation.recipes.askings import ClassificationRecipe, CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe
for kind in ("images", "captions", "embeddings", "completions", "descriptions", "classifications"):
    told = backends.names(kind)
    assert "fake" in told and all(told.values()), told
assert "diffusers" in backends.names("images") and "open_clip" in backends.names("embeddings")
[picture] = backends.load(ImageRecipe(backend="fake")).generate([ImageRequest("a person", 1)])
backends.load(CaptionRecipe(backend="fake")).caption([picture.pixels], count=2, seed=0)
encoder = backends.load(EmbeddingRecipe(backend="fake"))
encoder.encode_images([encoder.prepare(picture.pixels)])
backends.load(CompletionRecipe(backend="fake")).answer([Question("Hello?", 1)])
backends.load(DescriptionRecipe(backend="fake")).answer([Question("Who?", 1, picture.pixels)])
backends.load(ClassificationRecipe(backend="fake")).classify([TextPair("a", "b")])
backends.check(CompletionRecipe(model="m"))
heavy = set({HEAVY!r}) & set(sys.modules)
assert not heavy, heavy
""")


@pytest.mark.processes
@pytest.mark.parametrize("recipe", ["ImageRecipe()", "EmbeddingRecipe()"])
@pytest.mark.parametrize("missing", ["torch", "torchvision"])
def test_a_missing_library_is_an_error_with_the_cure(recipe, missing):
    told = in_a_process(f"""
import sys
sys.modules[{missing!r}] = None  # as if it were not installed
from generation import backends
from generation.recipes.recipes import EmbeddingRecipe, ImageRecipe
try:
    backends.load({recipe})
except backends.BackendError as error:
    print(error)
""")
    assert missing in told
    assert "pip install '.[models]'" in told


def test_an_unknown_backend_is_refused_with_those_there_are():
    with pytest.raises(backends.BackendError, match=r"no backend 'dalle' for images. .*diffusers.*fake"):
        backends.load(ImageRecipe(backend="dalle"))
