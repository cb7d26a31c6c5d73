"""What the audit log shows: what was done to people and data, by whom. It names no annotator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.paginator import Paginator
from django.db.models import QuerySet

from annotation.audit import wordings
from annotation.core.paging import Page
from annotation.models import AuditEvent, Study

PER_PAGE = 100


@dataclass(frozen=True)
class Filters:
    """What to show; an empty field shows everything. `study` is a study's name, `who` an account's name;
    `since` and `until` are days (UTC), both included."""

    what: str = ""
    study: str = ""
    who: str = ""
    since: date | None = None
    until: date | None = None

    def said(self) -> dict[str, str]:
        """The fields that are filled in, as text."""
        return {name: str(value) for name, value in asdict(self).items() if value}


@dataclass(frozen=True)
class Entry:
    """One event. `who` and `study` are empty where there is none: a command did it, or the person
    themselves; `details` are what was noted with it."""

    id: int
    at: datetime
    what: str
    sentence: str
    who: str
    study: str
    study_title: str
    details: dict[str, Any]


@dataclass(frozen=True)
class Log(Page):
    """One page of the log, newest first."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Choices:
    """What there is to filter by."""

    whats: tuple[str, ...]
    studies: tuple[tuple[str, str], ...]
    people: tuple[str, ...]


def choices() -> Choices:
    """The kinds of events, the studies (name, title) and the accounts that the log holds."""
    events = AuditEvent.objects.order_by()
    return Choices(
        whats=tuple(sorted(events.values_list("what", flat=True).distinct())),
        studies=tuple(
            Study.objects.filter(pk__in=events.values("study")).order_by("title").values_list("name", "title")
        ),
        people=tuple(
            get_user_model()
            .objects.filter(pk__in=events.values("by"))
            .order_by("username")
            .values_list("username", flat=True)
        ),
    )


def events(filters: Filters) -> QuerySet[AuditEvent]:
    """The events that are asked for, newest first."""
    found = AuditEvent.objects.select_related("by", "study").order_by("-pk")
    if filters.what:
        found = found.filter(what=filters.what)
    if filters.study:
        found = found.filter(study__name=filters.study)
    if filters.who:
        found = found.filter(by__username=filters.who)
    if filters.since:
        found = found.filter(at__gte=_midnight(filters.since))
    if filters.until:
        found = found.filter(at__lt=_midnight(filters.until + timedelta(days=1)))
    return found


def page(filters: Filters, *, page: str | int = 1) -> Log:
    """A page of the log; a `page` that there is not is the nearest one there is."""
    paginator = Paginator(events(filters), PER_PAGE)
    part = paginator.get_page(page)
    return Log(
        entries=tuple(map(entry, part.object_list)),
        number=part.number,
        pages=paginator.num_pages,
        total=paginator.count,
    )


def stream(filters: Filters, *, upto: int) -> Iterator[Entry]:
    """The events up to number `upto`, newest first, in constant memory."""
    for event in events(filters).filter(pk__lte=upto).iterator(chunk_size=1000):
        yield entry(event)


def entry(event: AuditEvent) -> Entry:
    details = event.details if isinstance(event.details, dict) else {"details": event.details}
    return Entry(
        id=event.pk,
        at=event.at,
        what=event.what,
        sentence=wordings.sentence(event.what, details),
        who=event.by.get_username() if event.by else "",
        study=event.study.name if event.study else "",
        study_title=event.study.title if event.study else "",
        details=details,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)


__all__ = ["PER_PAGE", "Choices", "Entry", "Filters", "Log", "choices", "entry", "events", "page", "stream"]
