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
    people = [factories.annotator() for _ in range(3)]
    said = {
        ("Mexican", 1): [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
        ("Mexican", 2): [[1, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
        ("Nepali", 1): [[0, 0, 0, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]],
        ("Nepali", 2): [[0, 0, 0, 0, 1]] * 3,
    }
    given = []
    for (group, index), answers in said.items():
        unit = factories.page_unit(task, picture=factories.image(group_name=group, index=index), texts=TEXTS)
        given += [(unit, values, who) for who, values in zip(people, answers, strict=True)]
    factories.responses(given)
    return study


def visual_study(
    ratings: dict[str, list[int]], *, strata=("any", "any", "any"), people=None, **fields
) -> Study:
    """One visual-nature unit an attribute, with the given scores in the order of the slots."""
    study = factories.study(**fields)
    task = factories.task(study, strata=strata)
    given = []
    for text, scores in ratings.items():
        unit = factories.attribute_unit(task, text)
        given += [(unit, [score], people[place] if people else None) for place, score in enumerate(scores)]
    factories.responses(given)
    return study
