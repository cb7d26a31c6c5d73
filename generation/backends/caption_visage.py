"""ViSAGe's captioner: CLIP finds the n-grams nearest to an image, BART writes captions of them, CLIP ranks.

As in antarctic-captions (https://github.com/dzryk/antarctic-captions): the image's vector is compared with a
cache of n-grams, and the nearest ones are joined to a row "n-gram | n-gram | ... | ". A BART trained to turn
such rows into captions samples candidates, and the best by cosine to the image are kept (PROTOCOL §8).

`model`: the path of antarctic-captions' checkpoint (.ckpt), which replaces the weights of the BART that the
option `base` names; or BART, or another sequence-to-sequence model, by hub id or folder. Plain BART repeats
its input; with `separator` " <mask> " it fills in captions between the n-grams. Other options: `ngrams`, the
cache (ngrams.py); `clip` and `pretrained`, the model the cache was made with (encode_open_clip.py);
`top_ngrams`. With a checkpoint, the defaults are those of its authors' sampler.py and notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from PIL.Image import Image

from generation import backends
from generation.backends import lightning, sampling, torch_support, weights
from generation.backends.base import BackendError, Captioner, Encoder
from generation.backends.captions import EncodedImages, Model, SamplingCaptioner, apply_in_batches
from generation.backends.ngram_lookup import Lookup
from generation.backends.ngrams import Ngrams, Vectors
from generation.backends.options import require
from generation.backends.sampling import Sampling, parse_options
from generation.backends.torch_support import padded_batches
from generation.recipes.recipes import CaptionRecipe, EmbeddingRecipe

if TYPE_CHECKING:
    import torch

_TOKENS_PER_NGRAM = 16  # rows are padded to one length, so that no row changes another's sums
_TEXTS = 64  # candidates scored at a time
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
        require(
            bool(self.ngrams),
            "ngrams",
            "name the folder of an n-gram cache (antarctic-captions', or one by manage.py ngrams)",
        )
        require(1 <= self.top_ngrams <= 100, "top_ngrams", "choose 1 to 100")
        require(bool(self.separator), "separator", "give the text between two n-grams")


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions(VisageOptions):
    """As in antarctic-captions: sampler.py's temperature, and what generate() does unless told otherwise (the
    50 likeliest tokens; 20 tokens, the decoder's first one included); the notebook's 1,000 candidates."""

    base: str = "facebook/bart-large"
    method: str = "top_k"
    max_tokens: int = 19
    candidates: int = 1000

    def check(self, count: int) -> None:
        super().check(count)
        require(bool(self.base), "base", "name the BART that the checkpoint was trained from")


class Visage(Model):
    def __init__(self, model: Any, tokenizer: Any, encoder: Encoder, lookup: Lookup, options: VisageOptions):
        self._model, self._tokenizer, self._encoder = model, tokenizer, encoder
        self._lookup, self._options = lookup, options
        self.device = model.device
        self.end = int(tokenizer.eos_token_id)
        most = getattr(model.config, "max_position_embeddings", None) or 512
        self._length = min(_TOKENS_PER_NGRAM * options.top_ngrams, most)

    def encode(self, images: Sequence[Image], *, batch: int) -> EncodedImages:
        torch = torch_support.import_library("torch")
        prepared = [self._encoder.prepare(image) for image in images]
        vectors = _encode(self._encoder.encode_images, prepared, batch)
        nearest = self._lookup.nearest(vectors, top=self._options.top_ngrams)
        rows = ["".join(f"{ngram}{self._options.separator}" for ngram in ngrams) for ngrams in nearest]
        tokens = self._tokenizer(
            rows, padding="max_length", truncation=True, max_length=self._length, return_tensors="pt"
        ).to(self.device)
        states = apply_in_batches(
            range(len(rows)),
            size=batch,
            function=lambda batch: self._encode(tokens.input_ids[batch], tokens.attention_mask[batch]),
        )
        return {"states": states, "mask": tokens.attention_mask, "vector": torch.from_numpy(vectors)}

    def _encode(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self._model.get_encoder()(
            input_ids=tokens, attention_mask=mask
        ).last_hidden_state
        return states

    def decode(self, encoded: EncodedImages, picker: sampling.Picker) -> list[str]:
        outputs = torch_support.import_library("transformers").modeling_outputs
        tokens = self._model.generate(
            encoder_outputs=outputs.BaseModelOutput(last_hidden_state=encoded["states"]),
            attention_mask=encoded["mask"],
            eos_token_id=self.end,
            **sampling.generate_settings(picker),
        )
        texts: list[str] = self._tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return texts

    def score(self, encoded: EncodedImages, candidates: list[dict[str, float]]) -> list[dict[str, float]]:
        """By cosine in CLIP's space."""
        texts = [list(one) for one in candidates]
        joined = [text for of_image in texts for text in of_image]
        vectors = _encode(self._encoder.encode_texts, joined, _TEXTS)
        scored, start = [], 0
        for of_image, image in zip(texts, encoded["vector"].numpy().astype(np.float64), strict=True):
            text_vectors = vectors[start : start + len(of_image)].astype(np.float64)
            start += len(of_image)
            scored.append(dict(zip(of_image, (text_vectors * image).sum(axis=1).tolist(), strict=True)))
        return scored


