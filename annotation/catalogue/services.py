"""Changes of sources. What a study uses stays as it is: its answers and scores were made from it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.catalogue import queries
from annotation.models import Association, AuditEvent, Source

if TYPE_CHECKING:
    from django.contrib.auth.models import User

_CHUNK = 5_000
"""Associations deleted at once: their number is not limited, and memory is."""


class SourceRefused(ValueError):
    """A change of a source that is not possible. The message says why and what to do."""


class SourceForbidden(SourceRefused):
    """The source belongs to somebody else."""


class SourceInUse(SourceRefused):
    """Studies use the source."""

    def __init__(self, source: Source, number: int) -> None:
        message = ngettext(
            "The source “%(source)s” stays as it is: %(number)d study uses it. Make a new source, and name "
            "it as the one that supersedes this.",
            "The source “%(source)s” stays as it is: %(number)d studies use it. Make a new source, and name "
            "it as the one that supersedes this.",
            number,
        )
        super().__init__(message % {"source": source.name, "number": number})


@dataclass(frozen=True)
class SourceDetails:
    """What describes a source and may be edited while no study uses it."""

    title: str
    licence: str = ""
    origin: str = ""
    citation: str = ""


@transaction.atomic
def edit_source(*, source: Source, details: SourceDetails, by: User) -> Source:
    """Change title, licence, origin and citation. Raises SourceForbidden, SourceInUse and SourceRefused."""
    locked = _changeable(source, by)
    if not details.title.strip():
        raise SourceRefused(_("A source needs a title. Write one."))
    changed = []
    for field in fields(details):
        value = getattr(details, field.name).strip()
        if getattr(locked, field.name) != value:
            setattr(locked, field.name, value)
            changed.append(field.name)
    if changed:
        locked.save(update_fields=changed)
        _record("source changed", locked, by, fields=", ".join(changed))
    return locked


@transaction.atomic
def delete_source(*, source: Source, by: User) -> int:
    """Delete a source with its associations; returns how many these were. Groups and attributes stay, since
    other sources and images share them. Raises SourceForbidden and SourceInUse."""
    locked = _changeable(source, by)
    deleted = 0
    while ids := list(locked.associations.order_by("pk").values_list("pk", flat=True)[:_CHUNK]):
        deleted += Association.objects.filter(pk__in=ids).delete()[1].get("annotation.Association", 0)
    locked.delete()
    _record("source deleted", locked, by, associations=deleted)
    return deleted


@transaction.atomic
def supersede_source(*, source: Source, successor: Source | None, by: User) -> Source:
    """Say that `successor` replaces `source`, or with None that nothing does. Studies keep the source that
    they use. Raises SourceForbidden, and SourceRefused for a source that would replace itself."""
    locked = _locked(source, by)
    later, seen = successor, {locked.pk}
    while later is not None:
        if later.pk in seen:
            raise SourceRefused(
                _("The source “%(source)s” would supersede itself. Choose one that it does not supersede.")
                % {"source": locked.name}
            )
        seen.add(later.pk)
        later = later.superseded_by
    locked.superseded_by = successor
    locked.save(update_fields=["superseded_by"])
    _record("source superseded", locked, by, successor=successor.name if successor else "–")
    return locked


def _locked(source: Source, by: User) -> Source:
    """The row, locked: a study that begins to use it meanwhile waits."""
    locked = Source.objects.select_for_update().get(pk=source.pk)
    if not policies.may_edit_source(by, locked):
        raise SourceForbidden(
            _(
                "The source “%(source)s” belongs to somebody else. Ask its owner or an admin, or make a "
                "source of your own."
            )
            % {"source": locked.name}
        )
    return locked


def _changeable(source: Source, by: User) -> Source:
    locked = _locked(source, by)
    if number := queries.studies_using(locked).count():
        raise SourceInUse(locked, number)
    return locked


def _record(what: str, source: Source, by: User, **details: str | int) -> None:
    AuditEvent.objects.create(what=what, by=by, details={"source": source.name, **details})
