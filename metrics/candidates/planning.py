"""Plan the askings for candidates (PROTOCOL §14). Planning only reads."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from annotation.models import Pool
from generation.plans import services as plans
from generation.plans.askings import Asking
from generation.plans.plan import Plan
from generation.recipes.askings import CompletionRecipe
from generation.recipes.limits import Limits
from metrics.candidates.evaluation import PURPOSE, CandidatesRefused, groups_of
from metrics.candidates.identity_forms import Group, IdentityForms
from metrics.candidates.prompts import Prompts, Seed
from metrics.candidates.queries import catalogue_seeds
from metrics.candidates.seeds import read_seeds

TIMES = 5
TEMPERATURE = 0.5


@dataclass(frozen=True)
class CandidateAskings:
    """One asking for each prompt. `recipe.times` says how often each is made."""

    prompts: Prompts

    def __len__(self) -> int:
        return len(self.prompts)

    def __iter__(self) -> Iterator[Asking]:
        return (Asking(key=prompt.key, prompt=prompt.text) for prompt in self.prompts)


def find_seeds(
    given: str | Path,
    *,
    axis: str,
    threshold: int = 2,
    pool: str = Pool.IN_REGION,
    number: int | None = None,
    seed: int = 0,
) -> list[Seed]:
    """Seeds from a CSV file or, if there is no such file, from the catalogue's source of that name.

    `number`, `seed`, `threshold`, `pool`: of a source. Raises FileRefused or CandidatesRefused.
    """
    if isinstance(given, Path) or Path(given).exists() or Path(given).suffix:
        return read_seeds(Path(given), IdentityForms(_groups(axis)))
    return catalogue_seeds(source=given, axis=axis, threshold=threshold, pool=pool, number=number, seed=seed)


def _groups(axis: str) -> list[Group]:
    groups = groups_of(axis)
    if not groups:
        raise CandidatesRefused(
            f"The catalogue has no identity groups of the axis '{axis}', so no seed can be matched: import "
            "associations first (manage.py import_seegull), or choose another axis."
        )
    return groups


def plan_candidates(
    *, recipe: CompletionRecipe, name: str, axis: str, prompts: Prompts, limits: Limits | None = None
) -> Plan:
    """Plan a run, called `name`, that asks each prompt `recipe.times` times. Its design has everything that
    the prompts were made of. Raises PlanRefused with the cure."""
    design = {
        "purpose": PURPOSE,
        "axis": axis,
        "variant": prompts.variant.value,
        "n": prompts.n,
        "sample": prompts.sample,
        "sample_seed": prompts.sample_seed,
        "seeds": [[seed.identity, seed.attribute] for seed in prompts.seeds],
    }
    return plans.plan_askings(
        recipe=replace(recipe, design=design), name=name, askings=CandidateAskings(prompts), limits=limits
    )
