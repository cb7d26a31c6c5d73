"""Simulated studies, as arrays and in the database."""

from __future__ import annotations

import numpy as np

from annotation.models import Study, TaskKind
from metrics.core.stats.differences import AnswerSet
from metrics.planning.simulation import Design, study
from metrics.planning.stats import Assumptions
from tests import factories

PILOT = Design(images=60, people=24, overlap=4, of_images=1.0, of_people=0.8, of_whole_images=0.6)


def simulated(plan: Assumptions, seed: int) -> AnswerSet:
    """The answers of one study of `plan`."""
    rng = np.random.default_rng(seed)
    people = plan.design.of_people * rng.normal(size=plan.design.people)
    return study(plan.design, rng, people=people, logits=plan.logits())


def stored(side: AnswerSet, *, identified: bool = True, **fields) -> Study:
    """A study with these answers about images of one group; the first half of its attributes are
    stereotypes."""
    attributes = side.k.shape[1]
    texts = [f"word {place}" for place in range(attributes)]
    number = Study.objects.count()
    source, images = factories.source(f"votes-{number}"), factories.image_set(f"images-{number}")
    found = factories.study(stereotype_source=source, stereotype_threshold=2, **fields)
    for text in texts[: attributes // 2]:
        factories.association(text=text, in_votes=(3, 0, 0), out_votes=(3, 0, 0), from_source=source)
    overlap = int(np.bincount(side.images).max())
    task = factories.task(found, kind=TaskKind.DEPICTION, strata=("any",) * overlap, image_set=images)
    people = {who: factories.annotator() for who in np.unique(side.annotators).tolist()}
    said = []
    shown = np.unique(side.images).tolist()
    pictures = factories.images([image + 1 for image in shown], of=images)
    units = factories.page_units(task, [(picture, texts) for picture in pictures])
    for image, unit in zip(shown, units, strict=True):
        for row in np.flatnonzero(side.images == image).tolist():
            who = people[int(side.annotators[row])] if identified else None
            said.append((unit, [*side.k[side.answers[row]].tolist(), 0], who))
    factories.responses(said)
    return found
