"""antarctic-captions' released files, as tiny random ones of the same formats: read as they are."""

import json
import os
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from generation import backends
from generation.backends import caption_visage, lightning
from generation.backends.base import BackendError
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe
from tests.generation.backends import tiny_captions
from tests.generation.backends.captions.conftest import TEXT

NAME = "-epoch=05-vloss=2.163.ckpt"


@pytest.fixture(scope="module")
def trained(folders):
    """The BART whose weights are in the checkpoint."""
    import transformers

    return transformers.BartForConditionalGeneration.from_pretrained(folders["bart"]).eval()


@pytest.fixture(scope="module")
def clip(folders):
    return backends.load(EmbeddingRecipe(model=f"local-dir:{folders['clip']}", pretrained=""), device="cpu")


@pytest.fixture(scope="module")
def base(folders, tmp_path_factory):
    """Other weights, and the settings of generate() in config.json, as facebook/bart-large has them."""
    folder = tiny_captions.bart(tmp_path_factory.mktemp("base"), seed=9)
    (folder / "generation_config.json").unlink()
    config = json.loads((folder / "config.json").read_text())
    config |= {"no_repeat_ngram_size": 3, "forced_bos_token_id": 0, "num_beams": 4, "early_stopping": True}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def released(trained, clip, tmp_path_factory):
    """A folder with the checkpoint, postcache.txt and postcache.npy."""
    folder = tmp_path_factory.mktemp("released")
    tiny_captions.lightning(folder / NAME, trained)
    words = sorted(set(TEXT.lower().replace(",", "").replace(".", "").split()))
    texts = [*words, *(f"{one} {two}" for one in words for two in words)]
    (folder / "postcache.txt").write_text("".join(f"{one}\n" for one in texts))
    np.save(folder / "postcache.npy", clip.encode_texts(texts))
    return folder


@pytest.fixture(scope="module")
def asked(released, base, folders):
    return CaptionRecipe(
        model=str(released / NAME),
        count=3,
        options={
            "ngrams": str(released),
            "base": str(base),
            "clip": f"local-dir:{folders['clip']}",
            "pretrained": "",
            "candidates": 20,
        },
    )


def greedy(recipe):
    return replace(recipe, count=1, options={**recipe.options, "method": "greedy"})


def test_the_defaults_are_the_authors():
    options = caption_visage.check(CaptionRecipe(model=f"/data/{NAME}", options={"ngrams": "/data"}))
    assert (options.top_ngrams, options.separator) == (10, " | ")
    assert (options.method, options.top_k, options.temperature) == ("top_k", 50, 1.0)
    assert (options.max_tokens, options.candidates) == (19, 1000)
    assert (options.clip, options.pretrained, options.base) == ("ViT-B-16", "openai", "facebook/bart-large")


def test_other_models_keep_theirs():
    options = caption_visage.check(CaptionRecipe(model="/data/bart", options={"ngrams": "/data"}))
    assert (options.method, options.max_tokens, options.candidates) == ("top_p", 30, 0)
    with pytest.raises(BackendError, match="there is no 'base'"):
        caption_visage.check(CaptionRecipe(model="/data/bart", options={"ngrams": "/data", "base": "x"}))


def test_greedy_is_what_bart_writes_for_the_row_of_the_nearest_ngrams(
    asked, released, base, trained, clip, images
):
    """Computed as the authors' utils.py describes it, from the files themselves."""
    import torch
    import transformers

    here = backends.load(greedy(asked), device="cpu").caption(images, count=1, seed=0)
    texts = (released / "postcache.txt").read_text().splitlines()
    cosines = (
        clip.encode_images([clip.prepare(image) for image in images]) @ np.load(released / "postcache.npy").T
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    told = transformers.GenerationConfig.from_pretrained(base, "config.json", _from_model_config=True)
    assert told.no_repeat_ngram_size == 3
    told.num_beams, told.early_stopping, told.max_length = 1, False, 20
    seen = set()
    for image, (written,) in zip(cosines, here, strict=True):
        row = "".join(f"{texts[index]} | " for index in np.argsort(-image)[:10])
        tokens = tokenizer.encode(row, return_tensors="pt")
        with torch.inference_mode():
            made = trained.generate(tokens, generation_config=told)
        seen.add(row)
        assert written.text == one_line(tokenizer.decode(made[0], skip_special_tokens=True))
    assert len(seen) == 3


def test_the_cache_is_opened_once_for_all_batches(asked, images, monkeypatch):
    opened, read = [], np.lib.format.open_memmap

    def noted(path, **given):
        opened.append(path.name)
        return read(path, **given)

    monkeypatch.setattr(np.lib.format, "open_memmap", noted)
    captioner = backends.load(asked, device="cpu")
    for image in images:
        assert captioner.batch == 1
        captioner.caption([image], count=3, seed=1)
    assert opened == ["postcache.npy"]


def test_three_captions_of_twenty_candidates_ranked_by_clip(asked, images, clip):
    made = backends.load(asked, device="cpu").caption(images, count=3, seed=1)
    for vector, written in zip(
        clip.encode_images([clip.prepare(image) for image in images]), made, strict=True
    ):
        assert len(written) == 3
        cosines = clip.encode_texts([one.text for one in written]) @ vector
        assert [one.score for one in written] == pytest.approx(cosines.tolist(), abs=1e-5)


def test_it_names_all_that_made_its_captions(asked, base, released):
    about = backends.load(asked, device="cpu").about
    assert about.model == str(released / NAME)
    assert about.revision.startswith("files-")
    assert about.libraries["base"].startswith(f"{base} files-")
    assert about.libraries["ngrams"].count("files-") == 2


def test_the_names_of_bart_s_weights_are_those_of_2021(trained):
    """transformers renames what is in old folders, but not what is in a checkpoint."""
    attention = [f"{one}_proj.{kind}" for one in "kvq" for kind in ("weight", "bias")]
    attention += ["out_proj.weight", "out_proj.bias"]
    expected = {"final_logits_bias", "lm_head.weight", "model.shared.weight"}
    for side, parts in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "encoder_attn"])):
        layer = [f"{part}.{name}" for part in parts for name in attention]
        norms = [*(f"{part}_layer_norm" for part in parts), "fc1", "fc2", "final_layer_norm"]
        layer += [f"{name}.{kind}" for name in norms for kind in ("weight", "bias")]
        expected |= {f"model.{side}.layers.0.{name}" for name in layer}
        expected |= {f"model.{side}.embed_{one}.weight" for one in ("tokens", "positions")}
        expected |= {f"model.{side}.layernorm_embedding.{kind}" for kind in ("weight", "bias")}
    assert set(trained.state_dict()) == expected


