"""CoCa of open_clip (Yu et al. 2022): captions drawn from its decoder, by weights' tag, file or folder.

Captions are ranked by the mean log-probability of their tokens. `model` is coca_ViT-L-14 if the recipe names
none, or `local-dir:/folder`; option `pretrained` is the tag or file of its weights.
The decoding loop is our own: open_clip's generate() needs parts that transformers 5 has removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PIL.Image import Image

from generation.backends import sampling, torch_support, weights
from generation.backends.base import BackendError, Captioner
from generation.backends.captions import EncodedImages, Model, SamplingCaptioner
from generation.backends.options import require
from generation.backends.sampling import Sampling, parse_options
from generation.recipes.recipes import CaptionRecipe

if TYPE_CHECKING:
    import torch

_MODEL = "coca_ViT-L-14"


@dataclass(frozen=True, kw_only=True)
class CocaOptions(Sampling):
    pretrained: str = "mscoco_finetuned_laion2b_s13b_b90k"


class Coca(Model):
    def __init__(
        self, model: Any, preprocess: Any, tokenizer: Any, *, device: torch.device, dtype: str
    ) -> None:
        self._model, self._preprocess, self._tokenizer = model, preprocess, tokenizer
        self._dtype = torch_support.dtype(dtype)
        norm = torch_support.import_library("torch").nn.LayerNorm  # open_clip keeps these in float32
        for module in model.modules():
            if not isinstance(
                module, norm
            ):  # open_clip leaves some in float32 and then fails to multiply them
                for parameter in module.parameters(recurse=False):
                    parameter.data = parameter.data.to(self._dtype)
        self.device = device
        self.end = int(tokenizer.eot_token_id)

    def encode_batch(self, images: list[Image]) -> torch.Tensor:
        pixels = torch_support.import_library("torch").stack([self._preprocess(image) for image in images])
        _, tokens = self._model._encode_image(pixels.to(self.device, self._dtype))
        image_tokens: torch.Tensor = tokens
        return image_tokens

    def decode(self, encoded: EncodedImages, picker: sampling.Picker) -> list[str]:
        torch = torch_support.import_library("torch")
        tokens = torch.full((picker.rows, 1), self._tokenizer.sot_token_id, device=self.device)
        while tokens.shape[1] <= picker.steps and not bool(picker.done.all()):
            _, embedded = self._model._encode_text(tokens)
            scores = self._model.text_decoder(encoded["image"], embedded)[:, -1]
            tokens = torch.cat([tokens, picker.pick(scores)[:, None]], dim=1)
        return [self._text(row) for row in tokens[:, 1:].tolist()]

    def _text(self, tokens: list[int]) -> str:
        tokens = tokens[: tokens.index(self.end)] if self.end in tokens else tokens
        special = self._tokenizer.all_special_ids
        text: str = self._tokenizer.decode([token for token in tokens if token not in special])
        return text


def check(recipe: CaptionRecipe) -> CocaOptions:
    """The recipe's options. Raises BackendError for what no weights could do."""
    if recipe.revision:
        raise BackendError("recipe: revision: leave it empty; options.pretrained names the weights of CoCa.")
    return parse_options(recipe, CocaOptions)


def load(recipe: CaptionRecipe, *, device: str = "") -> Captioner:
    """Raises BackendError as `check`, or if the libraries, the weights or the device are missing."""
    options = check(recipe)
    name = recipe.model or _MODEL
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    model, preprocess, tokenizer, revision = weights.load_open_clip(
        name, options.pretrained, dtype=recipe.dtype, device=torch_device
    )
    if not hasattr(model, "text_decoder"):
        raise BackendError(
            f"The model '{name}' cannot write captions. Choose a CoCa model, for example {_MODEL}."
        )
    most = int(model.context_length) - 1
    require(options.max_tokens <= most, "max_tokens", f"'{name}' writes at most {most} tokens")
    libraries = ("torch", "torchvision", "open_clip_torch")
    about = torch_support.about(name, revision, torch_device, recipe.dtype, *libraries)
    coca = Coca(model, preprocess, tokenizer, device=torch_device, dtype=recipe.dtype)
    return SamplingCaptioner(coca, options, about=about, count=recipe.count, full=recipe.repeatable)
