"""A compiled model is tried when it is loaded: whatever is missing is told once, with the cure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import pytest

from generation import backends
from generation.backends import compiling
from generation.backends.base import About, BackendError, ImageRequest, OutOfMemory
from generation.backends.torch_support import import_library
from generation.recipes.recipes import ImageRecipe

pytestmark = pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub)")
CURE = "Install a C\\+\\+ compiler .* choose a recipe without 'compiled'"


@dataclass
class Trial:
    """A model that holds so many images at once, and fails with `error`."""

    holds: int = 8
    error: Exception | None = None
    batch: int = 8
    tried: list[int] = field(default_factory=list)
    about = About("m", "1", "cpu", {})

    def generate(self, requests):
        self.tried.append(self.batch)
        if self.error:
            raise self.error
        if self.batch > self.holds:
            self.batch = max(1, self.batch // 2)
            raise OutOfMemory("full")


class Part:
    def compile(self, *, dynamic):
        assert dynamic is False


@pytest.fixture(autouse=True)
def _torch(tiny_models):
    pass


def test_one_batch_is_made_and_memory_that_runs_out_halves_it():
    trial = Trial()
    assert compiling.compile_and_try(Part(), trial) == 8
    assert trial.tried == [8]
    trial = Trial(holds=2)
    assert compiling.compile_and_try(Part(), trial) == 2
    assert trial.tried == [8, 4, 2]
    with pytest.raises(OutOfMemory):
        compiling.compile_and_try(Part(), Trial(holds=0))


def test_what_the_compiler_says_comes_with_the_cure():
    with pytest.raises(BackendError, match=rf"\(RuntimeError: no gcc\)\. {CURE}"):
        compiling.compile_and_try(Part(), Trial(error=RuntimeError("no\n  gcc")))
    with pytest.raises(BackendError, match=r"^overflowed$"):
        compiling.compile_and_try(Part(), Trial(error=BackendError("overflowed")))
    with pytest.raises(BackendError, match="'m' has no part that could be compiled"):
        compiling.compile_and_try(None, Trial())


def recipe(folder):
    return ImageRecipe(model=str(folder), width=64, height=64, steps=3, safety="off", compiled=True)


@pytest.mark.processes
def test_without_a_compiler_the_model_is_not_loaded(tiny_models, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    config = import_library("torch._inductor.config")
    with (
        config.patch({"cpp.cxx": (str(tmp_path / "g++"),), "fx_graph_cache": False}),
        pytest.raises(BackendError, match=CURE),
    ):
        backends.load(recipe(tiny_models.stable_diffusion_3), device="cpu")


def test_it_is_compiled_when_it_is_loaded_and_not_again(tiny_models, monkeypatch):
    """By the compiler's front end alone, which decides when there is something to compile."""
    torch, counters = import_library("torch"), import_library("torch._dynamo.utils").counters
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    model = backends.load(recipe(tiny_models.stable_diffusion_3), device="cpu")
    compiled = counters["stats"]["unique_graphs"]
    assert compiled > 0
    wanted = [ImageRequest("a photo of an Indian person", seed) for seed in range(2)]
    made = model.generate(wanted)
    assert counters["stats"]["unique_graphs"] == compiled
    plain = backends.load(replace(recipe(tiny_models.stable_diffusion_3), compiled=False), device="cpu")
    assert [one.pixels.tobytes() for one in made] == [one.pixels.tobytes() for one in plain.generate(wanted)]
