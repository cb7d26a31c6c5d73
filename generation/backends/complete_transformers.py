"""A language model of transformers in the worker's process, by hub id or local folder (AutoModelForCausalLM).

With `chat` a prompt is a message in the model's own chat template; else the model continues it. It has no
options. The model's own settings of sampling do not apply: the recipe's do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from generation.backends import options, torch_support, weights
from generation.backends.base import Answerer, BackendError, Question, Refused
from generation.backends.written_answers import (
    Prompt,
    WritingAnswerer,
    WritingModel,
    chat_text,
    longest_of,
    only_our_settings,
)
from generation.recipes.askings import CompletionRecipe

if TYPE_CHECKING:
    import torch

_CONTEXT = 32  # of a prompt's last tokens, before the first word of its continuation


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """It has none."""


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


def check(recipe: CompletionRecipe) -> None:
    """Raises BackendError for what no model could do."""
    refuse_server(recipe)
    options.parse(recipe.options, NoOptions)


def refuse_server(recipe: Any) -> None:
    """Raise BackendError for a recipe of a model in this process that names a server, or no model."""
    if recipe.server:
        raise BackendError("recipe: server: only the backend openai asks a server; leave server empty.")
    if not recipe.model.strip():
        raise BackendError("recipe: model: give a hub id or a local folder.")


def load(recipe: CompletionRecipe, *, device: str = "") -> Answerer:
    """Raises BackendError as `check`, if the libraries, the weights or the device are missing, or if the
    recipe wants chat and the model has no chat template."""
    check(recipe)
    transformers = torch_support.import_library("transformers")
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    model, tokenizer, revision = weights.load_transformers(
        transformers.AutoModelForCausalLM,
        transformers.AutoTokenizer,
        model=recipe.model,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=torch_device,
    )
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, "torch", "transformers")
    written = LanguageModel(model, tokenizer, recipe)
    if recipe.chat:
        written.read(Question("a photo of a person", 0))  # a template that refuses is one error now
    return WritingAnswerer(written, recipe, about=about)
