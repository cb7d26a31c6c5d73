"""The images and attributes of a study of what images depict, while it is set up: from a ZIP and a table, or
from what is here already."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.catalogue.services import SourceDetails
from annotation.imports.readers.pairs import LineError
from annotation.imports.services.pairs import add_source, check_pairs
from annotation.models import AuditEvent, Axis, Image, ImageSet, Source, TaskKind
from annotation.setup import services as setup
from annotation.setup.queries import plan_of_images
from annotation.studies.errors import StudyError
from generation.uploads.attribute_table import AttributeTable
from generation.uploads.bundles import Bundle
from generation.uploads.services import uploads
from generation.uploads.tables import read_table

Document = dict[str, Any]

_ERRORS_SHOWN = 20
_EVERY = "none"
"""The rule by which every attribute counts as visual, in a study file."""


class StudyImagesRefused(ValueError):
    """Images or attributes that a study cannot use. `field`: of the form; `errors`: what is wrong, each with
    what to do."""

    def __init__(self, field: str, errors: Sequence[str]) -> None:
        super().__init__(errors[0])
        self.field, self.errors = field, errors


@dataclass(frozen=True)
class Given:
    """What a lead gave: a bundle of images or the name of a set, a table or the name of a source."""

    bundle: Bundle | None
    image_set: str
    attributes: AttributeTable | None
    source: str
    axis: Axis
    new_groups: bool
    allow_fewer: bool
    licence: str = ""


@dataclass
class Filled:
    """The changed document, and what was done, in sentences."""

    document: Document
    notes: list[str] = field(default_factory=list)


def shows_images(document: Document) -> bool:
    return any(task.get("kind") == TaskKind.DEPICTION for task in document.get("tasks", []))


def draw_of(task: Document) -> dict[str, Any]:
    """The keys by which a task of images draws its attributes; empty if it does not draw."""
    attributes = task.get("attributes")
    return attributes if isinstance(attributes, dict) else {}


@transaction.atomic
def fill(*, name: str, document: Document, given: Given, by: User) -> Filled:
    """Import what was given, and save the document of the study `name` with it: all or nothing.

    Raises FileRefused, UploadRefused, StudyImagesRefused, SourceRefused and SetupRefused."""
    filled = Filled({**document, "tasks": [{**task} for task in document["tasks"]]})
    task = next(task for task in filled.document["tasks"] if task.get("kind") == TaskKind.DEPICTION)
    title = str(document.get("title") or name)
    task["image_set"] = given.image_set
    if given.bundle is not None:
        own = own_set(name, document=document, by=by)
        imported = uploads.import_images(
            bundle=given.bundle,
            table=read_table(given.bundle),
            target=uploads.TargetSet(
                name=own.name if own else _unused(name, ImageSet), title=title, licence=given.licence
            ),
            by=by,
            axis=given.axis,
            new_groups=given.new_groups,
        )
        task["image_set"] = imported.image_set.name
        filled.notes += imported.summary()
    rule = {**filled.document.get("stereotypes", {}), "source": given.source}
    if given.attributes is not None:
        source = _add_attributes(name, title, given.attributes, given=given, by=by, notes=filled.notes)
        # Without votes each pair has one, the lead's.
        threshold = 2 if given.attributes.voted else 1
        rule = {"source": source.name, "pool": given.attributes.pool, "threshold": threshold}
    filled.document["stereotypes"] = rule
    task.pop("shown", None)
    before = draw_of(task)
    visual = before.get("visual") or _EVERY
    task["attributes"] = {"visual": visual, **({"allow_fewer": True} if given.allow_fewer else {})}
    notes = [_keep_groups(task, before["groups"])] if before.get("groups") else []
    if given.attributes is not None and visual != _EVERY:
        notes.append(_keep_visual(filled.document, task))
    _check_draw(filled.document)
    filled.document, note = setup.free_checks(filled.document, before=document)
    filled.notes += [each for each in (*notes, note) if each]
    filled.document = setup.place_checks(filled.document)
    setup.save(user=by, name=name, document=filled.document)
    return filled


def own_set(name: str, *, document: Document, by: User) -> ImageSet | None:
    """The set to add a ZIP to: what the study `name` shows, if it is named after the study, all its images
    are uploads of `by`, and no other study shows it or is about to. None: a new set is made."""
    pattern = re.compile(rf"{re.escape(name)}|{re.escape(name[:70])}-\d+")
    shown = [task.get("image_set") or "" for task in document["tasks"]]
    found = ImageSet.objects.filter(name__in=[each for each in shown if pattern.fullmatch(each)]).first()
    if found is None or found.task_set.exclude(study__name=name).exists():
        return None
    others = (begun for of, begun in setup.documents(user=by).items() if of != name)
    if any(task.get("image_set") == found.name for begun in others for task in begun.get("tasks", [])):
        return None
    uploaded = AuditEvent.objects.filter(what=uploads.IMPORTED, by=by, details__set=found.name)
    made = sum(details["created"] for details in uploaded.values_list("details", flat=True))
    return found if made and made == found.images.count() else None


def _unused(name: str, model: type[Model]) -> str:
    """`name`, or the first of name-2, name-3 ... that no row has."""
    taken = set(model._default_manager.filter(name__startswith=name[:70]).values_list("name", flat=True))
    return next(each for n in count(1) if (each := name if n == 1 else f"{name[:70]}-{n}") not in taken)


def _add_attributes(
    name: str, title: str, table: AttributeTable, *, given: Given, by: User, notes: list[str]
) -> Source:
    checked = check_pairs(table.pairs, axis=given.axis, create_groups=given.new_groups)
    if checked.errors:
        lines = [_line(error, identity=table.identity) for error in checked.errors[:_ERRORS_SHOWN]]
        if further := len(checked.errors) - len(lines):
            lines.append(_("and %(number)s more.") % {"number": further})
        raise StudyImagesRefused("attributes", lines)
    origin = f"Uploaded with the study '{name}'."
    if not table.voted:
        origin += " One out-region vote: its lead's."
    source = add_source(
        name=_unused(name, Source),
        details=SourceDetails(title=title, licence="", origin=origin, citation=""),
        axis=given.axis,
        checked=checked,
        by=by,
    )
    number = len(checked.pairs)
    notes.append(
        ngettext(
            "%(number)d pair of group and attribute saved.",
            "%(number)d pairs of group and attribute saved.",
            number,
        )
        % {"number": number}
    )
    return source


def _line(error: LineError, *, identity: str) -> str:
    """`identity`: the column of groups, as the lead calls it."""
    place = _("Row %(row)d, column %(column)s") if error.column else _("Row %(row)d")
    column = identity if error.column == "identity" else error.column
    return f"{place % {'row': error.row, 'column': column}}: {error.problem} {error.cure}"


def _keep_visual(document: Document, task: Document) -> str:
    """Let every attribute count as visual if by the rule of `task`, a copied one, no stereotype of the table
    is. What was done, in a sentence."""
    try:
        _check_draw(document)
    except StudyImagesRefused as refused:
        if refused.field != "attributes":
            return ""
        task["attributes"]["visual"] = _EVERY
        return _(
            "By the study's rule of which attributes are visual, no stereotype of the table is. Every "
            "attribute counts as visual now; the page “What is judged” has the rule."
        )
    return _(
        "The study keeps its rule of which attributes are visual; others of the table are not shown. The "
        "page “What is judged” has the rule."
    )


def _keep_groups(task: Document, groups: Sequence[str]) -> str:
    """Let `task`, a copied one, judge those of its `groups` that the images show, or all that these show if
    it is none of them. What was done, in a sentence; empty if the images show no other group."""
    shown = {*Image.objects.filter(image_set__name=task["image_set"]).values_list("group__name", flat=True)}
    kept = [group for group in groups if group in shown]
    if kept:
        task["attributes"]["groups"] = kept
    if {*kept} == shown:
        return ""
    if not kept:
        return _(
            "The images show none of the groups that the study was limited to. All groups of the images are "
            "judged now; the page “What is judged” can limit them."
        )
    return _(
        "The study judges images of these groups alone, as before: %(groups)s. The page “What is judged” can "
        "change that."
    ) % {"groups": ", ".join(kept)}


def _check_draw(document: Document) -> None:
    """Raise StudyImagesRefused if the images and the attributes do not fit. Other errors of the study are
    shown before it opens."""
    try:
        plan_of_images(document)
    except StudyError as error:
        if lacking := error.details.get("lacking"):
            message = _(
                "Too few attributes that are not associated with the group to draw as many random ones as it "
                "has stereotypes: %(lacking)s. Add attributes of other groups, or allow fewer."
            )
            raise StudyImagesRefused("allow_fewer", [message % {"lacking": lacking}]) from error
        if "votes" in error.details:
            message = _(
                "No group of the images has a stereotype among these attributes. Write the groups as in the "
                "table of the images, and mark at least one attribute as stereotypical."
            )
            raise StudyImagesRefused("attributes", [message]) from error
