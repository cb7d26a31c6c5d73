"""Studies being set up in the browser: what somebody has filled in so far, kept as a study file's content.

A *document* is the content of a study file (docs/studies.md) as nested dicts, complete or not. Each
account has a row of its own in the table of sessions, whose key only this server can tell, so what was
filled in survives logging out and is there in another browser. From the moment a study is whole it is
also a draft in the database (studies/services/studies.py), which everybody who leads it sees.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import tomli_w
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.models import ImageSet, Study, StudyStatus
from annotation.studies.errors import StudyError, StudyRefused, gettext_noop
from annotation.studies.services import studies, study_files
from annotation.studies.study_file.reading import StudyFile, read_study_text
from annotation.studies.units.checks import with_checks
from annotation.studies.units.planned import Plan

if TYPE_CHECKING:
    from django.contrib.auth.models import User

Document = dict[str, Any]

MOST_DRAFTS = 50
LARGEST_BYTES = 5_000_000
_EXPIRY = timedelta(days=365)


class SetupRefused(StudyError):
    """Something that cannot be kept or made. The message says why and what to do."""


def documents(*, user: User) -> dict[str, Document]:
    """Everything that `user` is setting up: study name -> document."""
    row = Session.objects.filter(pk=_key(user)).first()
    found: dict[str, Document] = row.get_decoded() if row is not None else {}
    return found


def save(*, user: User, name: str, document: Mapping[str, Any]) -> None:
    """Keep `document` under `name`. Raises SetupRefused if there are too many, or it is too large."""
    size = len(json.dumps(document))
    if size > LARGEST_BYTES:
        raise SetupRefused(
            _(
                "A study of %(size)s MB is too large to be set up in the browser. Ask an administrator to "
                "make it from a study file."
            )
            % {"size": f"{size / 1e6:.1f}"}
        )

    def put(kept: dict[str, Document]) -> None:
        if name not in kept and len(kept) >= MOST_DRAFTS:
            raise SetupRefused(
                _("You are already setting up %(number)d studies. Discard one first.")
                % {"number": MOST_DRAFTS}
            )
        kept[name] = dict(document)

    _change(user, put)


def discard(*, user: User, name: str) -> None:
    """Forget what was filled in. A draft that was made of it stays."""
    _change(user, lambda kept: kept.pop(name, None))


def to_toml(document: Mapping[str, Any]) -> str:
    """The study file that `document` is the content of."""
    return tomli_w.dumps(document, multiline_strings=True)


def document_from_study(study: Study) -> Document:
    """What a study file of `study` holds: what was drawn is listed, since that is what is shown."""
    return tomllib.loads(study_files.to_toml(study=study))


def save_draft(
    *, user: User, name: str, document: Mapping[str, Any], may_name_leads: bool, opening: bool = False
) -> studies.AppliedFile:
    """Make the draft study of `document`, or bring it up to date; `opening` opens it as well.

    Whoever makes a study leads it. Only who `may_name_leads` (an admin) makes others leads: to a lead,
    whether there is an account of a name is none of their business. Raises StudyFileError, StudyRefused
    or SetupRefused; nothing is written then.
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
        foreign = leads - before - {user.get_username()}
        if foreign and not may_name_leads:
            raise SetupRefused(
                "leads: only an administrator can make others leads. Leave them out.",
                page_message=gettext_noop(
                    "The study file names other leads, which only an administrator can do. "
                    "Remove them from the file and upload it again."
                ),
            )
        file = read_study_text(to_toml({**document, "name": name, "leads": sorted(leads)}))
        made = studies.apply_file(file=file, by=f"user {user.pk}")
        if opening and made.study.status == StudyStatus.DRAFT:
            studies.change_status(study=made.study, to=StudyStatus.OPEN, by=f"user {user.pk}")
            discard(user=user, name=name)
        else:
            save(user=user, name=name, document={**document, "leads": sorted(leads)})
        return made


def find_check_error(*, file: StudyFile) -> StudyError | None:
    """What is wrong with the first item with a known right answer that names what there is not; None if all
    name what there is."""
    sets = {each.name: each for each in ImageSet.objects.filter(name__in=[t.image_set for t in file.tasks])}
    for number, task in enumerate(file.tasks, 1):
        image_set = sets.get(task.image_set)
        if task.pages is not None and image_set is None:
            continue  # that is said of the images themselves
        try:
            with_checks(
                Plan(units=lambda: iter(()), image_set=image_set),
                task.checks,
                kind=task.kind,
                source=task.associations.source if task.associations is not None else None,
                key=f"tasks[{number}]",
            )
        except StudyRefused as refused:
            return refused
    return None


def _change(user: User, change: Callable[[dict[str, Document]], object]) -> None:
    """Read, change and write the row in one go, so that two windows do not overwrite each other's."""
    key = _key(user)
    with transaction.atomic():
        # The account's row stands for the drafts, which may not have a row yet.
        get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        kept = documents(user=user)
        change(kept)
        Session.objects.save(key, kept, timezone.now() + _EXPIRY)


def _key(user: User) -> str:
    return salted_hmac("annotation.setups", str(user.pk), algorithm="sha256").hexdigest()[:40]
