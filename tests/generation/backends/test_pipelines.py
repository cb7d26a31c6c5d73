"""What planning knows of a model from its files is what a worker knows of the loaded one."""

import importlib
import json
import shutil
from types import SimpleNamespace

import pytest

from generation import backends
from generation.backends import pipelines
from generation.backends.base import BackendError
from generation.recipes.recipes import ImageRecipe
from tests.generation.backends.test_image_diffusers import loaded, recipe
from tests.generation.backends.test_without_models import HEAVY, in_a_process

pytestmark = [
    pytest.mark.filterwarnings("ignore:::(diffusers|transformers|torch|huggingface_hub)"),
]


def refusal(folder, **changed):
    with pytest.raises(BackendError) as refused:
        backends.check(recipe(folder, **changed))
    return str(refused.value)


@pytest.fixture
def without_diffusers(monkeypatch):
    """A web server: the libraries are not installed."""
    monkeypatch.setattr(pipelines, "_source", lambda: None)
    pipelines._definition.cache_clear()
    pipelines._scheduler_names.cache_clear()
    yield
    pipelines._definition.cache_clear()
    pipelines._scheduler_names.cache_clear()


def test_without_diffusers_nothing_is_read_of_it(monkeypatch):
    nowhere = SimpleNamespace(util=SimpleNamespace(find_spec=lambda name: None))
    monkeypatch.setattr(pipelines, "importlib", nowhere)
    assert pipelines._source() is None
    assert pipelines._scheduler_names.__wrapped__() == frozenset()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("stable_diffusion", {}),
        ("flagging_all", {}),
        ("stable_diffusion_xl", {}),
        ("stable_diffusion_3", {}),
        ("flux", {}),
        ("flux_schnell", {"guidance": None}),
    ],
)
def test_files_and_the_loaded_pipeline_say_the_same(tiny_models, name, changed):
    folder = getattr(tiny_models, name)
    by_files = pipelines._facts_in(folder)
    pipeline = loaded(folder, safety="record", **changed)
    pipeline._pipeline.safety_checker = pipeline._checker  # it is taken out while loading
    by_model = pipelines.facts_of(pipeline._pipeline)
    either = {"self", "kwargs", by_model.scheduler}
    for one, other in zip(vars(by_files).values(), vars(by_model).values(), strict=True):
        assert one == other or set(one) - either == set(other) - either
    backends.check(recipe(folder, **changed))


@pytest.mark.parametrize(
    ("name", "changed", "why"),
    [
        ("flux", {"negative_prompt": "a hat"}, "does not support a negative prompt"),
        ("flux_schnell", {}, "does not support guidance"),
        ("stable_diffusion", {"safety": "block"}, "no safety checker"),
        ("stable_diffusion", {"scheduler": "Nothing"}, "has no scheduler 'Nothing'"),
        ("stable_diffusion", {"scheduler": "DPMSolverSDEScheduler"}, "can repeat an image"),
        ("stable_diffusion", {"scheduler": "FlowMatchEulerDiscreteScheduler"}, "does not fit this model"),
        ("flux", {"scheduler": "DDIMScheduler"}, "does not fit this model"),
        ("stable_diffusion", {"variant": "fp16"}, "no files of the variant 'fp16'"),
        ("stable_diffusion", {"lora": ("/no/such/folder",)}, "There is no LoRA '/no/such/folder'"),
    ],
)
def test_what_a_model_refuses_is_refused_when_planned(tiny_models, name, changed, why):
    assert why in refusal(getattr(tiny_models, name), **changed)


def test_a_folder_that_is_missing_or_no_pipeline_is_refused_when_planned(tiny_models, tmp_path):
    assert "There is no folder" in refusal(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    assert "no model_index.json" in refusal(tmp_path / "empty")
    folder = shutil.copytree(tiny_models.stable_diffusion, tmp_path / "model")
    shutil.rmtree(folder / "tokenizer")
    assert "its part 'tokenizer' is missing" in refusal(folder)
    (folder / "model_index.json").write_text("[]")
    assert "damaged" in refusal(folder)


def test_a_hub_id_that_was_loaded_before_is_known_too(tiny_models, tmp_path, monkeypatch):
    hub = tmp_path / "models--someone--flux"
    shutil.copytree(tiny_models.flux, hub / "snapshots" / "abc")
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("abc")
    monkeypatch.setattr(importlib.import_module("huggingface_hub.constants"), "HF_HUB_CACHE", str(tmp_path))
    assert "negative prompt" in refusal("someone/flux", negative_prompt="a hat")
    backends.check(recipe("someone/flux"))
    for unknown in ("someone/else", "not a hub id"):
        backends.check(recipe(unknown, negative_prompt="a hat"))


def test_a_pipeline_that_diffusers_does_not_have_is_left_to_the_worker(tiny_models, tmp_path):
    folder = shutil.copytree(tiny_models.flux, tmp_path / "model")
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps({**index, "_class_name": "SomeonesPipeline"}))
    backends.check(recipe(folder, negative_prompt="a hat"))


def test_a_machine_without_diffusers_refuses_only_what_files_say(tiny_models, without_diffusers):
    for unknown in ({"scheduler": "Nothing"}, {"negative_prompt": "a hat"}, {"lora": ("/on/the/workers",)}):
        backends.check(recipe(tiny_models.flux, **unknown))
    backends.check(ImageRecipe(model="/on/the/workers"))
    assert "no safety checker" in refusal(tiny_models.flux, safety="block")
    assert "does not support guidance" in refusal(tiny_models.flux_schnell)


@pytest.mark.processes
def test_planning_imports_no_model_library(tiny_models):
    in_a_process(f"""
import sys
from generation import backends
from generation.recipes.recipes import ImageRecipe
backends.check(ImageRecipe(model={str(tiny_models.flux)!r}, scheduler="FlowMatchEulerDiscreteScheduler"))
try:
    backends.check(ImageRecipe(model={str(tiny_models.flux)!r}, negative_prompt="a hat"))
    raise SystemExit("not refused")
except backends.BackendError:
    heavy = set({HEAVY!r}) & set(sys.modules)
    assert not heavy, heavy
""")
