"""Tiny models of the real classes, made once a session, for the tests of backends."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import pytest

from generation.backends.torch_support import import_library
from tests.generation.backends import tiny, tiny_encoders

LIBRARIES = ("torch", "diffusers", "transformers", "open_clip", "peft")


@dataclass(frozen=True)
class Tiny:
    """Folders of tiny models; each is made when it is first asked for."""

    root: Path

    def __getattr__(self, name: str) -> Path:
        folder = self.root / name
        if not folder.is_dir():
            MAKERS[name](folder)
        return folder


MAKERS = {
    "stable_diffusion": tiny.stable_diffusion,
    "flagging_all": lambda folder: tiny.stable_diffusion(folder, safety="flags all"),
    "flagging_none": lambda folder: tiny.stable_diffusion(folder, safety="flags none"),
    "stable_diffusion_2": tiny.stable_diffusion_2,
    "stable_diffusion_xl": tiny.stable_diffusion_xl,
    "stable_diffusion_3": tiny.stable_diffusion_3,
    "flux": tiny.flux,
    "flux_schnell": lambda folder: tiny.flux(folder, guided=False),
    "open_clip": tiny.open_clip_folder,
    "clip": tiny_encoders.clip,
    "siglip": tiny_encoders.siglip,
    "blip_retrieval": tiny_encoders.blip_retrieval,
}


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory) -> Tiny:
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(
            f"NO MODELS: {', '.join(missing)} not installed: no real model was tested. "
            "Cure: pip install '.[models]'"
        )
    # tests run side by side: threads of each would wait for one another
    import_library("torch").set_num_threads(1)
    return Tiny(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def lora(tiny_models, tmp_path_factory) -> Path:
    """A folder with two LoRAs of the tiny Stable Diffusion."""
    folder = tmp_path_factory.mktemp("loras")
    tiny.lora(tiny_models.stable_diffusion, folder / "pytorch_lora_weights.safetensors")
    tiny.lora(tiny_models.stable_diffusion, folder / "other.safetensors", seed=1)
    return folder
