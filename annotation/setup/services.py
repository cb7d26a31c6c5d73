"""Studies being set up in the browser. A *document* is the content of a study file as nested dicts, complete
or not; those of an account are in a row of the session table, so they survive logging out."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import cycle
from typing import TYPE_CHECKING, Any

import tomli_w
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import transaction
from django.http import Http404
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.models import Image, ImageSet, Source, Study, StudyStatus, TaskKind
from annotation.models.studies import DEMO_CONTACT
from annotation.studies.errors import StudyError, StudyRefused, gettext_noop
from annotation.studies.services import studies, study_files
from annotation.studies.study_file.checks import PURPOSES
from annotation.studies.study_file.marks import is_marked
from annotation.studies.study_file.reading import StudyFile, read_study_text
from annotation.studies.study_file.writing import study_toml
from annotation.studies.study_templates import registry
from annotation.studies.units.checks import with_checks
from annotation.studies.units.planned import Plan

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Document = dict[str, Any]

MOST_DRAFTS = 50
LARGEST_BYTES = 5_000_000
_EXPIRY = timedelta(days=365)


class SetupRefused(StudyError):
    """A document that cannot be saved or made a draft. The message says why and what to do."""


class AlreadyOpened(Http404):
    """A study that the user leads is no longer being set up: it was opened, perhaps in another window."""


def documents(*, user: User) -> dict[str, Document]:
    """Study name -> document, for everything that `user` is setting up."""
    row = Session.objects.filter(pk=_key(user)).first()
    documents: dict[str, Document] = row.get_decoded() if row is not None else {}
    return documents


def save(*, user: User, name: str, document: Mapping[str, Any]) -> None:
    """Save `document` under `name`. Raises SetupRefused if there are too many, or if it is too large."""
    size = len(json.dumps(document))
    if size > LARGEST_BYTES:
        raise SetupRefused(
            _(
                "A study of %(size)s MB is too large to be set up in the browser. Ask an administrator to "
                "make it from a study file."
            )
            % {"size": f"{size / 1e6:.1f}"}
        )
    with _changing(user) as saved:
        if name not in saved and len(saved) >= MOST_DRAFTS:
            raise SetupRefused(
                _("You are already setting up %(number)d studies. Discard one first.")
                % {"number": MOST_DRAFTS}
            )
        saved[name] = dict(document)


def discard(*, user: User, name: str) -> None:
    """Delete the document. A draft created from it is kept."""
    with _changing(user) as saved:
        saved.pop(name, None)


def to_toml(document: Mapping[str, Any]) -> str:
    """The text of the study file with the content `document`."""
    return tomli_w.dumps(document, multiline_strings=True)


def document_from_study(study: Study) -> Document:
    """The content of the study file of `study`. It lists what was drawn, since that is what is shown."""
    return tomllib.loads(study_files.to_toml(study=study))


def begun(*, user: User, name: str) -> tuple[Document, Study | None]:
    """The document that `user` sets up under `name`, and its draft if there is one. Raises Http404 if there
    is none, or if the user may not edit it, and AlreadyOpened if the study is no longer a draft."""
    study = Study.objects.filter(name=name).first()
    if study is not None and study.status != StudyStatus.DRAFT and policies.leads(user, study):
        raise AlreadyOpened
    may = policies.may_create_studies(user) and (study is None or policies.may_set_up(user, study))
    document = documents(user=user).get(name) if may else None
    if document is None and may and study is not None:
        document = document_from_study(study)
    if document is None:
        raise Http404
    return document, study


def document_of_copy(study: Study) -> Document:
    """The content of a study file that makes such a study again: its settings, texts and translations, and
    what it shows by the rule by which it was drawn.

    Not its name, title, leads and what it told a crowd platform, nor what the demonstration says about
    itself. A task whose units the format cannot express begins without them.
    """
    try:
        file = study_files.to_copy(study=study)
    except StudyRefused:
        file = study_files.to_study_file(study=study, with_units=False)
    document: Document = tomllib.loads(study_toml(replace(file, completion_code="", completion_url="")))
    for key in ("name", "title", "leads"):
        document.pop(key, None)
    translations = {
        code: {key: text for key, text in texts.items() if key != "title"}
        for code, texts in document.pop("translations", {}).items()
    }
    if kept := {code: texts for code, texts in translations.items() if texts}:
        document["translations"] = kept
    if study.contact == DEMO_CONTACT:
        for key in ("contact", "description", "consent", "translations"):
            document.pop(key, None)
        document.get("care", {}).pop("support_text", None)
    return document


def place_checks(document: Document) -> Document:
    """`document` with suggested check items of images put on the first images of the chosen set."""
    placed: Document = copy.deepcopy(document)
    for task in placed.get("tasks", []):
        if task.get("kind") != TaskKind.DEPICTION:
            continue
        checks = [check for purpose in PURPOSES for check in task.get(purpose, [])]
        free = [check for check in checks if "group" not in check or is_marked(check["group"])]
        images = Image.objects.filter(image_set__name=task.get("image_set", ""))
        first = images.order_by("index", "group__name").values_list("group__name", "index")[: len(free)]
        for check, (group, index) in zip(free, cycle(first), strict=False):
            check["group"], check["image"] = group, index
    return placed


def free_checks(document: Document, *, before: Document) -> tuple[Document, str]:
    """`document` without the check items that are about the images of `before`, if it shows another set: an
    image of the same number shows something else. With a sentence about it, empty if there were none.

    The attention checks of templates ask about what no picture of a person shows, so they hold for any image:
    `place_checks` puts them on new ones.
    """
    anywhere = _attention_of_templates()
    freed: Document = copy.deepcopy(document)
    sets = {each.get("kind"): each.get("image_set") for each in before.get("tasks", [])}
    removed = 0
    for task in freed.get("tasks", []):
        shown_before = sets.get(task["kind"]) if task.get("kind") == TaskKind.DEPICTION else None
        if not shown_before or shown_before == task.get("image_set"):
            continue
        for purpose in PURPOSES:
            checks = task.pop(purpose, [])
            kept = [each for each in checks if purpose == "attention" and _asked(each) in anywhere]
            removed += len(checks) - len(kept)
            for check in kept:
                check.pop("group", None)
                check.pop("image", None)
            if kept:
                task[purpose] = kept
    note = ngettext(
        "%(number)d item with a known answer was about the images of before, and was removed.",
        "%(number)d items with a known answer were about the images of before, and were removed.",
        removed,
    )
    return freed, note % {"number": removed} if removed else ""


def _attention_of_templates() -> set[tuple[tuple[str, ...], ...]]:
    tasks = [task for one in registry.TEMPLATES for task in registry.document(one.name).get("tasks", [])]
    return {_asked(check) for task in tasks for check in task.get("attention", []) if "shown" in check}


def _asked(check: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    return tuple(check.get("shown", ())), tuple(check.get("expected", ()))


def save_draft(
    *,
    user: User,
    name: str,
    document: Mapping[str, Any],
    may_name_leads: bool,
    opening: bool = False,
    texts_checked: bool = False,
) -> studies.AppliedFile:
    """Create or update the draft study of `document`; with `opening`, open it too. `texts_checked`: as in
    `studies.change_status`.

    Whoever creates a study leads it. Only admins (`may_name_leads`) can name other leads, because leads must
    not find out which accounts exist. Raises StudyFileError, StudyRefused or SetupRefused, and then writes
    nothing.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).filter(name=name).first()
        before = set(study.leads.values_list("username", flat=True)) if study is not None else set()
        if study is not None and not may_name_leads and user.get_username() not in before:
            raise SetupRefused(
                _("There is another study named '%(name)s'. Choose another name.") % {"name": name}
            )
        leads = {str(lead) for lead in document.get("leads", [])}
        if study is None:
            leads.add(user.get_username())
        elif not may_name_leads:
            leads = leads or before
        others = leads - before - {user.get_username()}
        if others and not may_name_leads:
            raise SetupRefused(
                "leads: only an administrator can name other leads. Remove them.",
                page_message=gettext_noop(
                    "The study file names other leads, which only an administrator can do. "
                    "Remove them from the file and upload it again."
                ),
            )
        file = read_study_text(to_toml({**document, "name": name, "leads": sorted(leads)}))
        made = studies.apply_file(file=file, by=user)
        if not opening:
            save(user=user, name=name, document={**document, "leads": sorted(leads)})
            return made
        if made.study.status == StudyStatus.DRAFT:  # another request may have opened it just now
            studies.change_status(study=made.study, to=StudyStatus.OPEN, by=user, texts_checked=texts_checked)
        discard(user=user, name=name)
        return made


