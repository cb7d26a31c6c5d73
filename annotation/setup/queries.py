"""Reads for the setup pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import tomli_w
from django.db.models import QuerySet

from annotation import policies
from annotation.models import Association, Attribute, Image, Study, StudyStatus, TaskKind
from annotation.studies.services.study_plan import plan_tasks
from annotation.studies.study_file.default_wordings import shown_identity
from annotation.studies.study_file.reading import read_study_text
from annotation.studies.units.planned import Plan, get_source

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Document = Mapping[str, Any]


_MAX_SUGGESTIONS = 500


def drafts(*, user: User, documents: Mapping[str, Document]) -> list[dict[str, Any]]:
    """The studies that `user` is setting up, by title: their own documents, and drafts that they lead.

    `made`: it is a draft in the database already. `taken`: its name belongs to a study that the user cannot
    set up, because it was opened meanwhile or is another team's.
    """
    existing = set(Study.objects.filter(name__in=documents).values_list("name", flat=True))
    found = {
        name: {
            "name": name,
            "title": str(document.get("title") or name),
            "made": False,
            "taken": name in existing,
            "kinds": [_label(task.get("kind", "")) for task in document.get("tasks", [])],
        }
        for name, document in documents.items()
    }
    for study in policies.studies_led_by(user).filter(status=StudyStatus.DRAFT).prefetch_related("tasks"):
        kinds = [_label(task.kind) for task in study.tasks.all()]
        card = found.get(study.name, {"name": study.name, "title": study.title, "kinds": kinds})
        found[study.name] = {**card, "made": True, "taken": False}
    return sorted(found.values(), key=lambda card: (card["title"].lower(), card["name"]))


def sample(task: Document, *, document: Document) -> dict[str, Any]:
    """Sample values for [attr] and [id] in a preview, or the options of a page, of what the task shows;
    made-up values if nothing is chosen yet."""
    what = task.get("associations") or task.get("attributes") or {}
    if isinstance(what, list):
        return {"attribute": str(what[0]), "identity": "", "options": ()}
    source = what.get("source") or document.get("stereotypes", {}).get("source", "")
    of_source = Association.objects.filter(source__name=source).select_related("group", "attribute")
    if pairs := what.get("pairs"):
        of_source = of_source.filter(group__name__iexact=pairs[0][0], attribute__text=pairs[0][1])
    images = Image.objects.filter(image_set__name=task.get("image_set", ""))
    if chosen := what.get("groups"):
        of_source, images = of_source.filter(group__name__in=chosen), images.filter(group__name__in=chosen)
    found = of_source.order_by("pk").first()
    group = found.group if found else None
    options: tuple[str, ...] = ()
    if task.get("kind") == TaskKind.DEPICTION:
        image = images.select_related("group").first()
        group = image.group if image else group
        texts = Attribute.objects.filter(associations__source__name=source).order_by("pk").distinct()
        options = tuple(texts.values_list("text", flat=True)[: max(1, int(task.get("page_size", 5)) - 1)])
    return {
        "attribute": found.attribute.text if found else "sombrero",
        "identity": shown_identity(
            task.get("kind", ""), name=group.name, demonym=group.demonym, singular=group.singular
        )
        if group
        else "Mexican",
        "options": options,
    }


def suggestions(task: Document, *, document: Document) -> dict[str, Sequence[str]]:
    """Suggested groups and attributes for check items: at most _MAX_SUGGESTIONS of what the task shows."""
    what = task.get("associations") or task.get("attributes") or {}
    if isinstance(what, list):
        return {"groups": (), "attributes": sorted(map(str, what))[:_MAX_SUGGESTIONS]}
    source = what.get("source") or document.get("stereotypes", {}).get("source", "")
    shown = Association.objects.filter(source__name=source)
    images = Image.objects.filter(image_set__name=task.get("image_set", ""))
    if chosen := what.get("groups"):
        shown, images = shown.filter(group__name__in=chosen), images.filter(group__name__in=chosen)
    groups = images if task.get("kind") == TaskKind.DEPICTION else shown
    return {
        "groups": _distinct_values(groups, "group__name"),
        "attributes": _distinct_values(shown, "attribute__text"),
    }


def plan_of_images(document: Document) -> Plan:
    """What the image task of `document` shows, whatever else the study lacks. Raises StudyError with a key as
    if it were the only task."""
    task = next(task for task in document["tasks"] if task.get("kind") == TaskKind.DEPICTION)
    named = ("kind", "image_set", "page_size", "attributes", "shown", "seed")
    content = {
        "name": "a",
        "title": "-",
        "contact": "-",
        "consent": {"text": "-"},
        "stereotypes": document.get("stereotypes", {}),
        "tasks": [{key: task[key] for key in named if key in task}],
    }
    file = read_study_text(tomli_w.dumps(content))
    of = file.stereotype_source
    source = get_source(of, key="stereotypes.source") if of else None
    ((_task, plan),) = plan_tasks(file, source=source)
    return plan


def gold_candidates(document: Document) -> list[tuple[int, tuple[str, ...]]]:
    """Images with a file, and the attributes on the first page of each: one image of every group in turn, in
    the order in which the study shows them. Raises as `plan_of_images`."""
    plan = plan_of_images(document)
    groups = dict(Image.objects.filter(image_set=plan.image_set).exclude(file="").values_list("pk", "group"))
    by_group: dict[int, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
    for unit in plan.units():
        if unit.page == 1 and unit.image_id in groups:
            texts = tuple(option.attribute for option in unit.options if option.attribute)
            by_group[groups[unit.image_id]].append((unit.image_id, texts))
    return [found for turn in zip_longest(*by_group.values()) for found in turn if found is not None]


def _distinct_values(rows: QuerySet[Any], field: str) -> list[str]:
    return list(rows.order_by(field).values_list(field, flat=True).distinct()[:_MAX_SUGGESTIONS])


def _label(kind: str) -> str:
    return str(TaskKind(kind).label) if kind in TaskKind.values else kind
