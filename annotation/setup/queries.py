"""Reads for the setup pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from annotation import policies
from annotation.models import Association, Attribute, Image, Study, StudyStatus, TaskKind

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Document = Mapping[str, Any]


@dataclass(frozen=True)
class DraftCard:
    """A study being set up. `made`: it is a draft in the database already. `taken`: its name belongs to a
    study that the user cannot set up, because it was opened meanwhile or is another team's."""

    name: str
    title: str
    made: bool
    taken: bool
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """Sample values for [attr] and [id] in a preview, or the options of a page."""

    attribute: str
    identity: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Suggestions:
    """Suggested identity groups and attributes of a task, at most _MAX_SUGGESTIONS of each."""

    groups: tuple[str, ...]
    attributes: tuple[str, ...]


_MAX_SUGGESTIONS = 500


def drafts(*, user: User, documents: Mapping[str, Document]) -> list[DraftCard]:
    """The studies that `user` is setting up, by title: their own documents, and drafts that they lead."""
    existing = set(Study.objects.filter(name__in=documents).values_list("name", flat=True))
    found = {
        name: DraftCard(
            name=name,
            title=str(document.get("title") or name),
            made=False,
            taken=name in existing,
            kinds=tuple(_label(task.get("kind", "")) for task in document.get("tasks", [])),
        )
        for name, document in documents.items()
    }
    for study in policies.studies_led_by(user).filter(status=StudyStatus.DRAFT).prefetch_related("tasks"):
        kinds = tuple(_label(task.kind) for task in study.tasks.all())
        known = found.get(study.name)
        found[study.name] = DraftCard(
            name=study.name,
            title=known.title if known else study.title,
            made=True,
            taken=False,
            kinds=known.kinds if known else kinds,
        )
    return sorted(found.values(), key=lambda card: (card.title.lower(), card.name))


def sample(task: Document, *, document: Document) -> Sample:
    """A sample of what the task could show, or made-up values if nothing is chosen yet."""
    what = task.get("associations") or task.get("attributes") or {}
    if isinstance(what, list):
        return Sample(attribute=str(what[0]), identity="", options=())
    source = what.get("source") or document.get("stereotypes", {}).get("source", "")
    of_source = Association.objects.filter(source__name=source).select_related("group", "attribute")
    found = of_source.order_by("pk").first()
    group = found.group if found else None
    options: tuple[str, ...] = ()
    if task.get("kind") == TaskKind.DEPICTION:
        image = (
            Image.objects.filter(image_set__name=task.get("image_set", "")).select_related("group").first()
        )
        group = image.group if image else group
        texts = Attribute.objects.filter(associations__source__name=source).order_by("pk").distinct()
        options = tuple(texts.values_list("text", flat=True)[: max(1, int(task.get("page_size", 5)) - 1)])
    return Sample(
        attribute=found.attribute.text if found else "sombrero",
        identity=group.demonym if group else "Mexican",
        options=options,
    )


def suggestions(task: Document, *, document: Document) -> Suggestions:
    """Suggestions for check items: what the task itself shows."""
    what = task.get("associations") or task.get("attributes") or {}
    if isinstance(what, list):
        return Suggestions(groups=(), attributes=tuple(sorted(map(str, what))[:_MAX_SUGGESTIONS]))
    source = what.get("source") or document.get("stereotypes", {}).get("source", "")
    shown = Association.objects.filter(source__name=source)
    images = Image.objects.filter(image_set__name=task.get("image_set", ""))
    if chosen := what.get("groups"):
        shown, images = shown.filter(group__name__in=chosen), images.filter(group__name__in=chosen)
    groups = images if task.get("kind") == TaskKind.DEPICTION else shown
    return Suggestions(
        groups=_distinct_values(groups, "group__name"), attributes=_distinct_values(shown, "attribute__text")
    )


def _distinct_values(rows: QuerySet[Any], field: str) -> tuple[str, ...]:
    return tuple(rows.order_by(field).values_list(field, flat=True).distinct()[:_MAX_SUGGESTIONS])


def _label(kind: str) -> str:
    return str(TaskKind(kind).label) if kind in TaskKind.values else kind
