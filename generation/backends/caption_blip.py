"""BLIP (Li et al. 2022): captions drawn from BlipForConditionalGeneration, by hub id or local folder.

Captions are ranked by the mean log-probability of their tokens. `model` is
Salesforce/blip-image-captioning-base if the recipe names none. Option `prompt`: the start of every caption,
for example "a photo of".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL.Image import Image

from generation.backends import sampling, torch_support, weights
from generation.backends.base import Captioner
from generation.backends.captions import EncodedImages, Model, SamplingCaptioner
from generation.backends.sampling import Sampling, parse_options
from generation.recipes.recipes import CaptionRecipe

if TYPE_CHECKING:
    import torch

_MODEL = "Salesforce/blip-image-captioning-base"


@dataclass(frozen=True, kw_only=True)
class BlipOptions(Sampling):
    prompt: str = ""


class Blip(Model):
    """BLIP's image encoder and decoder, called separately: generate() of the whole model would encode the
    image again for each batch of captions."""

    def __init__(self, model: Any, processor: Any, *, prompt: str) -> None:
        self._model, self._processor = model, processor
        self.device = model.device
        text = model.config.text_config
        self.end = int(text.sep_token_id)
        self._pad = int(text.pad_token_id)
        # As BLIP was trained: the sentence starts with [DEC] instead of [CLS], and has no [SEP] yet.
        words = processor.tokenizer(prompt, add_special_tokens=False).input_ids if prompt else []
        self._start = [int(text.bos_token_id), *words]

    def encode_batch(self, images: list[Image]) -> torch.Tensor:
        pixels = self._processor.image_processor(images, return_tensors="pt").pixel_values
        states: torch.Tensor = self._model.vision_model(
            pixel_values=pixels.to(self.device, self._model.dtype)
        ).last_hidden_state
        return states

    def decode(self, encoded: EncodedImages, picker: sampling.Picker) -> list[str]:
        torch = torch_support.import_library("torch")
        image = encoded["image"]
        start = torch.tensor([self._start] * len(image), device=self.device)
        tokens = self._model.text_decoder.generate(
            input_ids=start,
            attention_mask=torch.ones_like(start),
            encoder_hidden_states=image,
            encoder_attention_mask=torch.ones(image.shape[:2], dtype=torch.long, device=self.device),
            eos_token_id=self.end,
            pad_token_id=self._pad,
            **sampling.generate_settings(picker),
        )
        texts: list[str] = self._processor.tokenizer.batch_decode(tokens[:, 1:], skip_special_tokens=True)
        return texts


def check(recipe: CaptionRecipe) -> BlipOptions:
    """The recipe's options. Raises BackendError for what no weights could do."""
    return parse_options(recipe, BlipOptions)


def load(recipe: CaptionRecipe, *, device: str = "") -> Captioner:
    """Raises BackendError as `check`, or if the libraries, the weights or the device are missing."""
    options = check(recipe)
    transformers = torch_support.import_library("transformers")
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    name = recipe.model or _MODEL
    model, processor, revision = weights.load_transformers(
        transformers.BlipForConditionalGeneration,
        transformers.BlipProcessor,
        model=name,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=torch_device,
    )
    about = torch_support.about(name, revision, torch_device, recipe.dtype, "torch", "transformers")
    blip = Blip(model, processor, prompt=options.prompt)
    return SamplingCaptioner(blip, options, about=about, count=recipe.count, full=recipe.repeatable)
