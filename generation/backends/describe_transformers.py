"""A vision-language model of transformers in the worker's process, by hub id or folder (LLaVA, SmolVLM ...).

Loaded with AutoModelForImageTextToText. With `chat` a message holds the image and the prompt, in the model's
own chat template; else the model continues the prompt, which follows the image. It has no options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from generation.backends.base import Answerer, BackendError, Question
from generation.backends.written_answers import (
    Prompt,
    WritingAnswerer,
    WritingModel,
    chat_text,
    load_model,
    longest_of,
    only_our_settings,
)
from generation.backends.written_answers import check_recipe as check
from generation.recipes.askings import DescriptionRecipe

if TYPE_CHECKING:
    import torch


class VisionLanguageModel(WritingModel):
    def __init__(self, model: Any, processor: Any, recipe: DescriptionRecipe) -> None:
        self._model, self._processor, self._recipe = model, processor, recipe
        self.tokenizer, self.device = processor.tokenizer, model.device
        self.tokenizer.padding_side = "left"
        self.ends = only_our_settings(model, self.tokenizer)
        self.longest = longest_of(model)

    def read(self, question: Question) -> Prompt:
        """The image's own tokens count: processors write one or more in place of the image's mark."""
        text = self.text_of(question.prompt)
        image = rgb(question)
        tokens = self._inputs([text], [image])["input_ids"].shape[1]
        return Prompt(question, text, tokens, (tokens, *image.size))

    def text_of(self, prompt: str) -> str:
        if not self._recipe.chat:
            mark = getattr(self._processor, "image_token", None)
            return prompt if mark is None or mark in prompt else f"{mark}{prompt}"
        parts = [{"type": "image"}, {"type": "text", "text": prompt}]
        system = self._recipe.system
        before = [{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []
        return chat_text(self._processor, [*before, {"role": "user", "content": parts}], self._recipe.model)

    def write(self, prompts: Sequence[Prompt], settings: Mapping[str, Any]) -> torch.Tensor:
        inputs = self._inputs([one.text for one in prompts], [rgb(one.question) for one in prompts])
        inputs = inputs.to(self.device, self._model.dtype)
        width = inputs["input_ids"].shape[1]
        written: torch.Tensor = self._model.generate(
            **inputs, pad_token_id=self.tokenizer.pad_token_id, **settings
        )[:, width:]
        return written

    def _inputs(self, texts: list[str], images: list[Any]) -> Any:
        return self._processor(
            text=texts,
            images=[[image] for image in images],
            return_tensors="pt",
            padding=True,
            add_special_tokens=not self._recipe.chat,
        )


def rgb(question: Question) -> Any:
    """The question's image. Raises BackendError if it has none."""
    if question.image is None:
        raise BackendError("A description needs an image: ask about images, or plan completions.")
    return question.image.convert("RGB")


def load(recipe: DescriptionRecipe, *, device: str = "") -> Answerer:
    """As complete_transformers.load."""
    check(recipe)
    model, processor, recipe, about = load_model(
        recipe, model="AutoModelForImageTextToText", reader="AutoProcessor", device=device
    )
    written = VisionLanguageModel(model, processor, recipe)
    written.text_of("a photo of a person")  # a template that refuses is one error now
    return WritingAnswerer(written, recipe, about=about)
