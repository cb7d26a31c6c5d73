"""What the units of a task will be, before a row is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import models

from annotation.core import strata
from annotation.models import ImageSet, OptionRole, Purpose, Source
from annotation.studies.errors import Place, StudyError
from annotation.studies.errors import gettext_noop as _

Row = TypeVar("Row", bound=models.Model)


class StudyRefused(StudyError):
    """A study that cannot be made, or a status it cannot have. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class PlannedOption:
    """`attribute` None is none of the above; `expected` are the right values of a check item."""

    attribute: str | None
    role: str = OptionRole.STIMULUS
    expected: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class PlannedUnit:
    """One unit, its options in order and the concrete stratum of each slot (none for a check item)."""

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
    """The units of a task, in order. `units` can be walked more than once and holds no more in memory than
    it must; `notes` are what the one who asked should know."""

    units: Callable[[], Iterator[PlannedUnit]]
    notes: tuple[str, ...] = ()
    image_set: ImageSet | None = None


def source_named(name: str, *, key: str) -> Source:
    return found(Source.objects.filter(name=name), "name", [name], key)[0]


def found(rows: models.QuerySet[Row], field: str, wanted: Sequence[str], key: str) -> list[Row]:
    """The rows that `wanted` names; StudyRefused for the first that is not there."""
    there = list(rows)
    names = {getattr(row, field) for row in there}
    for name in wanted:
        if name not in names:
            known = rows.model._default_manager.order_by(field).values_list(field, flat=True)[:10]
            raise StudyRefused(
                "there is no %(kind)s '%(name)s'. "
                + ("There are: %(known)s." if known else "There is none at all yet: import or add it first."),
                place=key,
                on_page=_("There is no '%(name)s'. There are: %(known)s.")
                if known
                else _("There is no '%(name)s', and no other to choose. Import or add it first."),
                kind=rows.model._meta.verbose_name,
                name=name,
                known=", ".join(known),
            )
    return there


def resolved(texts: Sequence[str], *, region: str) -> tuple[str, ...]:
    """The strata of a unit about a group of `region`. Check `lacking_region` first."""
    return tuple(strata.resolve(text, region=region) for text in texts)


def refuse_without_region(texts: Sequence[str], *, regions: dict[str, str], key: str, groups: str) -> None:
    """StudyRefused if `texts` ask for in- or out-region annotators of a group whose region is unknown.

    `regions`: group -> region, '' where it is not known; `groups`: the key that chooses among the groups.
    """
    if not any(strata.depends_on_group(text) for text in texts):
        return
    lacking = sorted(name for name, region in regions.items() if not region)
    if lacking:
        raise StudyRefused(
            _(
                "%(it)s asks for in-region or out-region annotators, but the region of %(lacking)s is not "
                "known. Set it in the administration, or name the other groups in %(groups)s."
            ),
            place=f"{key}.strata",
            lacking=listed(lacking),
            groups=Place(groups),
        )


def listed(names: Sequence[str], *, most: int = 8) -> str:
    """Names for a message: the first few, and how many more."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
