"""Small studies of votes and ratings, from a stereotype source and from answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotation.models import IdentityGroup, Option, OptionRole, Study, TaskKind, Unit
from tests import factories

VOTES: tuple[tuple[Any, ...], ...] = (
    # group, region, attribute, in-region S/N/U, out-region S/N/U, ratings, printed mean
    ("Mexican", "Latin America", "poor", (3, 0, 0), (2, 1, 0), [4, 4, 1], 3.0),
    ("Mexican", "Latin America", "festive", (2, 1, 0), (0, 3, 0), [-1, -1, -1], -1.0),
    ("Mexican", "Latin America", "tall", (0, 2, 1), (1, 1, 1), [], None),
    ("Peruvian", "Latin America", "poor", (1, 2, 0), (3, 0, 0), [4, 4, 1], 3.0),
    ("Nepali", "South Asia", "kind", (2, 0, 1), None, [-1, 0, 1], 0.5),
    ("Atlantean", "", "wet", (0, 3, 0), (2, 0, 1), [2, 2, 2], 2.0),
)


def votes_study(**fields) -> Study:
    """A study whose source holds VOTES; by its rule 'poor' of two groups and 'wet' are stereotypes."""
    source = factories.source("votes")
    for group, region, text, inside, outside, ratings, mean in VOTES:
        factories.group(group, region=region)
        factories.association(
            group_name=group,
            text=text,
            in_votes=inside,
            out_votes=outside,
            ratings=ratings,
            mean=mean,
            from_source=source,
        )
    return factories.study(stereotype_source=source, **fields)


def association_unit(task, group: str, text: str) -> Unit:
    """A unit about an association of the study's source, made if it is not there."""
    return association_units(task, [(group, text)])[0]


def association_units(task, pairs: Sequence[tuple[str, str]]) -> list[Unit]:
    """One of each group and attribute, in a few statements."""
    source = task.study.stereotype_source or factories.source("asked")
    known = {
        (one.group.name, one.attribute.text): one
        for one in source.associations.select_related("group", "attribute")
    }
    for group, text in pairs:
        if (group, text) not in known:
            known[group, text] = factories.association(group_name=group, text=text, from_source=source)
    made = Unit.objects.bulk_create(
        Unit(task=task, position=position, association=known[pair])
        for position, pair in enumerate(pairs, start=task.units.count() + 1)
    )
    Option.objects.bulk_create(
        Option(unit=unit, attribute=unit.association.attribute, role=OptionRole.STIMULUS, position=1)
        for unit in made
    )
    factories.open_slots(*made)
    return made


PEOPLE = {
    # who they are to Latin America
    "inside": {"residence": "Latin America"},
    "outside": {"residence": "North America", "identity_region": "Latin America"},
    "elsewhere": {"residence": "Europe"},
    "silent": {},
}


def prevalence_study(said: dict[tuple[str, str], dict[str, list[int]]], **fields) -> Study:
    """`said`: {(group, attribute): {kind of person: values}}; groups are of Latin America."""
    study = factories.study(**fields)
    most = max(sum(map(len, answers.values())) for answers in said.values())
    task = factories.task(study, kind=TaskKind.PREVALENCE, strata=("any",) * most)
    for group, _ in said:
        factories.group(group, region="Latin America")
    given = []
    for unit, answers in zip(association_units(task, list(said)), said.values(), strict=True):
        for kind, values in answers.items():
            given += [(unit, [value], factories.annotator(profile=PEOPLE[kind])) for value in values]
    factories.responses(given)
    return study


def rating_study(by_attribute: dict[str, list[int]], by_pair: dict[tuple[str, str], list[int]]) -> Study:
    """A study of VOTES that rates attributes and associations, the same three people each time."""
    study = votes_study()
    task = factories.task(study, kind=TaskKind.OFFENSIVENESS)
    people = [factories.annotator() for _ in range(3)]
    units = [(factories.attribute_unit(task, text), values) for text, values in by_attribute.items()]
    units += [(association_unit(task, *pair), values) for pair, values in by_pair.items()]
    factories.responses(
        (unit, [value], who) for unit, values in units for who, value in zip(people, values, strict=False)
    )
    return study


def bias_study(said: dict[tuple[str, str], list[int]], **fields) -> Study:
    """How biased the same three people find associations, none of whose groups has a region."""
    task = factories.task(factories.study(**fields), kind=TaskKind.ASSOCIATION)
    people = [factories.annotator() for _ in range(3)]
    units = association_units(task, list(said))
    factories.responses(
        (unit, [value], who)
        for unit, values in zip(units, said.values(), strict=True)
        for who, value in zip(people, values, strict=True)
    )
    return task.study


def asked_of_pairs(study: Study) -> None:
    """Two people of either pool on whether Mexican people are said to be 'hat', and how offensive that is."""
    IdentityGroup.objects.filter(name="Mexican").update(region="Latin America")
    for kind, value in ((TaskKind.PREVALENCE, 1), (TaskKind.OFFENSIVENESS, 2)):
        unit = association_unit(factories.task(study, kind=kind), "Mexican", "hat")
        for who in ("inside", "outside"):
            factories.response(unit, values=[value], who=factories.annotator(profile=PEOPLE[who]))
