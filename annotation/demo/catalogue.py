"""The demonstration's source, identity groups, attributes and associations."""

from __future__ import annotations

from django.db import transaction

from annotation.demo.scenario import Scenario
from annotation.models import Association, Attribute, Axis, IdentityGroup, Source


@transaction.atomic
def make_catalogue(*, scenario: Scenario) -> int:
    """Create what is missing; return the number of new associations.

    Identity groups and attributes are shared with imported resources; existing ones are not changed. The
    invented votes belong to their own source, so they never mix with real ones.
    """
    source, _ = Source.objects.get_or_create(name=scenario.source["name"], defaults=scenario.source)
    groups = {}
    for group in scenario.groups:
        groups[group.name], _ = IdentityGroup.objects.get_or_create(
            axis=Axis.NATIONALITY,
            name=group.name,
            defaults={
                "demonym": group.name,
                "country": group.country,
                "region": group.region,
                "global_south": group.global_south,
            },
        )
    Attribute.objects.bulk_create(
        (Attribute(text=text) for text in sorted(scenario.attributes)), ignore_conflicts=True
    )
    attributes = {row.text: row for row in Attribute.objects.filter(text__in=scenario.attributes)}
    present = set(Association.objects.filter(source=source).values_list("group__name", "attribute__text"))
    missing = [
        _association(source, groups[group.name], attributes[text], counts, group.offence.get(text, ()))
        for group in scenario.groups
        for text, counts in group.votes.items()
        if (group.name, text) not in present
    ]
    Association.objects.bulk_create(missing)
    return len(missing)


def _association(
    source: Source,
    group: IdentityGroup,
    attribute: Attribute,
    counts: tuple[int, int, int, int, int, int],
    ratings: tuple[int, ...],
) -> Association:
    return Association(
        source=source,
        group=group,
        attribute=attribute,
        in_stereotypical=counts[0],
        in_nonstereotypical=counts[1],
        in_unsure=counts[2],
        out_stereotypical=counts[3],
        out_nonstereotypical=counts[4],
        out_unsure=counts[5],
        offensiveness=list(ratings),
        offensiveness_mean=sum(ratings) / len(ratings) if ratings else None,
    )
