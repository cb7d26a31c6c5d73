"""What every captioner keeps: the fake one, and tiny models of the real classes loaded from folders."""

import os
import subprocess
import sys

import pytest

from generation import backends
from generation.backends.base import BackendError, OutOfMemory

REAL = ("visage", "coca", "blip")
ALL = ("fake", *REAL)


@pytest.fixture(scope="module")
def loaded(load):
    """Each is loaded once for the tests of this module that change nothing about it."""
    made = {}
    return lambda backend: made.setdefault(backend, load(backend))


@pytest.fixture(scope="module")
def written(loaded, images):
    """What each writes of the images, made once."""
    made = {}
    return lambda backend: (
        made.get(backend) or made.setdefault(backend, loaded(backend).caption(images, count=4, seed=1))
    )


@pytest.mark.parametrize("backend", ALL)
class TestContract:
    def test_different_captions_best_first(self, written, backend):
        for some in written(backend):
            assert len(some) == 4
            assert len({one.text.casefold() for one in some}) == 4
            scores = [one.score for one in some]
            assert scores == sorted(scores, reverse=True)

    def test_texts_that_a_database_takes(self, written, backend):
        for some in written(backend):
            for one in some:
                assert one.text.isprintable()
                assert one.text == " ".join(one.text.split()) != ""

    def test_the_same_alone_in_company_and_again(self, loaded, written, images, backend):
        captioner, together = loaded(backend), written(backend)
        assert captioner.caption(images[::-1], count=4, seed=1) == together[::-1]
        assert captioner.caption([images[1]], count=4, seed=1) == [together[1]]

    def test_another_seed_or_image_is_captioned_otherwise(self, loaded, written, images, backend):
        first, second, _ = written(backend)
        assert first != second
        assert loaded(backend).caption(images[:1], count=4, seed=2) != [first]

    def test_grey_transparent_and_tiny_images(self, loaded, images, backend):
        odd = [images[0].convert("L"), images[0].convert("RGBA"), images[0].resize((1, 1))]
        assert [len(one) for one in loaded(backend).caption(odd, count=1, seed=0)] == [1, 1, 1]

    def test_no_images(self, loaded, backend):
        assert loaded(backend).caption([], count=4, seed=1) == []

    def test_it_says_what_it_is(self, loaded, recipe, backend):
        about = loaded(backend).about
        assert about.revision
        assert about.device.startswith("cpu")
        if backend != "fake":
            assert about.model == recipe(backend).model
            assert {"torch", "numpy", "pillow"} <= set(about.libraries)

    def test_its_batch_can_be_lowered(self, loaded, images, backend, monkeypatch):
        captioner = loaded(backend)
        monkeypatch.setattr(captioner, "batch", 2)
        assert len(captioner.caption(images, count=2, seed=1)) == 3


