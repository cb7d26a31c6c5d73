"""How the intervals of agreement are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metrics.core.stats.bootstrap import generator


@dataclass(frozen=True)
class Draw:
    """Every comparison draws by itself, from the seed and its own name."""

    resamples: int
    seed: int

    def generator(self, *name: str) -> np.random.Generator:
        return generator(self.seed, "; ".join(name))
