"""CoCa of open_clip (Yu et al. 2022): captions drawn from its decoder, by weights' tag, file or folder.

Ranked by the mean log-probability of their tokens. `model` is coca_ViT-L-14 if the recipe names none, or
`local-dir:/folder`; option `pretrained` is its weights' tag or a file.
The loop that writes is our own: open_clip's generate() needs parts that transformers 5 has removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL.Image import Image

from generation.backends import open_clip_models, torch_support
from generation.backends.base import About, BackendError, Captioner
from generation.backends.captions import Captions, Seen, looked_at
from generation.backends.options import Sampling, need, options_of
from generation.backends.sampling import Picker
from generation.recipes.recipes import CaptionRecipe

if TYPE_CHECKING:
    import torch

_MODEL = "coca_ViT-L-14"


@dataclass(frozen=True, kw_only=True)
class CocaOptions(Sampling):
    pretrained: str = "mscoco_finetuned_laion2b_s13b_b90k"


class Coca:
    def __init__(
        self, model: Any, preprocess: Any, tokenizer: Any, *, device: torch.device, dtype: str
    ) -> None:
        self._model, self._preprocess, self._tokenizer = model, preprocess, tokenizer
        self._dtype = torch_support.dtype(dtype)
        norm = torch_support.library("torch").nn.LayerNorm  # which open_clip keeps in float32
        for part in model.modules():
            if not isinstance(part, norm):  # open_clip forgets some, and then cannot multiply them
                for numbers in part.parameters(recurse=False):
                    numbers.data = numbers.data.to(self._dtype)
        self.device = device
        self.end = int(tokenizer.eot_token_id)

    def look(self, images: Sequence[Image], *, batch: int) -> Seen:
        return {"image": looked_at(images, batch=batch, look=self._look)}

    def _look(self, images: list[Image]) -> torch.Tensor:
        pixels = torch_support.library("torch").stack([self._preprocess(image) for image in images])
        _, tokens = self._model._encode_image(pixels.to(self.device, self._dtype))
        found: torch.Tensor = tokens
        return found

    def write(self, seen: Seen, picker: Picker) -> list[str]:
        torch = torch_support.library("torch")
        tokens = torch.full((picker.rows, 1), self._tokenizer.sot_token_id, device=self.device)
        while tokens.shape[1] <= picker.steps and not bool(picker.done.all()):
            _, read = self._model._encode_text(tokens)
            scores = self._model.text_decoder(seen["image"], read)[:, -1]
            tokens = torch.cat([tokens, picker.pick(scores)[:, None]], dim=1)
        return [self._text(row) for row in tokens[:, 1:].tolist()]

    def _text(self, tokens: list[int]) -> str:
        whole = tokens[: tokens.index(self.end)] if self.end in tokens else tokens
        special = self._tokenizer.all_special_ids
        text: str = self._tokenizer.decode([token for token in whole if token not in special])
        return text

    def rank(self, seen: Seen, drafts: list[dict[str, float]]) -> list[dict[str, float]]:
        return drafts


def check(recipe: CaptionRecipe) -> CocaOptions:
    """The recipe's options. Raises BackendError for what cannot be done with any weights."""
    if recipe.revision:
        raise BackendError(
            "recipe: revision: CoCa's weights are named by options.pretrained; leave it empty."
        )
    return options_of(recipe, CocaOptions)


def load(recipe: CaptionRecipe, *, device: str = "") -> Captioner:
    """Raises BackendError as `check`, or if the libraries, the weights or the device are missing."""
    options = check(recipe)
    name = recipe.model or _MODEL
    chosen = torch_support.device(device)
    model, preprocess, tokenizer, revision = open_clip_models.loaded(
        name, options.pretrained, dtype=recipe.dtype, device=chosen
    )
    if not hasattr(model, "text_decoder"):
        raise BackendError(f"The model '{name}' writes no captions. Choose a CoCa, for example {_MODEL}.")
    most = int(model.context_length) - 1
    need(options.max_tokens <= most, "max_tokens", f"'{name}' writes {most} tokens at most")
    versions = torch_support.versions("torch", "torchvision", "open_clip_torch", "numpy", "pillow")
    about = About(name, revision, torch_support.device_name(chosen), versions)
    writer = Coca(model, preprocess, tokenizer, device=chosen, dtype=recipe.dtype)
    return Captions(writer, options, about=about, count=recipe.count)


__all__ = ["Coca", "CocaOptions", "check", "load"]
