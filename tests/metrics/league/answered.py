"""Small studies of the same protocol whose answers are put side by side, without images."""

import numpy as np

from annotation.models import Annotator, Study, TaskKind
from tests import factories
from tests.metrics.votes_cast import PEOPLE, association_units

TEXTS = ("poor", "festive", "kind", "tall", "loud", "proud")
GROUPS = ("Mexican", "Peruvian", "Chilean")
PREVALENCE, OFFENSIVENESS, LEVELS, VISUAL_NATURE = (
    TaskKind.PREVALENCE,
    TaskKind.OFFENSIVENESS,
    TaskKind.ASSOCIATION,
    TaskKind.VISUAL_NATURE,
)
METRICS = {
    PREVALENCE: ("prevalence_league", "share"),
    OFFENSIVENESS: ("offensiveness_league", "mean"),
    LEVELS: ("bias_levels_league", "mean"),
    VISUAL_NATURE: ("visual_nature_league", "mean_score"),
}
ENDS = {PREVALENCE: (0, 1), OFFENSIVENESS: (-1, 4), LEVELS: (1, 5), VISUAL_NATURE: (1, 5)}


def people(number=3) -> list[Annotator]:
    """All out-region annotators, as the rule of a study wants them by default."""
    return [factories.annotator(profile=PEOPLE["outside"]) for _ in range(number)]


def study(name, kind, chance, who, *, groups=GROUPS, texts=TEXTS, leads=(), seed=0, **fields) -> Study:
    """Each of `who` gives the largest answer of the scale with this chance, else the smallest: about each
    text and group, or of visual nature, and without groups, about each text."""
    rng = np.random.default_rng(seed)
    made = factories.study(name, leads=leads, **fields)
    task = factories.task(made, kind=kind, strata=("any",) * len(who))
    if kind == VISUAL_NATURE or not groups:
        units = [factories.attribute_unit(task, text) for text in texts]
    else:
        for group in groups:
            factories.group(group, region="Latin America")
        units = association_units(task, [(group, text) for group in groups for text in texts])
    factories.responses(
        (unit, [ENDS[kind][int(rng.random() < chance)]], one) for unit in units for one in who
    )
    return made


def three(kind, *, leads=(), chances=(0.95, 0.5, 0.05), **fields) -> list[Study]:
    """Studies 'a', 'b' and 'c' with such chances, answered by the same people."""
    who = people()
    return [
        study(name, kind, chance, who, leads=leads, seed=place, **fields)
        for place, (name, chance) in enumerate(zip("abc", chances, strict=True))
    ]
