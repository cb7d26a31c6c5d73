"""Small studies that the tests of scores share."""

from __future__ import annotations

from annotation.models import Study, TaskKind
from tests import factories

TEXTS = ("hat", "sombrero", "poor", "kind")


def depiction_study(**fields) -> Study:
    """Two groups, two images each, one page an image, three annotators who are known.

    Mexican: 'hat' and 'sombrero' are stereotypes by out-region votes; 'poor' has too few, 'kind' none.
    Nepali: no stereotype at all, so it is not reported.
    """
    source = factories.source("votes")
    study = factories.study(stereotype_source=source, **fields)
    task = factories.task(study, kind=TaskKind.DEPICTION)
    for text, votes, ratings, mean in (
        ("hat", 2, [1, 1, 1], 1.0),
        ("sombrero", 3, [-1, 0, 1], 0.5),
        ("poor", 1, [4, 4, 4], 4.0),
    ):
        factories.association(
            text=text,
            out_votes=(votes, 0, 0),
            in_votes=(0, 3, 0),
            ratings=ratings,
            mean=mean,
            from_source=source,
        )
    people = factories.annotators(3)
    said = {
        "Mexican": (
            [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
            [[1, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
        ),
        "Nepali": (
            [[0, 0, 0, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]],
            [[0, 0, 0, 0, 1]] * 3,
        ),
    }
    pictures = [picture for name in said for picture in factories.images([1, 2], group_name=name)]
    units = factories.page_units(task, [(picture, TEXTS) for picture in pictures])
    answers = [of_image for of_group in said.values() for of_image in of_group]
    factories.responses(
        (unit, values, who)
        for unit, of_image in zip(units, answers, strict=True)
        for values, who in zip(of_image, people, strict=True)
    )
    return study


def visual_study(
    ratings: dict[str, list[int]], *, strata=("any", "any", "any"), people=None, **fields
) -> Study:
    """One visual-nature unit an attribute, with the given scores in the order of the slots."""
    study = factories.study(**fields)
    task = factories.task(study, strata=strata)
    units = factories.attribute_units(task, list(ratings))
    factories.responses(
        (unit, [score], people[place] if people else None)
        for unit, scores in zip(units, ratings.values(), strict=True)
        for place, score in enumerate(scores)
    )
    return study
