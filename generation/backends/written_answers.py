"""Shared by the models that write answers in this process: batches, sampling, ends.

**An answer does not depend on its batch.** Each question has its own random numbers, from its seed, and the
batches of a repeatable recipe have one size (`FullBatches`) and prompts of one length: nothing is padded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from generation.backends import options, sampling, torch_support, weights
from generation.backends.base import About, BackendError, Question, Refused, Reply
from generation.backends.sampling import Picker, Sampling
from generation.backends.torch_support import FullBatches, padded_batches
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe

if TYPE_CHECKING:
    import torch

_ROWS_PER_GIB = 0.5  # answers in one batch per GiB of the device's memory
_MOST_ROWS = 64
_MORE_TOKENS = 8  # than a stop text has bytes, in which it is looked for
AnswerRecipe = CompletionRecipe | DescriptionRecipe
R = TypeVar("R", CompletionRecipe, DescriptionRecipe)


@dataclass(frozen=True)
class Prompt:
    """A question as a model reads it. `text`: with its chat template; `tokens`: its length; `shape`: prompts
    of the same shape can be in one batch without padding."""

    question: Question
    text: str
    tokens: int
    shape: tuple[int, ...]


class WritingModel:
    """A language model or vision-language model on its `device`. `ends`: the tokens that end an answer.
    `longest`: prompt and answer together, None if there is no limit. `pads`: it can read prompts of several
    lengths at once."""

    device: torch.device
    tokenizer: Any
    ends: list[int]
    longest: int | None = None
    pads = True

    def read(self, question: Question) -> Prompt:
        """Raises Refused."""
        raise NotImplementedError

    def write(self, prompts: Sequence[Prompt], settings: Mapping[str, Any]) -> torch.Tensor:
        """The tokens that the model writes after each prompt, shape (prompts, tokens)."""
        raise NotImplementedError

    def prompt_text_tokens(self, prompt: Prompt) -> list[int]:
        """The end of what the answer continues, since the first word's space depends on it."""
        return []


class WritingAnswerer(FullBatches):
    """An Answerer around a model that is on its device."""

    def __init__(self, model: WritingModel, recipe: AnswerRecipe, *, about: About) -> None:
        self._model, self._recipe = model, recipe
        self._sampling = (
            Sampling(method="top_p", top_p=recipe.top_p, temperature=recipe.temperature)
            if recipe.temperature
            else Sampling(method="greedy")
        )
        batch = torch_support.fitting_batch(model.device, per_gib=_ROWS_PER_GIB, most=_MOST_ROWS)
        super().__init__(about, batch, full=recipe.repeatable)

    def answer(self, questions: Sequence[Question]) -> list[Reply]:
        """As Answerer. Raises Refused for a question that is longer than the model can read."""
        prompts = [self._read(question) for question in questions]
        shapes = [one.shape for one in prompts]
        replies: dict[int, Reply] = {}
        with self.halved_when_full(), torch_support.import_library("torch").inference_mode():
            for indexes, real in batches_by_shape(shapes, self, pads=self._model.pads):
                written = self._write([prompts[index] for index in indexes])
                replies.update(zip(indexes[:real], written[:real], strict=True))
        return [replies[index] for index in range(len(questions))]

    def _read(self, question: Question) -> Prompt:
        prompt = self._model.read(question)
        longest = self._model.longest
        if longest is not None and prompt.tokens + self._recipe.max_tokens > longest:
            raise Refused(
                f"The prompt has {prompt.tokens} tokens, with max_tokens {self._recipe.max_tokens} more "
                f"than the {longest} of this model. Shorten the prompt, or choose fewer max_tokens."
            )
        return prompt

    def _write(self, prompts: Sequence[Prompt]) -> list[Reply]:
        torch = torch_support.import_library("torch")
        steps = self._recipe.max_tokens
        numbers = [np.random.default_rng(one.question.seed).random(steps) for one in prompts]
        uniforms = torch.from_numpy(np.stack(numbers))
        if self._model.device.type != "mps":  # Apple's GPUs have no float64, so the CPU picks the tokens
            uniforms = uniforms.to(self._model.device)
        picker = Picker(uniforms, self._sampling, end=self._model.ends[0] if self._model.ends else -1)
        stops = _StopTexts(self._model.tokenizer, self._recipe.stop, rows=len(prompts))
        settings = {
            **sampling.generate_settings(picker),
            "stopping_criteria": stops.criteria(),
            "eos_token_id": self._model.ends or None,
        }
        rows = self._model.write(prompts, settings).tolist()
        if any(number != number for number in picker.likelihoods()):
            raise BackendError("The model returned NaN. Choose dtype float32 or bfloat16.")
        return [
            self._reply(prompt, row[: length or None], stopped=length > 0)
            for prompt, row, length in zip(prompts, rows, stops.lengths, strict=True)
        ]

    def _reply(self, prompt: Prompt, row: list[int], *, stopped: bool) -> Reply:
        """`row`: up to the stop text if it `stopped` there; else with padding after the end."""
        model = self._model
        end = next((place for place, token in enumerate(row) if token in model.ends), None)
        kept = row if end is None else row[:end]
        text = _decoded(model.tokenizer, model.prompt_text_tokens(prompt), kept)
        found = [text.index(stop) for stop in self._recipe.stop if stop in text]
        ended = "stop" if stopped or found or end is not None else "length"
        return Reply(
            text[: min(found)] if found else text, ended, prompt.tokens, len(kept) + (end is not None)
        )


