"""The limits of a run on tokens and cost: claim no asking that could exceed them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.db.models import Max
from django.db.models.functions import Length

from annotation.core.leases import JobState
from generation.models import Job, Run
from generation.recipes import limits
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.limits import Limits
from generation.recipes.recipes import Recipe

_TEMPLATE_TOKENS = 50  # what a chat template adds
_IMAGE_TOKENS = 2000


@dataclass(frozen=True)
class Budget:
    """`most_in`, `most_out`: tokens of one asking at most; a token has at least one character."""

    limits: Limits
    most_in: int
    most_out: int

    @classmethod
    def of(cls, run: Run, recipe: Recipe) -> Budget | None:
        """The budget of a run; None if nothing limits it."""
        found = limits.from_json(run.limits)
        if not isinstance(recipe, CompletionRecipe | DescriptionRecipe) or (
            found.tokens is None and found.cost is None
        ):
            return None
        longest = Job.objects.filter(run=run).aggregate(most=Max(Length("prompt")))["most"] or 0
        image = _IMAGE_TOKENS if isinstance(recipe, DescriptionRecipe) else 0
        most_in = longest + len(recipe.system) + _TEMPLATE_TOKENS + image
        return cls(found, most_in, recipe.max_tokens)

    def room(self, run: Run) -> int:
        """How many askings more may be in flight; those that workers hold are counted at their most."""
        held = Job.objects.filter(run=run, state=JobState.CLAIMED).count()
        return max(0, self._left(run) - held)

    def exhausted(self, run: Run) -> str:
        """Why no further asking may be made, if none is in flight; empty if one may."""
        if self._left(run) >= 1:
            return ""
        used = run.tokens_in + run.tokens_out
        each = self.most_in + self.most_out
        if self.limits.tokens is not None and used + each > self.limits.tokens:
            what = (
                f"{used:,} of at most {self.limits.tokens:,} tokens are used, and one more asking may take "
                f"up to {each:,}"
            )
        else:
            spent, dear = self._price(run), self.limits.price(self.most_in, self.most_out)
            what = (
                f"{spent:.4g} of at most {self.limits.cost:g} is spent, and one more asking may cost up to "
                f"{dear:.2g}"
            )
        return f"The run has reached its limit: {what}. Raise the limit, then resume the run."

    def _left(self, run: Run) -> int:
        left = math.inf
        if self.limits.tokens is not None:
            used = run.tokens_in + run.tokens_out
            left = min(left, (self.limits.tokens - used) // (self.most_in + self.most_out))
        if self.limits.cost is not None:
            each = self.limits.price(self.most_in, self.most_out)
            if each:
                left = min(left, (self.limits.cost - self._price(run)) // each)
        return int(min(left, 2**31))

    def _price(self, run: Run) -> float:
        return self.limits.price(run.tokens_in, run.tokens_out) or 0.0
