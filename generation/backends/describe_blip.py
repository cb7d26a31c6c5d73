"""BLIP (Li et al. 2022) for questions about images: BlipForQuestionAnswering, by hub id or local folder.

`model` is Salesforce/blip-vqa-base if the recipe names none. It answers each prompt with one or a few words,
and knows no system message. It has no options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from generation.backends import options, torch_support, weights
from generation.backends.base import Answerer, BackendError, Question
from generation.backends.describe_transformers import rgb
from generation.backends.written_answers import Prompt, WritingAnswerer, WritingModel
from generation.recipes.askings import DescriptionRecipe

if TYPE_CHECKING:
    import torch

_MODEL = "Salesforce/blip-vqa-base"


class BlipForQuestions(WritingModel):
    """Its encoder reads image and question, its decoder writes the answer from the start. A question that is
    padded is answered otherwise, so those of a batch have one length."""

    pads = False

    def __init__(self, model: Any, processor: Any, *, max_tokens: int) -> None:
        self._model, self._processor = model, processor
        self.tokenizer, self.device = processor.tokenizer, model.device
        self.ends = [int(model.config.text_config.sep_token_id)]
        self.longest = int(model.config.text_config.max_position_embeddings) + max_tokens

    def read(self, question: Question) -> Prompt:
        tokens = len(self.tokenizer(question.prompt).input_ids)
        return Prompt(question, question.prompt, tokens, (tokens,))

    def write(self, prompts: Sequence[Prompt], settings: Mapping[str, Any]) -> torch.Tensor:
        words = self.tokenizer([one.text for one in prompts], return_tensors="pt", padding=True)
        images = [rgb(one.question) for one in prompts]
        pixels = self._processor.image_processor(images, return_tensors="pt").pixel_values
        # The same as its own generate(), which takes no settings for the end and the padding.
        image = self._model.vision_model(
            pixel_values=pixels.to(self.device, self._model.dtype)
        ).last_hidden_state
        lib = torch_support.import_library("torch")
        mask = words.attention_mask.to(self.device)
        question = self._model.text_encoder(
            input_ids=words.input_ids.to(self.device),
            attention_mask=mask,
            encoder_hidden_states=image,
            encoder_attention_mask=lib.ones(image.shape[:2], dtype=lib.long, device=self.device),
            return_dict=False,
        )[0]
        start = lib.full((len(prompts), 1), self._model.decoder_start_token_id, device=self.device)
        written: torch.Tensor = self._model.text_decoder.generate(
            input_ids=start,
            encoder_hidden_states=question,
            encoder_attention_mask=mask,
            pad_token_id=self._model.config.text_config.pad_token_id,
            **settings,
        )[:, 1:]
        return written


def check(recipe: DescriptionRecipe) -> None:
    """Raises BackendError for what BLIP cannot do with any weights."""
    options.refuse_server(recipe)
    options.parse(recipe.options, options.NoOptions)
    for wrong, cure in (
        (recipe.system, "system: BLIP knows no system message; leave system empty"),
        (not recipe.chat, "chat: BLIP answers questions and continues no text; leave chat on"),
    ):
        if wrong:
            raise BackendError(f"recipe: {cure}.")


def load(recipe: DescriptionRecipe, *, device: str = "") -> Answerer:
    """Raises BackendError as `check`, or if the libraries, the weights or the device are missing."""
    check(recipe)
    transformers = torch_support.import_library("transformers")
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    name = recipe.model or _MODEL
    model, processor, revision = weights.load_transformers(
        transformers.BlipForQuestionAnswering,
        transformers.BlipProcessor,
        model=name,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=torch_device,
    )
    about = torch_support.about(name, revision, torch_device, recipe.dtype, "torch", "transformers")
    blip = BlipForQuestions(model, processor, max_tokens=recipe.max_tokens)
    return WritingAnswerer(blip, recipe, about=about)
