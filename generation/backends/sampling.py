"""Choose each next token from numbers drawn beforehand, so that a caption depends on its image alone.

torch's own sampling draws for the whole batch from one generator: what a row gets would depend on its
neighbours. Here every row brings its own uniform numbers, one a token, and a token is found by inverting the
cumulative distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generation.backends import torch_support
from generation.backends.options import Sampling

if TYPE_CHECKING:
    import torch


class Picker:
    """Takes the tokens of all rows, step by step, and adds up how likely the model found them.

    `uniforms`: in [0, 1), shape (rows, steps). It is called as a logits processor of transformers, which sees
    a choice as a distribution with one token left; a loop of one's own calls `pick`.
    """

    def __init__(self, uniforms: torch.Tensor, sampling: Sampling, *, end: int) -> None:
        lib = torch_support.library("torch")
        self.rows, self.steps = uniforms.shape
        self._uniforms, self._sampling, self._end = uniforms, sampling, end
        self._step = 0
        self._total = lib.zeros(self.rows, device=uniforms.device)
        self._length = lib.zeros(self.rows, device=uniforms.device)
        self.done = lib.zeros(self.rows, dtype=lib.bool, device=uniforms.device)

    def __call__(self, tokens: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        only: torch.Tensor = torch_support.library("torch").full_like(scores, float("-inf"))
        return only.scatter_(1, self.pick(scores)[:, None], 0.0)

    def pick(self, scores: torch.Tensor) -> torch.Tensor:
        """The next token of each row, shape (rows,), from scores of shape (rows, vocabulary)."""
        asked = scores.device
        scores = scores.to(self._uniforms.device).float()
        chosen = pick(scores, self._uniforms[:, self._step], self._sampling)
        likely = scores.log_softmax(-1).gather(1, chosen[:, None])[:, 0]
        self._total += likely.masked_fill(self.done, 0.0)
        self._length += (~self.done).float()
        self.done = self.done | (chosen == self._end)
        self._step += 1
        return chosen.to(asked)

    def likelihoods(self) -> list[float]:
        """The mean log-probability of each row's tokens, without temperature: at most 0."""
        found: list[float] = (self._total / self._length.clamp(min=1)).tolist()
        return found


def pick(scores: torch.Tensor, uniforms: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """One token a row, shape (rows,), from `scores` (rows, vocabulary) and `uniforms` (rows,)."""
    if sampling.method == "greedy":
        return scores.argmax(-1)
    scores = scores / sampling.temperature
    if sampling.method == "top_k":
        ordered, tokens = scores.topk(min(sampling.top_k, scores.shape[-1]), dim=-1)
    else:
        ordered, tokens = scores.sort(dim=-1, descending=True, stable=True)
    # In float64, so that the order in which a GPU adds up moves no border that a number could fall on.
    odds = ordered.double().softmax(-1)
    reached = odds.cumsum(-1)
    if sampling.method == "top_p":
        odds = odds.masked_fill(reached - odds >= sampling.top_p, 0.0)
        reached = odds.cumsum(-1)
    place = (reached <= uniforms[:, None] * reached[:, -1:]).sum(-1, keepdim=True)
    # Rounding could lead past the last token that has a chance; and where nothing is a number, none has.
    last = (odds > 0).sum(-1, keepdim=True) - 1
    place = place.minimum(last).clamp(min=0)
    return tokens.gather(1, place)[:, 0]


def settings(picker: Picker) -> dict[str, Any]:
    """What transformers' generate() is told so that the picker, and nothing else, chooses: a model's own
    settings may ask for beams and other odds."""
    processors = torch_support.library("transformers").LogitsProcessorList([picker])
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


__all__ = ["Picker", "pick", "settings"]