@pytest.mark.parametrize("backend", REAL)
class TestReal:
    def test_a_batch_changes_no_word(self, loaded, written, images, backend, monkeypatch):
        """On a device of more room: goes of four images and their candidates."""
        narrow, wide = written(backend), loaded(backend)
        monkeypatch.setattr(wide, "batch", 4)
        assert wide.about.device.endswith("4 at a time")
        together = wide.caption(images, count=4, seed=1)
        assert wide.caption(images[2:], count=4, seed=1) == together[2:]
        assert [[one.text for one in some] for some in together] == [
            [one.text for one in some] for some in narrow
        ]

    def test_the_number_type_that_was_used_is_told_with_the_device(self, loaded, backend):
        assert ", float32, " in loaded(backend).about.device

    def test_rows_are_not_filled_up_where_captions_need_not_repeat(
        self, loaded, images, backend, monkeypatch
    ):
        """As on a GPU with a recipe that does not ask for it."""
        captioner = loaded(backend)
        monkeypatch.setattr(captioner, "batch", 4)
        decode, rows = captioner._model.decode, []
        monkeypatch.setattr(
            captioner._model,
            "decode",
            lambda encoded, picker: rows.append(picker.rows) or decode(encoded, picker),
        )
        captioner.caption(images, count=4, seed=1)
        assert rows[0] == 4 * 16
        monkeypatch.setattr(captioner, "full", False)
        captioner.caption(images, count=4, seed=1)
        assert rows[-1] == 3 * 16

    @pytest.mark.parametrize("method", ["greedy", "top_k", "top_p"])
    def test_methods(self, load, images, method, backend):
        captioner = load(backend, count=1, method=method, top_k=5)
        first = captioner.caption(images[:1], count=1, seed=1)
        assert len(first[0]) == 1
        assert (captioner.caption(images[:1], count=1, seed=2) == first) == (method == "greedy")

    def test_captions_are_no_longer_than_asked(self, load, images, backend):
        few, many = (load(backend, max_tokens=tokens).caption(images, count=4, seed=1) for tokens in (2, 9))
        longest = [max(len(one.text.split()) for some in made for one in some) for made in (few, many)]
        assert longest[0] <= 2
        assert few != many

    def test_half_precision(self, load, images, backend):
        made = load(backend, dtype="bfloat16").caption(images[:1], count=4, seed=1)
        assert len(made[0]) == 4

    def test_loading_again_writes_the_same(self, load, loaded, written, images, backend):
        again = load(backend)
        assert again.caption(images, count=4, seed=1) == written(backend)
        assert again.about == loaded(backend).about

    def test_memory_that_runs_out_halves_the_batch(self, loaded, images, backend, monkeypatch):
        import torch

        captioner = loaded(backend)
        monkeypatch.setattr(captioner, "batch", 4)

        def full(*args, **given):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

        with monkeypatch.context() as patched:
            patched.setattr(captioner._model, "decode", full)
            for left in (2, 1, 1):
                with pytest.raises(OutOfMemory, match="Tried to allocate"):
                    captioner.caption(images, count=4, seed=1)
                assert captioner.batch == left
        assert len(captioner.caption(images[:1], count=4, seed=1)[0]) == 4

    def test_numbers_that_overflow(self, loaded, images, backend, monkeypatch):
        captioner = loaded(backend)
        encode = captioner._model.encode

        def overflown(images, *, batch):
            return {
                name: part * float("nan") if part.is_floating_point() else part
                for name, part in encode(images, batch=batch).items()
            }

        monkeypatch.setattr(captioner._model, "encode", overflown)
        with pytest.raises(BackendError, match=r"NaN\. Choose dtype float32 or bfloat16"):
            captioner.caption(images, count=4, seed=1)

    def test_nothing_but_empty_captions(self, loaded, images, backend, monkeypatch):
        captioner = loaded(backend)
        monkeypatch.setattr(captioner._model, "decode", lambda encoded, picker: [" \x00\n"] * picker.rows)
        with pytest.raises(ValueError, match="only empty captions"):
            captioner.caption(images, count=4, seed=1)

    def test_few_different_captions_are_drawn_for_again_and_then_taken(
        self, loaded, images, backend, monkeypatch
    ):
        captioner = loaded(backend)
        asked = []

        def few(encoded, picker):
            asked.append(picker.rows)
            return [("A man", "a man", "a  woman")[number % 3] for number in range(picker.rows)]

        monkeypatch.setattr(captioner._model, "decode", few)
        (made,) = captioner.caption(images[:1], count=4, seed=1)
        assert {one.text for one in made} == {"A man", "a woman"}
        assert asked == [16] * 4

    @pytest.mark.parametrize("wrong", ["missing", "empty", "cut"])
    def test_a_model_that_is_not_whole(self, recipe, tmp_path, wrong, backend):
        import shutil
        from dataclasses import replace

        asked = recipe(backend)
        prefix, _, folder = asked.model.rpartition(":")
        there = tmp_path / "model"
        if wrong == "empty":
            there.mkdir()
        if wrong == "cut":
            shutil.copytree(folder, there)
            (weights,) = there.glob("*.safetensors")
            weights.write_bytes(weights.read_bytes()[:-1000])
        broken = replace(asked, model=f"{prefix}:{there}".removeprefix(":"))
        with pytest.raises(BackendError, match=str(there)):
            backends.load(broken, device="cpu")

    def test_no_such_device(self, recipe, backend):
        with pytest.raises(BackendError, match="no device 'cuda:99'"):
            backends.load(recipe(backend), device="cuda:99")


@pytest.mark.processes
def test_another_process_writes_the_same(load, recipe, images, tmp_path):
    """With another number of threads, and hashes of its own."""
    code = """
import json, sys
from PIL import Image
from generation import backends
from generation.recipes import recipes
asked = recipes.from_json(json.loads(sys.argv[1]))
made = backends.load(asked, device="cpu").caption([Image.open(sys.argv[2])], count=4, seed=1)
print(json.dumps([one.text for one in made[0]]))
"""
    from json import dumps, loads

    from generation.recipes.recipes import as_json

    images[0].save(tmp_path / "image.png")
    here = [one.text for one in load("visage").caption(images[:1], count=4, seed=1)[0]]
    told = subprocess.run(
        [sys.executable, "-c", code, dumps(as_json(recipe("visage"))), str(tmp_path / "image.png")],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert loads(told.stdout.splitlines()[-1]) == here
