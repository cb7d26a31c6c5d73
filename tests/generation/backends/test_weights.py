"""A model is loaded whole, from where its recipe says, on a device that is there, or refused with a cure."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from generation import backends
from generation.backends import weights
from generation.backends.base import BackendError
from generation.backends.torch_support import import_library
from tests.generation.backends import tiny_captions
from tests.generation.backends.test_image_diffusers import loaded, recipe, refusal

pytestmark = pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub)")
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def copied(tiny_models, tmp_path):
    """A model folder to spoil."""
    return Path(shutil.copytree(tiny_models.flagging_none, tmp_path / "spoilt"))


def weights_of(part):
    return part / next(path.name for path in part.iterdir() if path.suffix == ".safetensors")


def without_a_tensor(path):
    stored = import_library("safetensors.torch")
    tensors = stored.load_file(path)
    del tensors[sorted(tensors)[3]]
    stored.save_file(tensors, path, {"format": "pt"})


SPOILT = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "without a tensor": without_a_tensor,
}


# each way once, and each part once
@pytest.mark.parametrize(
    ("part", "how"),
    [
        ("unet", "truncated"),
        ("unet", "without a tensor"),
        ("vae", "empty"),
        ("text_encoder", "gone"),
        ("safety_checker", "truncated"),
        ("safety_checker", "without a tensor"),
    ],
)
def test_spoilt_weights_are_refused_with_the_folder_and_the_cure(copied, part, how):
    SPOILT[how](weights_of(copied / part))
    told = refusal(copied)
    assert str(copied) in told
    assert "copy or download them again" in told


@pytest.mark.parametrize("part", ["tokenizer", "scheduler", "unet", "feature_extractor"])
def test_a_missing_part_is_refused(copied, part):
    shutil.rmtree(copied / part)
    assert part in refusal(copied)


def test_a_tokenizer_without_its_vocabulary_is_refused(copied):
    for file in (copied / "tokenizer").iterdir():
        if file.name != "tokenizer_config.json":
            file.unlink()
    assert "vocabulary" in refusal(copied)


def test_a_hub_that_does_not_answer_is_asked_once_and_not_for_what_is_here(monkeypatch, tmp_path):
    class Away:
        def head(self, url, *, timeout):
            raise ConnectionError("no route to host")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.utils.get_session", Away)
    tried = []
    message = r"does not answer: no route to host.*hf download owner/model"
    with pytest.raises(BackendError, match=message), weights.loading("owner/model"):
        tried.append("not here")
    (tmp_path / "models--owner--model").mkdir()
    with weights.loading("owner/model"):
        tried.append("here")
    assert tried == ["here"]


@pytest.mark.parametrize("index", ["{", "[]", None])
def test_a_folder_that_is_no_pipeline_is_refused(copied, index):
    (copied / "model_index.json").unlink()
    if index is not None:
        (copied / "model_index.json").write_text(index)
    told = refusal(copied)
    assert "model_index.json" in told
    assert str(copied) in told


@pytest.mark.parametrize("name", ["/nowhere/model", "./nowhere", "~/nowhere", "a/b/c"])
def test_a_folder_that_is_not_there_is_refused_by_name(tiny_models, name):
    assert f"no folder '{name}'" in refusal(name)


def test_a_model_that_makes_no_pictures_from_prompts_is_refused(copied):
    index = json.loads((copied / "model_index.json").read_text())
    kept = {name: index[name] for name in ("unet", "scheduler")}
    kept["unet"] = ["diffusers", "UNet2DConditionModel"]
    (copied / "model_index.json").write_text(json.dumps({"_class_name": "DDPMPipeline", **kept}))
    assert "DDPMPipeline does not generate images from prompts" in refusal(copied, guidance=None)


def in_a_process(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def fetched(folder, home, name):
    """A folder as the hub's client keeps what it fetched of someone/NAME."""
    cached = home / "hub" / f"models--someone--{name}"
    shutil.copytree(folder, cached / "snapshots" / COMMIT)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(COMMIT)


RECIPES = {
    "pictures": "ImageRecipe(model='someone/pictures')",
    "captions": "CaptionRecipe(backend='blip', model='someone/captions')",
    "captions of a commit": f"CaptionRecipe(backend='blip', model='someone/captions', revision='{COMMIT}')",
    "embeddings": "EmbeddingRecipe(model='hf-hub:someone/embeddings', pretrained='')",
    "clip": "EmbeddingRecipe(backend='transformers', model='someone/clip', pretrained='')",
    "no clip": "EmbeddingRecipe(backend='transformers', model='someone/clip', pretrained='v2')",
    "no pictures": "ImageRecipe(model='someone/some-model', revision='v2')",
    "no captions": "CaptionRecipe(backend='blip', model='someone/captions', revision='v2')",
}
LOADED = """
import json
from generation import backends
from generation.backends import weights
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe, ImageRecipe
told = {}
for name, recipe in {%s}.items():
    try:
        about = backends.load(recipe, device="cpu").about
        told[name] = [about.model, about.revision]
    except backends.BackendError as error:
        told[name] = str(error)
print(json.dumps(told))
"""


@pytest.mark.processes
def test_a_hub_id_is_loaded_from_the_cache_as_of_its_commit_or_refused_with_the_cure(tiny_models, tmp_path):
    """In a process of its own: where the cache is, is read once."""
    fetched(tiny_models.stable_diffusion, tmp_path, "pictures")
    fetched(tiny_captions.blip(tmp_path / "blip"), tmp_path, "captions")
    fetched(tiny_models.open_clip, tmp_path, "embeddings")
    fetched(tiny_models.clip, tmp_path, "clip")
    recipes = ", ".join(f"{name!r}: {recipe}" for name, recipe in RECIPES.items())
    told = json.loads(in_a_process(LOADED % recipes, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1"))
    assert told["pictures"] == ["someone/pictures", COMMIT]
    assert told["captions"] == told["captions of a commit"] == ["someone/captions", COMMIT]
    assert told["embeddings"] == ["hf-hub:someone/embeddings", COMMIT]
    assert told["clip"] == ["someone/clip", COMMIT]
    assert "'someone/clip', revision 'v2'" in told["no clip"]
    assert "'someone/some-model', revision 'v2'" in told["no pictures"]
    assert "hf download someone/some-model --local-dir FOLDER" in told["no pictures"]
    assert "'someone/captions', revision 'v2'" in told["no captions"]


def test_the_revision_of_a_folder_changes_with_its_files(copied):
    first = loaded(copied).about.revision
    assert loaded(copied).about.revision == first
    stored = import_library("safetensors.torch")
    path = weights_of(copied / "unet")
    tensors = stored.load_file(path)
    tensors["conv_in.bias"] += 1
    stored.save_file(tensors, path, {"format": "pt"})
    assert loaded(copied).about.revision != first


def test_a_device_that_is_not_there_is_refused_with_what_is(tiny_models):
    with pytest.raises(BackendError, match=r"no device 'cuda:7' on this machine. There is: .*cpu"):
        backends.load(recipe(tiny_models.stable_diffusion), device="cuda:7")


def test_weights_that_do_not_fit_the_device_say_so(tiny_models, monkeypatch):
    module = importlib.import_module("generation.backends.image_diffusers")

    def full(*given):
        raise import_library("torch").OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(module, "_place", full)
    assert "does not fit into cpu" in refusal(tiny_models.stable_diffusion)
