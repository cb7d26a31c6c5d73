"""BLIP (Li et al. 2022): captions drawn from BlipForConditionalGeneration, by hub id or local folder.

Ranked by the mean log-probability of their tokens. `model` is Salesforce/blip-image-captioning-base if the
recipe names none. Option `prompt`: what every caption begins with, for example "a photo of".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL.Image import Image

from generation.backends import sampling, torch_support, transformers_models
from generation.backends.base import About, Captioner
from generation.backends.captions import Captions, Seen, looked_at
from generation.backends.options import Sampling, options_of
from generation.recipes.recipes import CaptionRecipe

if TYPE_CHECKING:
    import torch

_MODEL = "Salesforce/blip-image-captioning-base"


@dataclass(frozen=True, kw_only=True)
class BlipOptions(Sampling):
    prompt: str = ""


class Blip:
    """BLIP's image encoder and its decoder, called apart: generate() of the whole would look at the image
    again for every go of captions."""

    def __init__(self, model: Any, processor: Any, *, prompt: str) -> None:
        self._model, self._processor = model, processor
        self.device = model.device
        text = model.config.text_config
        self.end = int(text.sep_token_id)
        self._pad = int(text.pad_token_id)
        # As BLIP was trained: the sentence begins with [DEC] in the place of [CLS], and has no [SEP] yet.
        words = processor.tokenizer(prompt, add_special_tokens=False).input_ids if prompt else []
        self._begun = [int(text.bos_token_id), *words]

    def look(self, images: Sequence[Image], *, batch: int) -> Seen:
        return {"image": looked_at(images, batch=batch, look=self._look)}

    def _look(self, images: list[Image]) -> torch.Tensor:
        pixels = self._processor.image_processor(images, return_tensors="pt").pixel_values
        found: torch.Tensor = self._model.vision_model(
            pixel_values=pixels.to(self.device, self._model.dtype)
        ).last_hidden_state
        return found

    def write(self, seen: Seen, picker: sampling.Picker) -> list[str]:
        torch = torch_support.library("torch")
        image = seen["image"]
        begun = torch.tensor([self._begun] * len(image), device=self.device)
        tokens = self._model.text_decoder.generate(
            input_ids=begun,
            attention_mask=torch.ones_like(begun),
            encoder_hidden_states=image,
            encoder_attention_mask=torch.ones(image.shape[:2], dtype=torch.long, device=self.device),
            eos_token_id=self.end,
            pad_token_id=self._pad,
            **sampling.settings(picker),
        )
        texts: list[str] = self._processor.tokenizer.batch_decode(tokens[:, 1:], skip_special_tokens=True)
        return texts

    def rank(self, seen: Seen, drafts: list[dict[str, float]]) -> list[dict[str, float]]:
        return drafts


def check(recipe: CaptionRecipe) -> BlipOptions:
    """The recipe's options. Raises BackendError for what cannot be done with any weights."""
    return options_of(recipe, BlipOptions)


def load(recipe: CaptionRecipe, *, device: str = "") -> Captioner:
    """Raises BackendError as `check`, or if the libraries, the weights or the device are missing."""
    options = check(recipe)
    transformers = torch_support.library("transformers")
    chosen = torch_support.device(device)
    name = recipe.model or _MODEL
    model, processor, revision = transformers_models.loaded(
        transformers.BlipForConditionalGeneration,
        transformers.BlipProcessor,
        model=name,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=chosen,
    )
    versions = torch_support.versions("torch", "transformers", "numpy", "pillow")
    about = About(name, revision, torch_support.device_name(chosen), versions)
    return Captions(Blip(model, processor, prompt=options.prompt), options, about=about, count=recipe.count)


__all__ = ["Blip", "BlipOptions", "check", "load"]