def find_check_error(*, file: StudyFile) -> StudyError | None:
    """The error of the first check item that names something that does not exist; None if there is none.
    Suggestions that are still marked are left for later."""
    sets = {each.name: each for each in ImageSet.objects.filter(name__in=[t.image_set for t in file.tasks])}
    for number, task in enumerate(file.tasks, 1):
        image_set = sets.get(task.image_set)
        if task.pages is not None and image_set is None:
            continue  # reported with the image set itself
        if (
            task.associations is not None
            and not Source.objects.filter(name=task.associations.source).exists()
        ):
            continue  # as above
        checks = tuple(each for each in task.checks if not is_marked(each.group, each.attribute, *each.shown))
        task = replace(task, checks=checks)
        try:
            plan = Plan(units=lambda: iter(()), image_set=image_set)
            with_checks(plan, task, key=f"tasks[{number}]")
        except StudyRefused as refused:
            return refused
    return None


@contextmanager
def _changing(user: User) -> Iterator[dict[str, Document]]:
    """Read, change and write the row in one transaction, so that two windows do not overwrite each other."""
    with transaction.atomic():
        # Locks the account, because its documents may not have a row yet.
        get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        saved = documents(user=user)
        yield saved
        Session.objects.save(_key(user), saved, timezone.now() + _EXPIRY)


def _key(user: User) -> str:
    return salted_hmac("annotation.setups", str(user.pk), algorithm="sha256").hexdigest()[:40]
