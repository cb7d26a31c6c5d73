"""The limits of a run on tokens and cost: claim no asking that could exceed them.

The limits are read again for each claim, since they may be changed while the run is running.
"""

from __future__ import annotations

import math
from functools import cached_property

from django.db.models import Max
from django.db.models.functions import Length

from annotation.core.leases import JobState
from generation.models import Job, Run
from generation.recipes import limits
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import Recipe

_TEMPLATE_TOKENS = 50  # what a chat template adds
_IMAGE_TOKENS = 2000


class Budget:
    """What one asking may take at most decides how many may be in flight."""

    def __init__(self, run_id: int, recipe: CompletionRecipe | DescriptionRecipe) -> None:
        self._run_id, self._recipe = run_id, recipe

    @classmethod
    def of(cls, run: Run, recipe: Recipe) -> Budget | None:
        """The budget of a run; None if it cannot be limited."""
        return cls(run.pk, recipe) if isinstance(recipe, CompletionRecipe | DescriptionRecipe) else None

    def is_limited(self) -> bool:
        """Whether the run has a limit now."""
        stored = Run.objects.filter(pk=self._run_id).values_list("limits", flat=True).first() or {}
        return "tokens" in stored or "cost" in stored

    def room(self, run: Run) -> int:
        """How many askings more may be in flight; those that workers hold are counted at their most."""
        held = Job.objects.filter(run=run, state=JobState.CLAIMED).count()
        return max(0, self._left(run) - held)

    def exhausted(self, run: Run) -> str:
        """Why no further asking may be made, if none is in flight; empty if one may."""
        if self._left(run) >= 1:
            return ""
        found = limits.from_json(run.limits)
        used = run.tokens_in + run.tokens_out
        each = self._most_in + self._recipe.max_tokens
        if found.tokens is not None and used + each > found.tokens:
            what = (
                f"{used:,} of at most {found.tokens:,} tokens are used, and one more asking may take "
                f"up to {each:,}"
            )
        else:
            spent = found.price(run.tokens_in, run.tokens_out) or 0.0
            dear = found.price(self._most_in, self._recipe.max_tokens)
            what = (
                f"{spent:.4g} of at most {found.cost:g} is spent, and one more asking may cost up to "
                f"{dear:.2g}"
            )
        return f"The run has reached its limit: {what}. Raise the limit, then resume the run."

    @cached_property
    def _most_in(self) -> int:
        """Tokens of one prompt at most; a token has at least one character."""
        longest = Job.objects.filter(run=self._run_id).aggregate(most=Max(Length("prompt")))["most"] or 0
        image = _IMAGE_TOKENS if isinstance(self._recipe, DescriptionRecipe) else 0
        return longest + len(self._recipe.system) + _TEMPLATE_TOKENS + image

    def _left(self, run: Run) -> int:
        found = limits.from_json(run.limits)
        left = math.inf
        if found.tokens is not None:
            used = run.tokens_in + run.tokens_out
            left = min(left, (found.tokens - used) // (self._most_in + self._recipe.max_tokens))
        if found.cost is not None:
            each = found.price(self._most_in, self._recipe.max_tokens)
            if each:
                spent = found.price(run.tokens_in, run.tokens_out) or 0.0
                left = min(left, (found.cost - spent) // each)
        return int(min(left, 2**31))
