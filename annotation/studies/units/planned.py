"""The plan of the units of a task, before any row is written."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import models

from annotation.core import strata
from annotation.models import ImageSet, OptionRole, Purpose, Source
from annotation.studies.errors import KeyPath, StudyRefused
from annotation.studies.errors import gettext_noop as _

Row = TypeVar("Row", bound=models.Model)


@dataclass(frozen=True, slots=True)
class PlannedOption:
    """`attribute` None means none of the above. `expected`: the correct values of a check item."""

    attribute: str | None
    role: str = OptionRole.STIMULUS
    expected: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """A unit with its options in order and the resolved stratum of each slot (none for a check item, or if
    people do not judge it)."""

    options: tuple[PlannedOption, ...]
    strata: tuple[str, ...]
    attribute: str | None = None
    association_id: int | None = None
    image_id: int | None = None
    page: int = 1
    repeat: int = 0
    purpose: str = Purpose.DATA
    feedback: str = ""


@dataclass(frozen=True)
class Plan:
    """The units of a task, in order. `units` returns a new iterator at each call, so that memory stays flat.
    `notes`: remarks for the person who creates the study."""

    units: Callable[[], Iterator[PlannedUnit]]
    notes: tuple[str, ...] = ()
    image_set: ImageSet | None = None


def get_source(name: str, *, key: str) -> Source:
    return rows_named(Source.objects.filter(name=name), "name", [name], key)[0]


def rows_named(rows: models.QuerySet[Row], field: str, names: Sequence[str], key: str) -> list[Row]:
    """The rows whose `field` is in `names`. Raises StudyRefused for the first name without a row."""
    found = list(rows)
    existing = {getattr(row, field) for row in found}
    for name in names:
        if name not in existing:
            known = rows.model._default_manager.order_by(field).values_list(field, flat=True)[:10]
            raise StudyRefused(
                "there is no %(kind)s '%(name)s'. "
                + ("There are: %(known)s." if known else "There are none yet: import or add one first."),
                key=key,
                page_message=_("There is no '%(name)s'. There are: %(known)s.")
                if known
                else _("There is no '%(name)s', and no other to choose. Import or add it first."),
                kind=rows.model._meta.verbose_name,
                name=name,
                known=", ".join(known),
            )
    return found


def resolve_strata(texts: Sequence[str], *, region: str) -> tuple[str, ...]:
    """The strata of a unit about a group of `region`. Call `require_regions` first."""
    return tuple(strata.resolve(text, region=region) for text in texts)


def require_regions(texts: Sequence[str], *, regions: dict[str, str], key: str, groups: str) -> None:
    """Raise StudyRefused if `texts` ask for in- or out-region annotators of a group without a region.

    `regions`: group -> region, '' if unknown. `groups`: the key of the file that selects groups.
    """
    if not any(strata.depends_on_group(text) for text in texts):
        return
    lacking = sorted(name for name, region in regions.items() if not region)
    if lacking:
        raise StudyRefused(
            _(
                "%(it)s asks for in-region or out-region annotators, but the region of "
                "%(lacking)s is unknown. Set it in the administration, or list only the "
                "other groups in %(groups)s."
            ),
            key=f"{key}.strata",
            lacking=quoted_list(lacking),
            groups=KeyPath(groups),
        )


def quoted_list(names: Sequence[str], *, most: int = 8) -> str:
    """Quoted names for a message: the first few, and the number of the others."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
