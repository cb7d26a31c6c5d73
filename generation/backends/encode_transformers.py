"""CLIP, SigLIP and BLIP's retrieval model, of transformers: image and text embeddings, by hub id or folder.

`model` is a hub id (openai/clip-vit-base-patch32, google/siglip-base-patch16-224,
Salesforce/blip-itm-base-coco) or a local folder; `pretrained` is a branch, tag or commit on the hub, or "".
The class follows from the model's configuration. SigLIP 2 works where its images have one size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL.Image import Image
from PIL.Image import new as new_image

from generation.backends import torch_support, weights
from generation.backends.base import About, BackendError, Encoder, Pixels
from generation.backends.encoders import ChunkedEncoder
from generation.recipes.recipes import EmbeddingRecipe

if TYPE_CHECKING:
    import torch

_LIBRARIES = ("torch", "torchvision", "transformers")


@dataclass(frozen=True)
class _Family:
    """`model_class`: of transformers. `padding`: of texts, as the model was trained. `images`, `texts`: the
    model and its inputs -> vectors, not yet of length 1."""

    model_class: str
    padding: bool | str
    images: Callable[[Any, torch.Tensor], torch.Tensor]
    texts: Callable[[Any, Any], torch.Tensor]


def _image_features(model: Any, pixels: torch.Tensor) -> torch.Tensor:
    features: torch.Tensor = model.get_image_features(pixel_values=pixels).pooler_output
    return features


def _text_features(model: Any, tokens: Any) -> torch.Tensor:
    features: torch.Tensor = model.get_text_features(**tokens).pooler_output
    return features


def _blip_image(model: Any, pixels: torch.Tensor) -> torch.Tensor:
    """As BlipForImageTextRetrieval compares images and texts without its matching head."""
    states = model.vision_model(pixel_values=pixels).last_hidden_state
    projected: torch.Tensor = model.vision_proj(states[:, 0, :])
    return projected


def _blip_text(model: Any, tokens: Any) -> torch.Tensor:
    states = model.text_encoder(
        input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]
    ).last_hidden_state
    projected: torch.Tensor = model.text_proj(states[:, 0, :])
    return projected


_FAMILIES = {
    "clip": _Family("CLIPModel", True, _image_features, _text_features),
    "siglip": _Family("SiglipModel", "max_length", _image_features, _text_features),
    "blip": _Family("BlipForImageTextRetrieval", True, _blip_image, _blip_text),
}


class TransformersEncoder(ChunkedEncoder):
    """An Encoder around a model that is on its device."""

    def __init__(self, model: Any, processor: Any, family: _Family, *, dtype: str, about: About) -> None:
        self._model, self._family = model, family
        self._processor, self._tokenizer = processor.image_processor, processor.tokenizer
        positions = int(model.config.text_config.max_position_embeddings)
        self._longest = min(positions, int(self._tokenizer.model_max_length))
        own = self._processor
        normalizes = own.do_normalize
        super().__init__(
            device=model.device,
            dtype=dtype,
            white=1 / own.rescale_factor if own.do_rescale else 1.0,
            mean=own.image_mean if normalizes else (0.0, 0.0, 0.0),
            std=own.image_std if normalizes else (1.0, 1.0, 1.0),
            about=about,
        )
        shapes = {self.prepare(new_image("RGB", size)).shape for size in ((20, 60), (60, 20))}
        if len(shapes) > 1:
            raise BackendError(
                f"The model '{about.model}' takes images of several shapes ({sorted(shapes)}). Choose one "
                "that crops or resizes each image to one shape, by its preprocessor_config.json."
            )

    def prepare(self, image: Image) -> Pixels:
        """Resized and cropped by the model's own processor; the device does the rest for a whole chunk."""
        [pixels] = self._processor(
            image.convert("RGB"), do_rescale=False, do_normalize=False, return_tensors="np"
        ).pixel_values
        return np.ascontiguousarray(pixels.transpose(1, 2, 0)).astype(np.uint8, copy=False)

    def _images_encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        return self._family.images(self._model, pixels)

    def _texts_encoded(self, texts: Sequence[str]) -> torch.Tensor:
        tokens = self._tokenizer(
            list(texts),
            padding=self._family.padding,
            max_length=self._longest,
            truncation=True,
            return_tensors="pt",
        )
        return self._family.texts(self._model, tokens.to(self._device))


def check(recipe: EmbeddingRecipe) -> None:
    """Raises BackendError for a name that only open_clip knows."""
    if recipe.model == EmbeddingRecipe.model:
        raise BackendError(
            f"recipe: model: '{recipe.model}' is a name of open_clip; give a hub id, such as "
            "openai/clip-vit-base-patch32, or a local folder."
        )


def load(recipe: EmbeddingRecipe, *, device: str = "") -> Encoder:
    """Raises BackendError as `check`, or if the libraries, the weights or the device are missing."""
    check(recipe)
    transformers = torch_support.import_library("transformers")
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    kind = weights.model_type(recipe.model, recipe.pretrained)
    if kind not in _FAMILIES:
        raise BackendError(
            f"The model '{recipe.model}' is of the type '{kind}', which this backend does not embed with. "
            f"Choose a model of the type {', '.join(_FAMILIES)}, or the backend open_clip."
        )
    family = _FAMILIES[kind]
    model, processor, revision = weights.load_transformers(
        getattr(transformers, family.model_class),
        transformers.AutoProcessor,
        model=recipe.model,
        revision=recipe.pretrained,
        dtype=recipe.dtype,
        device=torch_device,
    )
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, *_LIBRARIES)
    return TransformersEncoder(model, processor, family, dtype=recipe.dtype, about=about)
