"""Sample tokens from random numbers drawn beforehand, so that a caption depends on its image alone.

Each row has its own uniform numbers, one per token: the cumulative distribution is inverted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from generation.backends import options, torch_support
from generation.backends.options import require
from generation.recipes.recipes import CaptionRecipe

if TYPE_CHECKING:
    import torch

METHODS = ("greedy", "top_k", "top_p")


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the tokens of a caption are chosen. `method`: greedy takes the likeliest token; top_k samples from
    the `top_k` likeliest, top_p from the fewest that together reach `top_p` (Holtzman et al. 2020).
    `temperature` flattens (> 1) or sharpens (< 1) the distribution. `max_tokens`: maximum length of a
    caption. `candidates`: sampled per image before the best are kept; 0 means four per requested caption.
    """

    method: str = "top_p"
    top_k: int = 50
    top_p: float = 0.9
    temperature: float = 1.0
    max_tokens: int = 30
    candidates: int = 0

    def check(self, count: int) -> None:
        """Raises BackendError."""
        require(self.method in METHODS, "method", f"choose one of {', '.join(METHODS)}")
        require(1 <= self.top_k <= 1000, "top_k", "choose 1 to 1000")
        require(0 < self.top_p <= 1, "top_p", "choose more than 0 and at most 1")
        require(0 < self.temperature <= 10, "temperature", "choose more than 0 and at most 10")
        require(2 <= self.max_tokens <= 500, "max_tokens", "choose 2 to 500")
        require(
            self.method != "greedy" or count == 1,
            "method",
            f"greedy writes one caption per image, and count is {count}: choose top_p, or count 1",
        )
        require(
            self.candidates == 0 or count <= self.candidates <= 10_000,
            "candidates",
            f"choose {count} (the number of captions) to 10000, or 0 for four times that number",
        )

    def candidates_per_round(self, count: int) -> int:
        """How many candidates are sampled per image in one round."""
        return 1 if self.method == "greedy" else self.candidates or 4 * count


Options = TypeVar("Options", bound=Sampling)


def parse_options(recipe: CaptionRecipe, kind: type[Options]) -> Options:
    """The recipe's options as `kind`, with its defaults for missing ones. Raises BackendError."""
    parsed = options.parse(recipe.options, kind)
    parsed.check(recipe.count)
    return parsed


class Picker:
    """Picks the tokens of all rows, step by step, and sums up their log-probabilities.

    `uniforms`: in [0, 1), shape (rows, steps). It can be called as a logits processor of transformers, which
    gets a distribution with one token left; other loops call `pick`.
    """

    def __init__(self, uniforms: torch.Tensor, sampling: Sampling, *, end: int) -> None:
        lib = torch_support.import_library("torch")
        self.rows, self.steps = uniforms.shape
        self._uniforms, self._sampling, self._end = uniforms, sampling, end
        self._step = 0
        self._total = lib.zeros(self.rows, device=uniforms.device)
        self._length = lib.zeros(self.rows, device=uniforms.device)
        self.done = lib.zeros(self.rows, dtype=lib.bool, device=uniforms.device)

    def __call__(self, tokens: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        only: torch.Tensor = torch_support.import_library("torch").full_like(scores, float("-inf"))
        return only.scatter_(1, self.pick(scores)[:, None], 0.0)

    def pick(self, scores: torch.Tensor) -> torch.Tensor:
        """The next token of each row, shape (rows,), from scores of shape (rows, vocabulary)."""
        device = scores.device
        scores = scores.to(self._uniforms.device).float()
        chosen = pick(scores, self._uniforms[:, self._step], self._sampling)
        likely = scores.log_softmax(-1).gather(1, chosen[:, None])[:, 0]
        self._total += likely.masked_fill(self.done, 0.0)
        self._length += (~self.done).float()
        self.done = self.done | (chosen == self._end)
        self._step += 1
        return chosen.to(device)

    def likelihoods(self) -> list[float]:
        """The mean log-probability of each row's tokens, without temperature; at most 0."""
        found: list[float] = (self._total / self._length.clamp(min=1)).tolist()
        return found


def pick(scores: torch.Tensor, uniforms: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """One token per row, shape (rows,), from `scores` (rows, vocabulary) and `uniforms` (rows,)."""
    if sampling.method == "greedy":
        return scores.argmax(-1)
    scores = scores / sampling.temperature
    if sampling.method == "top_k":
        ordered, tokens = scores.topk(min(sampling.top_k, scores.shape[-1]), dim=-1)
    else:
        ordered, tokens = scores.sort(dim=-1, descending=True, stable=True)
    # float64, so that a GPU's order of summation does not change which token a number falls on.
    odds = ordered.double().softmax(-1)
    reached = odds.cumsum(-1)
    if sampling.method == "top_p":
        odds = odds.masked_fill(reached - odds >= sampling.top_p, 0.0)
        reached = odds.cumsum(-1)
    place = (reached <= uniforms[:, None] * reached[:, -1:]).sum(-1, keepdim=True)
    # Rounding could lead past the last possible token; if all scores are NaN, no token is possible.
    last = (odds > 0).sum(-1, keepdim=True) - 1
    place = place.minimum(last).clamp(min=0)
    return tokens.gather(1, place)[:, 0]


def generate_settings(picker: Picker) -> dict[str, Any]:
    """Arguments for transformers' generate() so that only the picker chooses tokens, whatever the model's own
    settings are."""
    processors = torch_support.import_library("transformers").LogitsProcessorList([picker])
    return {
        "logits_processor": processors,
        "do_sample": True,
        "num_beams": 1,
        "num_return_sequences": 1,
        "early_stopping": False,
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "max_new_tokens": picker.steps,
        "max_length": None,
    }