class TestRefused:
    @pytest.fixture
    def path(self, released, tmp_path):
        return shutil.copy(released / NAME, tmp_path / NAME)

    def refusal(self, asked, path, **options):
        recipe = replace(asked, model=str(path), options={**asked.options, **options})
        with pytest.raises(BackendError) as refused:
            backends.load(recipe, device="cpu")
        return str(refused.value)

    @pytest.mark.parametrize("keep", [0, 100, -1000])
    def test_half_a_file(self, asked, path, keep):
        path.write_bytes(path.read_bytes()[:keep])
        told = self.refusal(asked, path)
        assert f"The checkpoint {path} cannot be loaded" in told
        assert "copy or download them again" in told

    def test_no_file(self, asked, tmp_path):
        assert f"There is no file '{tmp_path / NAME}'" in self.refusal(asked, tmp_path / NAME)

    def test_another_bart(self, asked, path, tmp_path, folders, trained):
        import transformers

        wider = replace_config(trained.config, d_model=48, max_position_embeddings=200)
        other = shutil.copytree(folders["bart"], tmp_path / "other")
        transformers.BartForConditionalGeneration(wider).save_pretrained(other)
        told = self.refusal(asked, path, base=str(other))
        assert "size mismatch" in told
        assert f"Name the BART that it was trained from in the option base, which is '{other}'" in told

    @pytest.mark.parametrize("change", ["missing", "unexpected"])
    def test_one_weight_more_or_less(self, asked, path, trained, change):
        state = {f"model.{name}": one for name, one in trained.state_dict().items()}
        if change == "missing":
            del state["model.model.encoder.layers.0.fc1.bias"]
        else:
            state["model.model.encoder.layers.1.fc1.bias"] = state["model.model.encoder.layers.0.fc1.bias"]
        tiny_captions.lightning(path, trained, state_dict=state)
        assert f"{change.capitalize()} key(s) in state_dict" in self.refusal(asked, path)

    @pytest.mark.parametrize(
        ("state", "told"),
        [
            (None, "has no 'state_dict', so it is no checkpoint of PyTorch Lightning"),
            ({}, "no weights named 'model....' (it has none)"),
            ({"net.weight": 1}, "no weights named 'model....' (it has net.weight)"),
            ({"model.lm_head.weight": "text"}, "no weights named"),
        ],
    )
    def test_a_checkpoint_of_something_else(self, asked, path, trained, state, told):
        tiny_captions.lightning(path, trained, state_dict=state)
        assert told in self.refusal(asked, path)


class Runs:
    """Unpickled without care, it writes a file."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class TestCode:
    def test_code_in_a_checkpoint_does_not_run(self, tmp_path, trained):
        code = Runs(exec, f"open({str(tmp_path / 'ran')!r}, 'w')")
        path = tiny_captions.lightning(tmp_path / NAME, trained, callbacks=code)
        found = lightning.load_weights(path, prefix="model.")
        assert len(found) == len(trained.state_dict())
        assert not (tmp_path / "ran").exists()

    def test_a_command_is_refused(self, tmp_path, trained):
        path = tmp_path / NAME
        tiny_captions.lightning(path, trained, callbacks=Runs(os.mkdir, str(tmp_path / "ran")))
        with pytest.raises(BackendError, match=r"cannot be loaded .*posix"):
            lightning.load_weights(path, prefix="model.")
        assert not (tmp_path / "ran").exists()

    def test_lightning_is_not_imported(self, released):
        assert lightning.load_weights(released / NAME, prefix="perceiver.")["visual.proj"].sum() == 6
        assert "pytorch_lightning" not in sys.modules


def one_line(text):
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def replace_config(config, **changed):
    return type(config)(**{**config.to_dict(), **changed})
