"""What the page at work shows: units as JSON, and one's own last answers. Nothing here writes."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import OuterRef, Subquery
from django.urls import reverse

from annotation.core.prepared import Param, Prepared
from annotation.core.translation import language_fallbacks, translation
from annotation.models import (
    Box,
    Enrolment,
    Judgement,
    Option,
    OptionRole,
    Purpose,
    Response,
    TaskKind,
    Unit,
)
from annotation.studies.study_file.default_wordings import usual_wording

JSON = dict[str, Any]

_PLACES = re.compile(r"(\[attr\]|\[id\])")
_COLUMNS = (
    "pk",
    "role",
    "attribute__text",
    "unit_id",
    "unit__page",
    "unit__attribute__text",
    "unit__association__attribute__text",
    "unit__association__group__demonym",
    "unit__association__group__name",
    "unit__image_id",
    "unit__image__file",
    "unit__image__width",
    "unit__image__height",
    "unit__task__kind",
    "unit__task__wording",
    "unit__task__translations",
)


@dataclass(frozen=True)
class OwnAnswer:
    """One of somebody's own current answers: `said` is what they said of each option, by its id."""

    response: Response
    said: dict[int, JSON]


def described(
    *, study_id: int, keys: Mapping[int, UUID], training: Sequence[int] = (), language: str = ""
) -> list[JSON]:
    """The study's units in `keys` (unit id -> client key) as the page shows them, in that order, in one
    query.

    Options are in the order in which this annotator sees them: shuffled by the key, none of the above
    last. What a unit is for is not told, except for those in `training` (DESIGN §5).
    """
    if not keys:
        return []  # a query for no unit is none that could be prepared
    rows: dict[int, list[JSON]] = {unit_id: [] for unit_id in keys}
    units = {f"unit_{number}": unit_id for number, unit_id in enumerate(keys)}
    for row in _options(len(units)).all(study=study_id, **units):
        rows[row["unit_id"]].append(row)
    return [
        _unit(shown_order(rows[unit_id], key=key), key=key, training=unit_id in training, language=language)
        for unit_id, key in keys.items()
        if rows[unit_id]
    ]


@cache
def _options(units: int) -> Prepared[JSON]:
    """The options of so many units."""
    asked: Any = [Param(f"unit_{number}") for number in range(units)]
    options = Option.objects.filter(unit__pk__in=asked, unit__task__study=Param("study"))
    last_page = (
        Unit.objects.filter(task=OuterRef("unit__task"), image=OuterRef("unit__image"))
        .order_by("-page")
        .values("page")[:1]
    )
    return Prepared(options.order_by("unit_id", "position").values(*_COLUMNS, pages=Subquery(last_page)))


def shown_order(options: Sequence[JSON], *, key: UUID) -> list[JSON]:
    """Options in a random order that the key decides; none of the above stays last (PROTOCOL §5)."""
    last = [option for option in options if option["role"] == OptionRole.NONE_OF_ABOVE]
    rest = [option for option in options if option["role"] != OptionRole.NONE_OF_ABOVE]
    random.Random(key.int).shuffle(rest)  # noqa: S311 - an order to look at, not a secret
    return rest + last


def last_answers(*, enrolment: Enrolment, limit: int = 10) -> list[OwnAnswer]:
    """Somebody's own last answers, the newest first. Training is left out; gold items are in it, since
    whatever is missing could be told to be gold."""
    responses = list(
        Response.objects.filter(
            annotator=enrolment.annotator_id,
            unit__task__study=enrolment.study_id,
            current=True,
            withdrawn_at__isnull=True,
        )
        .exclude(unit__purpose=Purpose.TRAINING)
        .order_by("-submitted_at", "-pk")[:limit]
    )
    said: dict[int, dict[int, JSON]] = {response.pk: {} for response in responses}
    by_judgement: dict[int, JSON] = {}
    for judgement in Judgement.objects.filter(response__in=said):
        by_judgement[judgement.pk] = said[judgement.response_id][judgement.option_id] = {
            "value": judgement.value,
            "position": judgement.position,
            "justification": judgement.justification,
            "whole_image": judgement.whole_image,
            "boxes": [],
        }
    for box in Box.objects.filter(judgement__response__in=said).order_by("pk"):
        by_judgement[box.judgement_id]["boxes"].append([box.x0, box.y0, box.x1, box.y1])
    return [OwnAnswer(response=response, said=said[response.pk]) for response in responses]


def _unit(options: Sequence[JSON], *, key: UUID, training: bool, language: str) -> JSON:
    row = options[0]
    kind = row["unit__task__kind"]
    attribute = row["unit__attribute__text"] or row["unit__association__attribute__text"] or ""
    identity = row["unit__association__group__demonym"] or row["unit__association__group__name"] or ""
    wording, of = _wording(row, language)
    return {
        "unit": row["unit_id"],
        "client_key": str(key),
        "kind": kind,
        "training": training,
        "statement": _statement(wording, attribute=attribute, identity=identity),
        "language": of,
        "attribute": attribute,
        "identity": identity,
        "options": [
            {
                "id": option["pk"],
                "position": position,
                "text": option["attribute__text"] or "",
                "none": option["role"] == OptionRole.NONE_OF_ABOVE,
            }
            for position, option in enumerate(options, 1)
        ],
        "image": _image(row) if kind == TaskKind.DEPICTION else None,
        "page": row["unit__page"],
        "pages": row["pages"] or row["unit__page"],
    }


def _wording(row: JSON, language: str) -> tuple[str, str]:
    """The task's wording in the language asked for, its own or, where it has none and is worded as usual,
    the program's; else as written. And which language that is."""
    if said := translation(row["unit__task__translations"] or {}, "wording", language):
        return said
    written = row["unit__task__wording"]
    for name in language_fallbacks(language):
        if usual := usual_wording(written, name):
            return usual, name
    return written, settings.LANGUAGE_CODE


def _statement(wording: str, *, attribute: str, identity: str) -> list[tuple[str, str]]:
    """The wording in parts: ("text", ...), ("attribute", ...), ("identity", ...)."""
    named = {"[attr]": ("attribute", attribute), "[id]": ("identity", identity)}
    return [named.get(part, ("text", part)) for part in _PLACES.split(wording) if part]


def _image(row: JSON) -> JSON:
    kept = bool(row["unit__image__file"])
    return {
        "url": reverse("image_file", args=[row["unit__image_id"]]) if kept else "",
        "width": row["unit__image__width"],
        "height": row["unit__image__height"],
    }
