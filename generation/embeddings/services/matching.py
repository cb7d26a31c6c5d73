"""Which images of a set the rows of a file of embeddings are about."""

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Q

from annotation.imports.readers.identities import known_identities
from annotation.models import IdentityGroup, ImageSet
from generation.embeddings.vector_files import VectorFile
from generation.models import RunKind
from generation.plans.queries.image_sets import image_names


def unknown_groups(content: VectorFile, rows: Sequence[int], *, axis: str) -> list[str]:
    """What is wrong with the groups of these rows: an error for each name that nobody knows on `axis`."""
    first = {content.groups[row]: row for row in reversed(rows)}
    present = IdentityGroup.objects.filter(axis=axis, name__in=first).values_list("name", flat=True)
    known = {name for known_axis, name in known_identities() if known_axis == axis}
    return [
        f"groups[{first[name]}]: no identity group on the axis '{axis}' is named '{name}'. Correct the name, "
        "choose another axis with --axis, or allow new groups with --new-groups."
        for name in sorted(set(first) - set(present) - known, key=lambda name: first[name])
    ]


def _takes_new(image_set: ImageSet) -> bool:
    """Whether an import may add images: those that are there come from imports too."""
    others = image_set.images.filter(~Q(file="") | Q(width__gt=0))
    return not (image_set.drawn or others.exists() or image_set.runs.filter(kind=RunKind.IMAGES).exists())


def matched_images(image_set: ImageSet, content: VectorFile) -> tuple[list[int | None], list[str]]:
    """The set's image of each row of the file, None for one to be created; and what is wrong."""
    takes_new = _takes_new(image_set)
    called: dict[str, list[tuple[int, str]]] = defaultdict(list)
    columns = ("pk", "reference", "file", "sha256", "group__name", "index")
    for pk, *named in image_set.images.values_list(*columns).iterator():
        for name in {named[0]} if takes_new else image_names(*named):
            called[name].append((pk, named[3]))
    found: list[int | None] = []
    errors: list[str] = []
    first: dict[int, int] = {}
    for row, (name, group) in enumerate(zip(content.names, content.groups, strict=True)):
        images = called.get(name, [])
        of_group = [pk for pk, its_group in images if its_group == group]
        pk = of_group[0] if len(of_group) == 1 else None
        found.append(pk)
        shown = f"names[{row}]: '{name[:80]}'"
        if pk is not None and (earlier := first.setdefault(pk, row)) != row:
            errors.append(f"{shown} is the same image as names[{earlier}]. Leave one of them out.")
        elif len(of_group) > 1:
            errors.append(
                f"{shown}: several images of the set '{image_set.name}' have that name. Name it by its "
                "reference, its SHA-256, or its group and number."
            )
        elif images and pk is None:
            errors.append(
                f"groups[{row}]: in the set '{image_set.name}' the image '{name[:80]}' is of the group "
                f"'{images[0][1]}', not '{group}'. Correct the group or the name."
            )
        elif pk is None and not takes_new:
            errors.append(
                f"{shown} is no image of the set '{image_set.name}'. Name it by its reference, the name of "
                "its file, its SHA-256, or its group and number, or choose a new set with --set."
            )
    return found, errors
