"""The identity groups that descriptors name (PROTOCOL §11). Reads only."""

from collections.abc import Iterable, Sequence

from annotation.models import DIMENSIONS, IdentityGroup
from metrics.associations.askings import Descriptor
from metrics.associations.descriptors import DescriptorList, plural_of


class KnownGroups:
    """Finds a group of an axis by its name, its singular or its plural, whatever the case.

    Where groups share one, the group whose name it is comes first, then the singular, then the plural.
    """

    def __init__(self, axes: Iterable[str]) -> None:
        self._found: dict[tuple[str, str], int] = {}
        groups = list(IdentityGroup.objects.filter(axis__in=set(axes)).order_by("pk"))
        for names in (
            [group.name for group in groups],
            [group.singular or _person(group) for group in groups],
            [group.plural or plural_of(group.singular or _person(group)) for group in groups],
        ):
            for group, name in zip(groups, names, strict=True):
                self._found.setdefault((group.axis, key(name)), group.pk)

    def find(self, axis: str, name: str) -> int | None:
        return self._found.get((axis, key(name)))


def key(name: str) -> str:
    return " ".join(name.split()).casefold()


def find_groups(descriptors: Sequence[Descriptor]) -> list[int | None]:
    """The id of each descriptor's group; None if the catalogue has none yet."""
    known = KnownGroups(one.dimension for one in descriptors)
    return [known.find(one.dimension, one.singular) for one in descriptors]


def catalogue_list(axes: Iterable[str]) -> DescriptorList:
    """The groups of these axes as descriptors, by axis and name; of the nine dimensions if none is named."""
    wanted = list(axes) or [axis.value for axis in DIMENSIONS]
    groups = IdentityGroup.objects.filter(axis__in=wanted).order_by("axis", "name")
    return DescriptorList(tuple(_descriptor(group) for group in groups))


def same_named(groups: Iterable[int]) -> list[int]:
    """The ids of the groups of the nine dimensions whose name one of `groups` has too, if any name stands in
    several of them, else none."""
    of_dimensions = IdentityGroup.objects.filter(axis__in=DIMENSIONS).order_by("pk")
    names = set(IdentityGroup.objects.filter(pk__in=set(groups)).values_list("name", flat=True))
    keys = {key(name) for name in names}
    found: dict[str, list[int]] = {}
    for pk, name in of_dimensions.values_list("pk", "name"):
        if key(name) in keys:
            found.setdefault(key(name), []).append(pk)
    return sorted(pk for ids in found.values() if len(ids) > 1 for pk in ids)


def _person(group: IdentityGroup) -> str:
    return f"{group.demonym.strip() or group.name} person"


def _descriptor(group: IdentityGroup) -> Descriptor:
    singular = group.singular or _person(group)
    return Descriptor(group.axis, singular, group.plural or plural_of(singular), group.article)
