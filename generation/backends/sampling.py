"""Sample tokens from random numbers drawn beforehand, so that a caption depends on its image alone.

torch samples for the whole batch from one generator, so a row would depend on its neighbours. Here each row
has its own uniform numbers, one per token, and tokens are sampled by inverting the cumulative distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generation.backends import torch_support
from generation.backends.options import Sampling

if TYPE_CHECKING:
    import torch


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