def _encode(encode: Callable[[list[_Item]], Vectors], items: Sequence[_Item], size: int) -> Vectors:
    return np.concatenate([encode(batch)[:real] for batch, real in padded_batches(items, size)])


def check(recipe: CaptionRecipe) -> VisageOptions:
    """The recipe's options. Raises BackendError for what no weights could do."""
    if not recipe.model:
        raise BackendError(
            "recipe: model: name what writes the captions: the path of antarctic-captions' checkpoint "
            "(.ckpt); or a BART that was trained to turn n-grams into captions, by hub id or folder; or "
            'facebook/bart-large with the option separator=" <mask> ".'
        )
    is_checkpoint = recipe.model.endswith(lightning.SUFFIX)
    return parse_options(recipe, CheckpointOptions if is_checkpoint else VisageOptions)


def load(recipe: CaptionRecipe, *, device: str = "") -> Captioner:
    """Raises BackendError as `check`, if the libraries, the weights, the n-grams or the device are missing,
    or if the n-grams were made with a CLIP other than the recipe's."""
    options = check(recipe)
    ngrams = Ngrams(Path(options.ngrams).expanduser())
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    clip = EmbeddingRecipe(
        model=options.clip, pretrained=options.pretrained, dtype=recipe.dtype, repeatable=recipe.repeatable
    )
    encoder: Any = backends.load(clip, device=device)
    ngrams.check_model(encoder, model=options.clip, pretrained=options.pretrained)
    model, tokenizer, revision, base = _load_bart(recipe, options, torch_device)
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, "torch", "transformers")
    versions = {
        **encoder.about.libraries,
        **about.libraries,
        "clip": f"{encoder.about.model} {encoder.about.revision}",
        "ngrams": ngrams.version,
        **base,
    }
    about = replace(about, libraries=versions)
    visage = Visage(model, tokenizer, encoder, Lookup(ngrams, torch_device), options)
    return SamplingCaptioner(visage, options, about=about, count=recipe.count, full=recipe.repeatable)


def _load_bart(
    recipe: CaptionRecipe, options: VisageOptions, device: torch.device
) -> tuple[Any, Any, str, dict[str, str]]:
    """The model on the device, its tokenizer, its weights' revision, and the base of a checkpoint."""
    transformers = torch_support.import_library("transformers")
    path = options.base if isinstance(options, CheckpointOptions) else recipe.model
    model, tokenizer, revision = weights.load_transformers(
        transformers.AutoModelForSeq2SeqLM,
        transformers.AutoTokenizer,
        model=path,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=device,
    )
    if not isinstance(options, CheckpointOptions):
        return model, tokenizer, revision, {}
    checkpoint = Path(recipe.model).expanduser()
    state = lightning.load_weights(checkpoint, prefix="model.")
    cure = f"Name the BART that it was trained from in the option base, which is '{options.base}'."
    with weights.require_complete(f"The checkpoint {checkpoint}", cure=cure):
        model.load_state_dict(state)
    return model, tokenizer, weights.revision_of(checkpoint), {"base": f"{options.base} {revision}"}
