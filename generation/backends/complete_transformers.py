"""A language model of transformers in the worker's process, by hub id or local folder (AutoModelForCausalLM).

With `chat` a prompt is a message in the model's own chat template; else the model continues it. It has no
options. The model's own settings of sampling do not apply: the recipe's do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from generation.backends import torch_support
from generation.backends.base import Answerer, Question, Refused
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
from generation.recipes.askings import CompletionRecipe

if TYPE_CHECKING:
    import torch

_CONTEXT = 32  # of a prompt's last tokens, before the first word of its continuation


class LanguageModel(WritingModel):
    def __init__(self, model: Any, tokenizer: Any, recipe: CompletionRecipe) -> None:
        self._model, self._recipe = model, recipe
        self.tokenizer, self.device = tokenizer, model.device
        self.ends = only_our_settings(model, tokenizer)
        self.longest = longest_of(model)

    def read(self, question: Question) -> Prompt:
        text = question.prompt
        if self._recipe.chat:
            system = [{"role": "system", "content": self._recipe.system}] if self._recipe.system else []
            messages = [*system, {"role": "user", "content": text}]
            text = chat_text(self.tokenizer, messages, self._recipe.model)
        tokens = self._tokens(text)
        if not tokens:
            raise Refused("The prompt is empty. Write what the model shall continue.")
        return Prompt(question, text, len(tokens), (len(tokens),))

    def write(self, prompts: Sequence[Prompt], settings: Mapping[str, Any]) -> torch.Tensor:
        lib = torch_support.import_library("torch")
        width = max(prompt.tokens for prompt in prompts)
        pad = self.tokenizer.pad_token_id
        rows = [[pad] * (width - one.tokens) + self._tokens(one.text) for one in prompts]
        mask = [[0] * (width - one.tokens) + [1] * one.tokens for one in prompts]
        written: torch.Tensor = self._model.generate(
            input_ids=lib.tensor(rows, device=self.device),
            attention_mask=lib.tensor(mask, device=self.device),
            pad_token_id=pad,
            **settings,
        )[:, width:]
        return written

    def prompt_text_tokens(self, prompt: Prompt) -> list[int]:
        return [] if self._recipe.chat else self._tokens(prompt.text)[-_CONTEXT:]

    def _tokens(self, text: str) -> list[int]:
        """A chat template writes its special tokens itself."""
        found: list[int] = self.tokenizer(text, add_special_tokens=not self._recipe.chat).input_ids
        return found


def load(recipe: CompletionRecipe, *, device: str = "") -> Answerer:
    """Raises BackendError as `check`, if the libraries, the weights or the device are missing, or if the
    recipe wants chat and the model has no chat template."""
    check(recipe)
    model, tokenizer, recipe, about = load_model(
        recipe, model="AutoModelForCausalLM", reader="AutoTokenizer", device=device
    )
    written = LanguageModel(model, tokenizer, recipe)
    if recipe.chat:
        written.read(Question("a photo of a person", 0))  # a template that refuses is one error now
    return WritingAnswerer(written, recipe, about=about)
