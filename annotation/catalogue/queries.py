"""Reads of the catalogue: lists with their filters, and what belongs to one group, attribute or source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation import policies
from annotation.models import (
    Association,
    Attribute,
    IdentityGroup,
    Option,
    Purpose,
    Source,
    Study,
    Unit,
)

if TYPE_CHECKING:
    from django.contrib.auth.models import User

_ASSOCIATIONS = {
    "source": "source__name",
    "group": "group__name",
    "attribute": "attribute__text",
    "in_min": "in_stereotypical__gte",
    "out_min": "out_stereotypical__gte",
    "offensiveness_min": "offensiveness_mean__gte",
    "offensiveness_max": "offensiveness_mean__lte",
}
_GROUPS = {"axis": "axis", "region": "region", "name": "name", "name_contains": "name__icontains"}


def associations(filters: Mapping[str, Any]) -> QuerySet[Association]:
    """The matching associations with source, group and attribute. An empty filter does not filter.

    `in_min`, `out_min`: votes Stereotypical of a pool, at least; `offensiveness_min`, `offensiveness_max`: of
    the mean, -1 to 4. Pairs that nobody voted on or rated match none of these.
    """
    rows = Association.objects.filter(**_lookups(_ASSOCIATIONS, filters))
    # Groups are few, so the database looks them up first.
    of_groups = {
        "axis": filters.get("axis"),
        "region": filters.get("region"),
        "name_contains": filters.get("group_contains"),
    }
    if any(of_groups.values()):
        rows = rows.filter(group__in=groups(of_groups).order_by().values("pk"))
    if filters.get("contains"):
        rows = rows.filter(attribute__text__contains=filters["contains"].lower())
    return rows.select_related("source", "group", "attribute")


def groups(filters: Mapping[str, Any]) -> QuerySet[IdentityGroup]:
    """The matching identity groups; `source` takes those of the source of that name."""
    rows = IdentityGroup.objects.filter(**_lookups(_GROUPS, filters))
    if filters.get("source"):
        rows = rows.filter(
            pk__in=Association.objects.filter(source__name=filters["source"]).values("group").distinct()
        )
    return rows


def attributes(filters: Mapping[str, Any]) -> QuerySet[Attribute]:
    """The matching attributes; `source` takes those of the source of that name."""
    rows = Attribute.objects.all()
    if filters.get("contains"):
        rows = rows.filter(text__contains=filters["contains"].lower())
    if filters.get("source"):
        rows = rows.filter(
            pk__in=Association.objects.filter(source__name=filters["source"]).values("attribute").distinct()
        )
    return rows


def association_counts(field: str, keys: Iterable[int]) -> dict[int, int]:
    """How many associations each of some sources, groups or attributes has. `field`: source, group or
    attribute."""
    found = Association.objects.filter(**{f"{field}__in": list(keys)}).order_by().values_list(field)
    return dict(found.annotate(number=Count("pk")))


def only_in_checks(keys: Iterable[int]) -> set[int]:
    """Those attributes that no source has and no study asks about, but for its training items, gold items and
    attention checks."""
    shown = Option.objects.filter(attribute=OuterRef("pk"))
    asked_about = shown.filter(unit__purpose=Purpose.DATA)
    rows = Attribute.objects.filter(Exists(shown), ~Exists(asked_about), pk__in=keys, associations=None)
    return set(rows.values_list("pk", flat=True))


@dataclass(frozen=True)
class SourceCounts:
    """What a source holds. `voted`: associations with votes; `rated`: with offensiveness ratings."""

    associations: int
    groups: int
    voted: int
    rated: int


def source_counts(source: Source) -> SourceCounts:
    return SourceCounts(
        **source.associations.order_by().aggregate(
            associations=Count("pk"),
            groups=Count("group", distinct=True),
            voted=Count("pk", filter=Q(in_stereotypical__isnull=False) | Q(out_stereotypical__isnull=False)),
            rated=Count("pk", filter=Q(offensiveness_mean__isnull=False)),
        )
    )


def studies_using(source: Source) -> QuerySet[Study]:
    """The studies whose rule names `source`, or whose units show its associations; drafts as well."""
    shown = Unit.objects.filter(association__source=source).order_by().values("task__study")
    return Study.objects.filter(Q(stereotype_source=source) | Q(pk__in=shown))


@dataclass(frozen=True)
class Uses:
    """The studies that use a source: those that an account may see, and the number of others."""

    visible: tuple[Study, ...]
    others: int

    @property
    def total(self) -> int:
        return len(self.visible) + self.others


def uses(source: Source, *, user: User) -> Uses:
    found = list(studies_using(source).order_by("title", "pk"))
    led = set(
        policies.studies_led_by(user)
        .filter(pk__in=[study.pk for study in found])
        .values_list("pk", flat=True)
    )
    visible = tuple(study for study in found if study.pk in led)
    return Uses(visible=visible, others=len(found) - len(visible))


def other_votes(association: Association) -> list[Association]:
    """The same pair in other sources."""
    same = Association.objects.filter(group=association.group_id, attribute=association.attribute_id)
    return list(same.exclude(pk=association.pk).select_related("source").order_by("source__title", "pk"))


def _lookups(known: Mapping[str, str], filters: Mapping[str, Any]) -> dict[str, Any]:
    return {lookup: filters[name] for name, lookup in known.items() if filters.get(name) not in (None, "")}
