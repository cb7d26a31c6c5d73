"""Plan a run that asks an inference model about a source's associations (PROTOCOL §15). Only reads."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotation.models import Pool, Source
from generation.backends import classify_vader
from generation.plans.askings import Asking
from generation.plans.errors import PlanRefused
from generation.plans.plan import Plan
from generation.plans.services import plan_askings
from generation.recipes.askings import ClassificationRecipe
from generation.recipes.recipes import digest
from metrics.inference.data import PURPOSE, GroupRef, SourceAssociations, read_associations
from metrics.inference.drawing import RANDOM, GroupName, draw_random, draw_stereotypes
from metrics.inference.labels import ENTAILMENT, LabelsRefused, recognise
from metrics.inference.sentences import OBJECTS, VERBS, WordsRefused, check_words, sentence_pairs

LABELS_OF: Mapping[str, tuple[str, ...]] = {"vader": classify_vader.LABELS}
"""The backends that have no entailment, and the labels that they always answer with."""
THRESHOLD = 2
"""Votes for a validated stereotype, of three."""
_MOST_NAME = 80


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is asked. `threshold`: how many annotators of `pool` must have said Stereotypical; 0 takes every
    association. `baseline`: "" or RANDOM, which adds a random pair for each group."""

    source: Source
    threshold: int = THRESHOLD
    pool: str = Pool.IN_REGION.value
    seed: int = 0
    baseline: str = ""
    verbs: Sequence[str] = VERBS
    objects: Sequence[str] = OBJECTS


@dataclass(frozen=True)
class DrawnPair:
    """The attribute that stands for a group in `source`, which has the place `place` in the run."""

    place: int
    source: str
    group: GroupRef
    attribute_id: int
    attribute: str


class PairAskings:
    """A pair of sentences for each drawn pair, verb and object, made one by one."""

    def __init__(self, drawn: Sequence[DrawnPair], verbs: Sequence[str], objects: Sequence[str]) -> None:
        self.drawn, self.verbs, self.objects = drawn, verbs, objects

    def __len__(self) -> int:
        return len(self.drawn) * len(self.verbs) * len(self.objects)

    def __iter__(self) -> Iterator[Asking]:
        for each in self.drawn:
            for pair in sentence_pairs(
                each.attribute, each.group.identity, verbs=self.verbs, objects=self.objects
            ):
                yield Asking(
                    key=pair_key(each.place, each.group.pk, each.attribute_id, pair.verb, pair.object),
                    prompt=pair.premise,
                    text_pair=pair.hypothesis,
                    group_id=each.group.pk,
                    attribute_id=each.attribute_id,
                )


def pair_key(source: int, group: int, attribute: int, verb: int, thing: int) -> str:
    """The key of an asking: the places of source, verb and object in the run's design, and two ids."""
    return f"{source}.{group}.{attribute}.{verb}.{thing}"


def plan_inference(*, recipe: ClassificationRecipe, choice: Choice, name: str = "") -> Plan:
    """Plan the classifications. `name` "": from the source, the model and what is drawn, so that the same
    choice gives the same run. Raises PlanRefused, which says what to choose instead."""
    verbs, objects = _words(choice)
    if labels := recipe.labels or LABELS_OF.get(recipe.backend):
        try:
            recognise(labels)
        except LabelsRefused as error:
            raise PlanRefused(str(error)) from error
    found = read_associations(choice.source, threshold=choice.threshold, pool=choice.pool)
    drawn, notes = _draw(choice, found)
    design = {
        "purpose": PURPOSE,
        "sources": [choice.source.name, *([RANDOM] if choice.baseline else [])],
        "threshold": choice.threshold,
        "pool": choice.pool,
        "seed": choice.seed,
        "verbs": list(verbs),
        "objects": list(objects),
        # A worker refuses a model without it before it asks anything.
        "needs_labels": [ENTAILMENT],
        # A group has one attribute in a run: what is drawn from other associations is another run.
        "drawn": _digest(drawn),
    }
    recipe = replace(recipe, design=design)
    return plan_askings(
        recipe=recipe,
        name=name or _default_name(choice.source, recipe),
        askings=PairAskings(drawn, verbs, objects),
        notes=notes,
    )


def _words(choice: Choice) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        return check_words("verbs", choice.verbs), check_words("objects", choice.objects)
    except WordsRefused as error:
        raise PlanRefused(str(error)) from error


def _draw(choice: Choice, found: SourceAssociations) -> tuple[list[DrawnPair], tuple[str, ...]]:
    if choice.source.name == RANDOM and choice.baseline:
        raise PlanRefused(
            _("The source is called 'random', like the baseline. Ask without the baseline, or rename it.")
        )
    if not found.groups:
        raise PlanRefused(
            _("The source '%(source)s' has no associations. Import some first.")
            % {"source": choice.source.name}
        )
    if not found.stereotypes:
        raise PlanRefused(
            _(
                "No association of '%(source)s' has %(threshold)d %(pool)s votes. Lower the threshold; 0 "
                "takes every association, also those without votes."
            )
            % {
                "source": choice.source.name,
                "threshold": choice.threshold,
                "pool": Pool(choice.pool).label,
            }
        )
    notes = []
    if without := len(found.groups) - len(found.stereotypes):
        notes.append(
            _("Groups without a validated stereotype, which are left out: %(number)d.") % {"number": without}
        )
    lots: list[Mapping[GroupName, str]] = [draw_stereotypes(found.stereotypes, seed=choice.seed)]
    if choice.baseline:
        lots.append(draw_random(found.stereotypes, found.associated, seed=choice.seed))
        if without := len(lots[0]) - len(lots[1]):
            notes.append(
                _("Groups that are associated with every attribute, and have no random pair: %(number)d.")
                % {"number": without}
            )
    drawn = [
        DrawnPair(
            place, (choice.source.name, RANDOM)[place], found.groups[group], found.attributes[text], text
        )
        for place, lot in enumerate(lots)
        for group, text in sorted(lot.items())
    ]
    return drawn, tuple(notes)


def _digest(drawn: Sequence[DrawnPair]) -> str:
    """SHA-256 of what is asked about, by name: the same in every database."""
    lines = [f"{each.place}\t{each.group.identity}\t{each.attribute}" for each in drawn]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _default_name(source: Source, recipe: ClassificationRecipe) -> str:
    model = slugify((recipe.model or recipe.backend).replace("/", "-").replace("_", "-"))
    ending = digest(recipe, image_set="")[:8]
    return f"{source.name}-{model}"[: _MOST_NAME - len(ending) - 1].rstrip("-_") + f"-{ending}"
