"""Importing a release as a closed study with the same answers, and so the same scores."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from annotation.core.table_statistics import analyze_tables
from annotation.imports.services.catalogue import Imported, ImportRefused, Progress
from annotation.models import (
    Association,
    Attribute,
    AuditEvent,
    Box,
    ConsentText,
    Image,
    Judgement,
    Option,
    Response,
    Slot,
    Study,
    StudyStatus,
    Task,
    Unit,
)
from annotation.releases import columns
from annotation.releases.reading import Release
from annotation.releases.services import importing_catalogue as catalogue
from annotation.releases.services.importing_rows import RowImporter
from annotation.studies.errors import StudyFileError
from annotation.studies.study_file.table import Table
from annotation.studies.study_file.texts import read_questions, read_translations

AUDIT_EVENT = "release imported"


@transaction.atomic
def import_release(*, release: Release, name: str, progress: Progress) -> Imported:
    """Import a release as the closed study `name`, or under its own name if that is empty. All or nothing.

    Importing the same release under the same name again changes nothing. Raises ImportRefused if there is
    another study of that name, or if existing groups, votes or images differ from the release's; FileRefused
    for an invalid cell.
    """
    name = name or str(release.metadata["study"].get("name", ""))
    existing = Study.objects.filter(name=name).first()
    if existing is not None:
        event = AuditEvent.objects.filter(what=AUDIT_EVENT, study=existing).order_by("pk").first()
        if event is not None and event.details.get("checksum") == release.checksum:
            return Imported()
        raise ImportRefused(
            f"There is already a study '{name}', which is not this release. Nothing was changed. "
            "Import the release under another name with --name NAME."
        )
    group_of = catalogue.groups(release)
    attribute_of = catalogue.attributes(release)
    source_of = catalogue.sources(release)
    associations = catalogue.associations(release, source_of, group_of, attribute_of)
    image_sets = catalogue.image_sets(release)
    image_of, images = catalogue.images(release, image_sets, group_of)
    study = _study(release, name, source_of)
    writer = RowImporter(release, study, attribute_of, image_of, progress)
    writer.write_units(_tasks(release, study, image_sets), source_of, group_of)
    writer.write_annotators()
    writer.write_answers()
    created = {"studies": 1, "images": images, "associations": associations, **writer.created}
    AuditEvent.objects.create(
        what=AUDIT_EVENT,
        study=study,
        details={"checksum": release.checksum, "responses": created["responses"]},
    )
    written = (Attribute, Association, Image, Unit, Option, Slot, Response, Judgement, Box)
    analyze_tables(*written, rows=sum(created.values()))
    return Imported(created=created)


def _study(release: Release, name: str, source_of: Mapping[str, Any]) -> Study:
    metadata, now = release.metadata["study"], timezone.now()
    source = metadata.get("stereotype_source")
    if source is not None and source not in source_of:
        raise release.refused("study.stereotype_source", f"'{source}' is not among the sources.")
    try:
        # Pages rely on every language having the same number of choices
        texts = {key: metadata[key] for key in ("questions", "translations") if key in metadata}
        table = Table(texts, path="study")
        read_questions(table.tables("questions"))
        read_translations(table.table("translations"))
        table.reject_unknown_keys()
    except StudyFileError as error:
        raise release.refused("study", str(error)) from error
    study = Study(
        **{key: metadata[key] for key in columns.STUDY_FIELDS if key in metadata} | {"name": name},
        status=StudyStatus.CLOSED,
        stereotype_source=source_of.get(source) if source else None,
        self_enrol=False,
        opened_at=now,
        closed_at=now,
    )
    _valid(release, study, "study")
    study.save()
    consent = metadata.get("consent") or {}
    ConsentText.objects.bulk_create(
        ConsentText(study=study, language=language, **text) for language, text in sorted(consent.items())
    )
    return study


def _tasks(release: Release, study: Study, sets: Mapping[str, Any]) -> dict[tuple[str, int], Task]:
    tasks = {}
    for number, metadata in enumerate(release.metadata["tasks"], 1):
        chosen = metadata.get("image_set")
        task = Task(
            study=study,
            **{key: metadata[key] for key in columns.TASK_FIELDS if key in metadata},
            image_set=sets.get(chosen) if chosen else None,
            frozen_at=study.opened_at,
        )
        _valid(release, task, f"tasks[{number}]")
        task.save()
        tasks[task.kind, task.version] = task
    return tasks


def _valid(release: Release, row: Study | Task, key: str) -> None:
    try:
        row.full_clean()
    except ValidationError as error:
        name, problems = next(iter(error.message_dict.items()))
        raise release.refused(f"{key}.{name}", " ".join(problems)) from error
