"""The nearest n-grams: the best of all, in order, whatever the device does, without a copy of the cache."""

from types import SimpleNamespace

import numpy as np
import pytest

from generation.backends import ngram_lookup
from generation.backends.base import BackendError
from generation.backends.ngram_lookup import Lookup
from generation.backends.ngrams import Ngrams
from tests.generation.backends.conftest import tiny_models  # noqa: F401 - a fixture

ROWS, DIM = 500, 8


@pytest.fixture
def torch(tiny_models, monkeypatch):  # noqa: F811
    import torch

    monkeypatch.setattr(ngram_lookup, "_ROWS_AT_ONCE", 64)  # several pieces
    return torch


@pytest.fixture
def vectors():
    random = np.random.default_rng(1).normal(size=(ROWS, DIM))
    return (random / np.linalg.norm(random, axis=1, keepdims=True)).astype("f4")


@pytest.fixture
def lookup(torch, tmp_path):
    def of(vectors):
        np.save(tmp_path / "cache.npy", vectors)
        (tmp_path / "cache.txt").write_text("".join(f"w{row:04}\n" for row in range(len(vectors))))
        return Lookup(Ngrams(tmp_path), torch.device("cpu"))

    return of


@pytest.mark.parametrize("top", [1, 10, 499, 500, 600])
def test_the_best_of_all_in_order(lookup, vectors, top):
    images = vectors[[3, 77, 401]] * np.float32(0.999)
    best = np.argsort(-(images.astype("f8") @ vectors.T.astype("f8")), axis=1)[:, :top]
    assert lookup(vectors).nearest(images, top=top) == [[f"w{row:04}" for row in one] for one in best]


def test_the_same_alone_and_in_company(lookup, vectors):
    cache = lookup(vectors.astype("f2"))
    together = cache.nearest(vectors, top=10)
    assert all(
        cache.nearest(one[None], top=10) == [kept] for one, kept in zip(vectors, together, strict=True)
    )


def test_the_last_digits_of_a_fast_product_choose_nothing(torch, lookup, vectors, monkeypatch):
    """A GPU's sums differ with the number of images: here they are wrong by chance, every time."""
    cache = lookup(vectors)
    right = cache.nearest(vectors[:50], top=10)
    exact, noise = ngram_lookup._products, np.random.default_rng(2)

    def products(queries, chunk):
        found = exact(queries, chunk)
        return found + torch.from_numpy(noise.normal(scale=3e-3, size=tuple(found.shape))).float()

    monkeypatch.setattr(ngram_lookup, "_products", products)
    assert cache.nearest(vectors[:50], top=10) == right


def test_equal_scores_by_row(lookup, vectors):
    same = np.tile(vectors[:1], (4, 1))
    assert lookup(same).nearest(vectors[:1], top=3) == [["w0000", "w0001", "w0002"]]


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_vector_that_is_no_number(lookup, vectors, wrong):
    vectors[333] = wrong
    with pytest.raises(BackendError, match=r"a vector is not finite\)\. Copy or download both files again"):
        lookup(vectors).nearest(np.ones((1, DIM), "f4"), top=3)


def test_no_operation_makes_a_copy_of_the_cache(torch, lookup, vectors):
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = []

    class Watched(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            made = function(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor) and not function.is_view:
                largest.append(made.numel())
            return made

    cache = lookup(vectors.astype("f2"))
    with Watched():
        for image in vectors[:3]:
            cache.nearest(image[None], top=10)
    assert len(largest) > 20
    assert max(largest) <= 64 * DIM


@pytest.mark.parametrize(("free", "fits"), [(2 * ROWS * DIM * 4, True), (2 * ROWS * DIM * 4 - 1, False)])
def test_a_gpu_keeps_it_if_half_of_its_free_memory_is_enough(torch, vectors, monkeypatch, free, fits):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 10 * free))
    assert ngram_lookup._fits(torch.from_numpy(vectors), SimpleNamespace(type="cuda")) == fits


def test_what_does_not_fit_is_sent_in_pieces(torch, lookup, vectors, monkeypatch):
    kept = lookup(vectors).nearest(vectors[:3], top=10)
    monkeypatch.setattr(ngram_lookup, "_fits", lambda vectors, device: False)
    assert lookup(vectors).nearest(vectors[:3], top=10) == kept
