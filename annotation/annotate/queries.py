"""What the annotation page shows: units as JSON, and an annotator's last answers. Nothing here writes."""

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse

from annotation.assignment import lease_keys
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
from annotation.studies.study_file.default_wordings import shown_identity, translated_wording

JSON = dict[str, Any]

_PLACEHOLDERS = re.compile(r"(\[attr\]|\[id\])")
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
    "unit__association__group__singular",
    "unit__image_id",
    "unit__image__file",
    "unit__image__width",
    "unit__image__height",
    "unit__task__kind",
    "unit__task__wording",
    "unit__task__translations",
)


def units_as_json(
    *, study_id: int, keys: Mapping[int, UUID], training: Sequence[int] = (), language: str = ""
) -> list[JSON]:
    """The study's units in `keys` (unit id -> client key) as the page shows them, in that order, in one
    query. Options are shuffled by the key, none of the above last. Only of units in `training` is the purpose
    revealed (DESIGN §5)."""
    if not keys:
        return []  # a query for no units cannot be prepared
    rows: dict[int, list[JSON]] = {unit_id: [] for unit_id in keys}
    units = {f"unit_{number}": unit_id for number, unit_id in enumerate(keys)}
    for row in _options_query(len(units)).all(study=study_id, **units):
        rows[row["unit_id"]].append(row)
    return [
        _unit(shown_order(rows[unit_id], key=key), key=key, training=unit_id in training, language=language)
        for unit_id, key in keys.items()
        if rows[unit_id]
    ]


@cache
def _options_query(units: int) -> Prepared[JSON]:
    """The query for the options of so many units."""
    params: Any = [Param(f"unit_{number}") for number in range(units)]
    options = Option.objects.filter(unit__pk__in=params, unit__task__study=Param("study"))
    last_page = (
        Unit.objects.filter(task=OuterRef("unit__task"), image=OuterRef("unit__image"))
        .order_by("-page")
        .values("page")[:1]
    )
    return Prepared(options.order_by("unit_id", "position").values(*_COLUMNS, pages=Subquery(last_page)))


def shown_order(options: Sequence[JSON], *, key: UUID) -> list[JSON]:
    """The options shuffled by the key; none of the above stays last (PROTOCOL §5)."""
    last = [option for option in options if option["role"] == OptionRole.NONE_OF_ABOVE]
    rest = [option for option in options if option["role"] != OptionRole.NONE_OF_ABOVE]
    random.Random(key.int).shuffle(rest)  # noqa: S311 - an order, not a secret
    return rest + last


def correctable_answers(*, enrolment: Enrolment) -> QuerySet[Response]:
    """An annotator's current answers without training. Gold items are included, since leaving them out would
    reveal which items are gold."""
    return Response.objects.filter(
        annotator=enrolment.annotator_id,
        unit__task__study=enrolment.study_id,
        current=True,
        withdrawn_at__isnull=True,
    ).exclude(unit__purpose=Purpose.TRAINING)


def correction_key(*, enrolment: Enrolment, earlier: Response) -> UUID:
    """The key for the next revision of `earlier`; always the same until that revision exists."""
    return lease_keys.fixed(
        annotator_id=enrolment.annotator_id,
        unit_id=earlier.unit_id,
        occasion=f"revision {earlier.revision + 1} of {earlier.pk}",
    )


def last_answers(*, enrolment: Enrolment, language: str) -> list[JSON]:
    """An annotator's last ten answers, newest first: `item`, with the key for a correction, `judgements`
    (option id -> their judgement of it) and `submitted_at`."""
    responses = list(correctable_answers(enrolment=enrolment).order_by("-submitted_at", "-pk")[:10])
    judgements: dict[int, dict[int, JSON]] = {response.pk: {} for response in responses}
    by_id: dict[int, JSON] = {}
    for judgement in Judgement.objects.filter(response__in=judgements):
        by_id[judgement.pk] = judgements[judgement.response_id][judgement.option_id] = {
            "value": judgement.value,
            "position": judgement.position,
            "justification": judgement.justification,
            "whole_image": judgement.whole_image,
            "boxes": [],
        }
    for box in Box.objects.filter(judgement__response__in=judgements).order_by("pk"):
        by_id[box.judgement_id]["boxes"].append([box.x0, box.y0, box.x1, box.y1])
    keys = {response.unit_id: correction_key(enrolment=enrolment, earlier=response) for response in responses}
    units = units_as_json(study_id=enrolment.study_id, keys=keys, language=language)
    return [
        {"item": unit, "judgements": judgements[response.pk], "submitted_at": response.submitted_at}
        for response, unit in zip(responses, units, strict=True)
    ]


def _unit(options: Sequence[JSON], *, key: UUID, training: bool, language: str) -> JSON:
    row = options[0]
    kind = row["unit__task__kind"]
    attribute = row["unit__attribute__text"] or row["unit__association__attribute__text"] or ""
    identity = shown_identity(
        kind,
        name=row["unit__association__group__name"] or "",
        demonym=row["unit__association__group__demonym"] or "",
        singular=row["unit__association__group__singular"] or "",
    )
    wording, wording_language = _wording(row, language)
    return {
        "unit": row["unit_id"],
        "client_key": str(key),
        "kind": kind,
        "training": training,
        "statement": _statement(wording, attribute=attribute, identity=identity),
        "language": wording_language,
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
    """The task's wording in `language`, and the language it is in. Without a translation of its own, a task
    with the default wording gets the program's translation, and any other the wording as written."""
    if translated := translation(row["unit__task__translations"] or {}, "wording", language):
        return translated
    wording = row["unit__task__wording"]
    for name in language_fallbacks(language):
        if usual := translated_wording(wording, name):
            return usual, name
    return wording, settings.LANGUAGE_CODE


def _statement(wording: str, *, attribute: str, identity: str) -> list[tuple[str, str]]:
    """The wording in parts: ("text", ...), ("attribute", ...), ("identity", ...)."""
    values = {"[attr]": ("attribute", attribute), "[id]": ("identity", identity)}
    return [values.get(part, ("text", part)) for part in _PLACEHOLDERS.split(wording) if part]


def _image(row: JSON) -> JSON:
    stored = bool(row["unit__image__file"])
    return {
        "url": reverse("image_file", args=[row["unit__image_id"]]) if stored else "",
        "width": row["unit__image__width"],
        "height": row["unit__image__height"],
    }
