"""Small studies of the same protocol, each of another model's images."""

import numpy as np

from annotation.models import Annotator, Association, Study, TaskKind
from tests import factories

TEXTS = ("hat", "sombrero", "kind", "tall")
GROUPS = ("Mexican", "Nepali", "Peruvian")


def model_study(
    name, rates, people, *, leads=(), images=6, seed=0, texts=TEXTS, sets=None, **fields
) -> Study:
    """A study of one model: how often each annotator sees each stereotype ('hat', 'sombrero', rated 1 and 3)
    in an image of a group; the other attributes are seen by one in five. `rates`: {group: rate}, the same for
    each of the image `sets`, the second half as often as the first."""
    rng = np.random.default_rng(seed)
    source = factories.source("votes")
    study = factories.study(name, leads=leads, stereotype_source=source, **fields)
    task = factories.task(study, kind=TaskKind.DEPICTION)
    answers = []
    for group, rate in rates.items():
        factories.group(group)
        if not Association.objects.filter(group__name=group).exists():
            for text, rating in zip(TEXTS[:2], (1, 3), strict=True):
                factories.association(
                    text=text, group_name=group, out_votes=(3, 0, 0), ratings=[rating], from_source=source
                )
        for place, set_name in enumerate(sets or (f"images-{name}",)):
            made = factories.image_set(set_name)
            pictures = factories.images(range(1, images + 1), group_name=group, of=made)
            for unit in factories.page_units(task, [(picture, texts) for picture in pictures]):
                chances = [rate / (1 + place)] * 2 + [0.2] * (len(texts) - 2)
                seen = (rng.random((len(people), len(texts))) < chances).astype(int)
                answers += [(unit, [*said, 0], who) for who, said in zip(people, seen.tolist(), strict=True)]
    factories.responses(answers)
    return study


def show_stereotypes_alone(study, group, people) -> None:
    """Three images of `group` with no other attributes; sombrero is seen in all."""
    pictures = factories.images((1, 2, 3), group_name=group, of=factories.image_set(f"images-{study.name}"))
    units = factories.page_units(study.tasks.get(), [(picture, TEXTS[:2]) for picture in pictures])
    factories.responses(
        (unit, [int(place < unit.image.index), 1, 0], who)
        for unit in units
        for place, who in enumerate(people)
    )


def annotators(number=3) -> list[Annotator]:
    return [factories.annotator() for _ in range(number)]


def three(leads=(), *, rates=(0.9, 0.5, 0.1)) -> list[Study]:
    """Studies 'a', 'b' and 'c', whose models show stereotypes so often, judged by the same people."""
    people = annotators()
    return [
        model_study(name, dict.fromkeys(GROUPS, rate), people, leads=leads, seed=place)
        for place, (name, rate) in enumerate(zip("abc", rates, strict=True))
    ]
