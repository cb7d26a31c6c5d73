"""How torch is set up for a recipe on a device, as far as a machine without a GPU can tell."""

from types import SimpleNamespace

import pytest

from generation.backends import torch_support
from generation.backends.base import About, BackendError, OutOfMemory
from generation.backends.torch_support import FullBatches, import_library, settle
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe

CPU, CARD = SimpleNamespace(type="cpu"), SimpleNamespace(type="cuda")


@pytest.fixture
def torch(tiny_models):
    """torch, which is set up as for a CPU again at the end."""
    yield import_library("torch")
    settle(ImageRecipe(), CPU)


def settings(torch) -> dict[str, object]:
    return {
        "search": torch.backends.cudnn.benchmark,
        "deterministic": torch.backends.cudnn.deterministic,
        "products": torch.get_float32_matmul_precision(),
    }


FAST = {"search": True, "deterministic": False, "products": "high"}
REPEATABLE = {"search": False, "deterministic": True, "products": "highest"}


@pytest.mark.parametrize("text", ["CUDA error: out of memory", "DefaultCPUAllocator: can't allocate memory"])
def test_errors_that_only_say_that_memory_is_full_are_known_by_their_words(tiny_models, text):
    with pytest.raises(OutOfMemory, match=text), torch_support.memory_errors_translated():
        raise RuntimeError(text)
    with pytest.raises(RuntimeError, match="illegal memory access"), torch_support.memory_errors_translated():
        raise RuntimeError("CUDA error: an illegal memory access")


@pytest.mark.parametrize("kind", [ImageRecipe, CaptionRecipe, EmbeddingRecipe])
def test_a_card_is_fast_unless_the_recipe_asks_for_the_same_bytes(torch, monkeypatch, kind):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    settle(kind(), CARD)
    assert settings(torch) == FAST
    settle(kind(repeatable=True), CARD)
    assert settings(torch) == REPEATABLE
    settle(kind(), CARD)
    assert settings(torch) == FAST


def test_elsewhere_results_repeat_whatever_the_recipe_says(torch):
    assert settle(ImageRecipe(), CPU).repeatable
    assert settings(torch) == REPEATABLE
    assert settle(ImageRecipe(), SimpleNamespace(type="mps")).dtype == "float32"


@pytest.mark.parametrize(
    ("device", "capability", "meant"),
    [
        (CARD, (8, 0), "bfloat16"),
        (CARD, (12, 0), "bfloat16"),
        (CARD, (7, 5), "float16"),
        (CPU, None, "float32"),
    ],
)
def test_auto_is_the_half_precision_that_a_card_computes_with(torch, monkeypatch, device, capability, meant):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    settled = settle(ImageRecipe(), device)
    assert (settled.dtype, settled.repeatable) == (meant, device is CPU)
    for named in ("float32", "float16", "bfloat16"):
        assert settle(ImageRecipe(dtype=named), device).dtype == named


def test_a_cache_that_cannot_be_written_is_named(monkeypatch):
    """torch makes its folder at import, also for recipes that compile nothing."""

    def refused(name):
        raise PermissionError(13, "Permission denied", "/var/compiled")

    monkeypatch.setattr(torch_support, "import_module", refused)
    with pytest.raises(BackendError, match=r"Let the worker write to /var/compiled \(TORCHINDUCTOR"):
        import_library("torch")


@pytest.mark.parametrize(
    ("items", "full", "fitting"), [(0, 8, 8), (3, 8, 3), (8, 8, 8), (9, 8, 5), (17, 8, 6), (32, 8, 8)]
)
def test_batches_are_full_where_bytes_must_repeat_and_even_elsewhere(items, full, fitting):
    about = About("m", "1", "cpu", {})
    assert FullBatches(about, 8, full=True).batch_for(items) == full
    assert FullBatches(about, 8, full=False).batch_for(items) == fitting
    assert FullBatches(about, 8, full=False).batch_for(items, most=16) <= 16
