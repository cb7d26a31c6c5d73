"""ViSAGe's captioner: CLIP finds the n-grams nearest to an image, BART writes captions of them, CLIP ranks.

As antarctic-captions (https://github.com/dzryk/antarctic-captions): the image's vector is compared with a
cache of n-grams, the nearest ones are written as a row "n-gram | n-gram | ... | ", a BART that was trained
to turn such rows into captions draws many, and the best by cosine to the image are kept (PROTOCOL §8).

`model`: BART, or another sequence-to-sequence model, by hub id or folder. Plain BART repeats its input; it
fills in captions between the n-grams with `separator` " <mask> ". Other options: `ngrams`, the folder of the
cache (manage.py ngrams); `clip` and `pretrained`, the model the cache was made with (encode_open_clip.py);
`top_ngrams`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from PIL.Image import Image

from generation import backends
from generation.backends import sampling, torch_support, transformers_models
from generation.backends.base import About, BackendError, Captioner, Encoder
from generation.backends.captions import Captions, Seen, goes, looked_at
from generation.backends.ngrams import Ngrams, Vectors
from generation.backends.options import Sampling, need, options_of
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe

if TYPE_CHECKING:
    import torch

_TOKENS_AN_NGRAM = 16  # the row is filled up to one length, so that no image's row changes another's sums
_TEXTS = 64  # candidates ranked at a time
_Item = TypeVar("_Item")


@dataclass(frozen=True, kw_only=True)
class VisageOptions(Sampling):
    ngrams: str = ""
    clip: str = "ViT-B-16"
    pretrained: str = "openai"
    top_ngrams: int = 10
    separator: str = " | "

    def check(self, count: int) -> None:
        super().check(count)
        need(bool(self.ngrams), "ngrams", "name the folder of an n-gram cache, made by manage.py ngrams")
        need(1 <= self.top_ngrams <= 100, "top_ngrams", "choose 1 to 100")
        need(bool(self.separator), "separator", "give the text between two n-grams")


class Visage:
    def __init__(self, model: Any, tokenizer: Any, encoder: Encoder, ngrams: Ngrams, options: VisageOptions):
        self._model, self._tokenizer, self._encoder = model, tokenizer, encoder
        self._ngrams, self._options = ngrams, options
        self.device = model.device
        self.end = int(tokenizer.eos_token_id)
        most = getattr(model.config, "max_position_embeddings", None) or 512
        self._length = min(_TOKENS_AN_NGRAM * options.top_ngrams, most)

    def look(self, images: Sequence[Image], *, batch: int) -> Seen:
        torch = torch_support.library("torch")
        vectors = _in_goes(self._encoder.encode_images, images, batch)
        found = self._ngrams.nearest(vectors, top=self._options.top_ngrams, product=self._product)
        rows = ["".join(f"{ngram}{self._options.separator}" for ngram in nearest) for nearest in found]
        told = self._tokenizer(
            rows, padding="max_length", truncation=True, max_length=self._length, return_tensors="pt"
        ).to(self.device)
        places = range(len(rows))
        states = looked_at(
            places, batch=batch, look=lambda go: self._read(told.input_ids[go], told.attention_mask[go])
        )
        return {"states": states, "mask": told.attention_mask, "vector": torch.from_numpy(vectors)}

    def _product(self, rows: npt.NDArray[Any], images: Vectors) -> Vectors:
        torch = torch_support.library("torch")
        here = torch.from_numpy(np.array(rows)).to(self.device).float()
        found: Vectors = (torch.from_numpy(images).to(self.device) @ here.T).cpu().numpy()
        return found

    def _read(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self._model.get_encoder()(
            input_ids=tokens, attention_mask=mask
        ).last_hidden_state
        return found

    def write(self, seen: Seen, picker: sampling.Picker) -> list[str]:
        outputs = torch_support.library("transformers").modeling_outputs
        tokens = self._model.generate(
            encoder_outputs=outputs.BaseModelOutput(last_hidden_state=seen["states"]),
            attention_mask=seen["mask"],
            eos_token_id=self.end,
            **sampling.settings(picker),
        )
        texts: list[str] = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return texts

    def rank(self, seen: Seen, drafts: list[dict[str, float]]) -> list[dict[str, float]]:
        """By cosine in CLIP's space."""
        texts = [list(one) for one in drafts]
        joined = [text for some in texts for text in some]
        vectors = _in_goes(self._encoder.encode_texts, joined, _TEXTS)
        ranked, start = [], 0
        for some, image in zip(texts, seen["vector"].numpy().astype(np.float64), strict=True):
            here = vectors[start : start + len(some)].astype(np.float64)
            start += len(some)
            ranked.append(dict(zip(some, (here * image).sum(axis=1).tolist(), strict=True)))
        return ranked


def _in_goes(encode: Callable[[list[_Item]], Vectors], items: Sequence[_Item], size: int) -> Vectors:
    return np.concatenate([encode(go)[:real] for go, real in goes(items, size)])


def check(recipe: CaptionRecipe) -> VisageOptions:
    """The recipe's options. Raises BackendError for what cannot be done with any weights."""
    if not recipe.model:
        raise BackendError(
            "recipe: model: name the BART that writes the captions, by hub id or folder: one trained "
            'to turn n-grams into captions, or facebook/bart-large with the option separator=" <mask> ".'
        )
    return options_of(recipe, VisageOptions)


def load(recipe: CaptionRecipe, *, device: str = "") -> Captioner:
    """Raises BackendError as `check`, if the libraries, the weights, the n-grams or the device are missing,
    or if the n-grams were made with another CLIP than the recipe's."""
    options = check(recipe)
    ngrams = Ngrams(Path(options.ngrams).expanduser())
    clip = EmbeddingRecipe(model=options.clip, pretrained=options.pretrained, dtype=recipe.dtype)
    encoder: Any = backends.load(clip, device=device)
    ngrams.need_model(encoder, model=options.clip, pretrained=options.pretrained)
    transformers = torch_support.library("transformers")
    chosen = torch_support.device(device)
    model, tokenizer, revision = transformers_models.loaded(
        transformers.AutoModelForSeq2SeqLM,
        transformers.AutoTokenizer,
        model=recipe.model,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=chosen,
    )
    versions = {
        **encoder.about.libraries,
        **torch_support.versions("torch", "transformers", "numpy", "pillow"),
        "clip": f"{encoder.about.model} {encoder.about.revision}",
        "ngrams": ngrams.manifest.vectors_sha256,
    }
    about = About(recipe.model, revision, torch_support.device_name(chosen), versions)
    writer = Visage(model, tokenizer, encoder, ngrams, options)
    return Captions(writer, options, about=about, count=recipe.count)


__all__ = ["Visage", "VisageOptions", "check", "load"]
