"""The demonstration's source, identity groups, attributes and associations."""

from statistics import mean

from django.db import transaction

from annotation.demo.scenario import Scenario
from annotation.models import Association, Attribute, Axis, IdentityGroup, Source

_COUNTS = (
    "in_stereotypical",
    "in_nonstereotypical",
    "in_unsure",
    "out_stereotypical",
    "out_nonstereotypical",
    "out_unsure",
)


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
    before = source.associations.count()
    Association.objects.bulk_create(
        (
            Association(
                source=source,
                group=groups[group.name],
                attribute=attributes[text],
                offensiveness=group.offence.get(text, []),
                offensiveness_mean=mean(group.offence[text]) if text in group.offence else None,
                **dict(zip(_COUNTS, counts, strict=True)),
            )
            for group in scenario.groups
            for text, counts in group.votes.items()
        ),
        ignore_conflicts=True,
    )
    return source.associations.count() - before
