"""The audit log: what was done to people and data, and by whom. It names no annotator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.paginator import Paginator
from django.db.models import QuerySet

from annotation.audit.sentences import sentence
from annotation.core.paging import Page
from annotation.models import AuditEvent, Study

PER_PAGE = 100


@dataclass(frozen=True)
class Filters:
    """An empty field does not filter. `study` is a study's name and `who` an account's; `since` and `until`
    are days (UTC), both included."""

    what: str = ""
    study: str = ""
    who: str = ""
    since: date | None = None
    until: date | None = None

    def as_details(self) -> dict[str, str]:
        """The fields that are set, as text."""
        return {name: str(value) for name, value in asdict(self).items() if value}


@dataclass(frozen=True)
class Entry:
    """One event. `who` is empty if a command did it, or the person it is about; `study` is empty if there is
    none."""

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
    """The values that the filters can have."""

    kinds: tuple[str, ...]
    studies: tuple[tuple[str, str], ...]
    accounts: tuple[str, ...]


def choices() -> Choices:
    """The kinds of events, studies (name, title) and accounts in the log."""
    events = AuditEvent.objects.order_by()
    return Choices(
        kinds=tuple(sorted(events.values_list("what", flat=True).distinct())),
        studies=tuple(
            Study.objects.filter(pk__in=events.values("study")).order_by("title").values_list("name", "title")
        ),
        accounts=tuple(
            get_user_model()
            .objects.filter(pk__in=events.values("by"))
            .order_by("username")
            .values_list("username", flat=True)
        ),
    )


def events(filters: Filters) -> QuerySet[AuditEvent]:
    """The matching events, newest first."""
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
    """A page of the log. A `page` out of range gives the nearest page."""
    paginator = Paginator(events(filters), PER_PAGE)
    found = paginator.get_page(page)
    return Log(
        entries=tuple(map(_entry, found.object_list)),
        number=found.number,
        pages=paginator.num_pages,
        total=paginator.count,
    )


def stream(filters: Filters, *, last_id: int) -> Iterator[Entry]:
    """The matching events with ids up to `last_id`, newest first, in constant memory."""
    for event in events(filters).filter(pk__lte=last_id).iterator(chunk_size=1000):
        yield _entry(event)


def _entry(event: AuditEvent) -> Entry:
    details = event.details if isinstance(event.details, dict) else {"details": event.details}
    return Entry(
        id=event.pk,
        at=event.at,
        what=event.what,
        sentence=sentence(event.what, details),
        who=event.by.get_username() if event.by else "",
        study=event.study.name if event.study else "",
        study_title=event.study.title if event.study else "",
        details=details,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=UTC)