def batches_by_shape(
    shapes: Sequence[tuple[int, ...]], model: FullBatches, *, pads: bool = True
) -> Iterator[tuple[list[int], int]]:
    """Indexes of `shapes` in batches, each with its number of real items, as `padded_batches`: of one size
    if the model's batches are full, and of one shape, unless they need not be full and the model `pads`."""
    order = sorted(range(len(shapes)), key=lambda index: shapes[index])
    mixed = pads and not model.full
    for _, group in itertools.groupby(order, key=lambda index: () if mixed else shapes[index]):
        indexes = list(group)
        yield from padded_batches(indexes, model.batch_for(len(indexes)))


class _StopTexts:
    """Ends a row as soon as it has a stop text. `lengths`: the row's tokens then, 0 if it has none."""

    def __init__(self, tokenizer: Any, texts: Sequence[str], *, rows: int) -> None:
        self._tokenizer, self._texts = tokenizer, texts
        self._window = max((len(text.encode()) for text in texts), default=0) + _MORE_TOKENS
        self._steps = 0
        self.lengths = [0] * rows

    def criteria(self) -> Any:
        return torch_support.import_library("transformers").StoppingCriteriaList(
            [self] if self._texts else []
        )

    def __call__(self, tokens: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        self._steps += 1
        newest = tokens[:, -min(self._steps, self._window) :].tolist()
        for row, ids in enumerate(newest):
            if not self.lengths[row]:
                text = _decoded(self._tokenizer, [], ids)
                if any(stop in text for stop in self._texts):
                    self.lengths[row] = self._steps
        torch = torch_support.import_library("torch")
        return torch.tensor([length > 0 for length in self.lengths], device=tokens.device)  # type: ignore[no-any-return]


def _decoded(tokenizer: Any, before: list[int], written: list[int]) -> str:
    settings = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    start, whole = (str(tokenizer.decode(ids, **settings)) for ids in (before, [*before, *written]))
    return (
        whole.removeprefix(start) if whole.startswith(start) else str(tokenizer.decode(written, **settings))
    )


def check_recipe(recipe: AnswerRecipe) -> None:
    """Raises BackendError for what no model of transformers could do."""
    options.refuse_server(recipe)
    options.require_model(recipe)
    options.parse(recipe.options, options.NoOptions)


def load_model(recipe: R, *, model: str, reader: str, device: str) -> tuple[Any, Any, R, About]:
    """The model of a recipe, by transformers' class `model`, with its tokenizer or processor, by the class
    `reader`; the recipe with the number type that is used, and what was loaded. Raises BackendError."""
    transformers = torch_support.import_library("transformers")
    torch_device = torch_support.choose_device(device)
    recipe = torch_support.settle(recipe, torch_device)
    loaded, read_by, revision = weights.load_transformers(
        getattr(transformers, model),
        getattr(transformers, reader),
        model=recipe.model,
        revision=recipe.revision,
        dtype=recipe.dtype,
        device=torch_device,
    )
    about = torch_support.about(recipe.model, revision, torch_device, recipe.dtype, "torch", "transformers")
    return loaded, read_by, recipe, about


def only_our_settings(model: Any, tokenizer: Any) -> list[int]:
    """Forget the model's own settings of sampling, penalties and lengths, since the recipe has them. Returns
    the tokens that end an answer."""
    transformers = torch_support.import_library("transformers")
    own = getattr(model.generation_config, "eos_token_id", None)
    ends = own if isinstance(own, list) else [own]
    found = [int(end) for end in dict.fromkeys([*ends, tokenizer.eos_token_id]) if end is not None]
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = found[0] if found else 0
    starts = {
        name: getattr(model.generation_config, name, None)
        for name in ("bos_token_id", "decoder_start_token_id")
    }
    model.generation_config = transformers.GenerationConfig(pad_token_id=tokenizer.pad_token_id, **starts)
    return found


def longest_of(model: Any) -> int | None:
    """The most tokens that a model can read and write together; None if it has no such limit."""
    longest = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return longest if isinstance(longest, int) and longest > 0 else None


def chat_text(template_of: Any, messages: list[dict[str, Any]], model: str) -> str:
    """`messages` in the chat template of a tokenizer or processor. Raises BackendError."""
    if getattr(template_of, "chat_template", None) is None:
        raise BackendError(
            f"'{model}' has no chat template: it continues texts and was not tuned to answer. Choose "
            "a recipe without chat, or a model that was tuned for chat."
        )
    try:
        return str(template_of.apply_chat_template(messages, add_generation_prompt=True, tokenize=False))
    except Exception as error:  # templates raise Jinja's errors, and their own
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        cure = "Leave system empty." if messages[0]["role"] == "system" else "Choose a recipe without chat."
        raise BackendError(f"The chat template of '{model}' refuses this ({cause}). {cure}") from error
