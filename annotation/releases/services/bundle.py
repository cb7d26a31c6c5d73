"""A release as a complete folder or download, recorded in the audit trail."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from django.utils import timezone

from annotation.core.snapshots import snapshot
from annotation.export_files import work_folder
from annotation.exports.packing import File, file_content, replacing_folder, was_made_by, zip_stream
from annotation.exports.snapshot import count_withdrawn
from annotation.imports.readers.oddities import sha256_of
from annotation.models import AuditEvent, Study
from annotation.releases import columns, tables
from annotation.releases.annotators import People, PseudonymKey, people
from annotation.releases.croissant import croissant
from annotation.releases.documents import README_MARK, citation_file, data_card, licence_text
from annotation.releases.final_check import check
from annotation.releases.metadata import ReleaseInfo, release_json, study_file
from annotation.releases.request import ReleaseOptions, ReleaseRefused, responses
from annotation.releases.rows import AnswerWriter, Counts
from annotation.releases.screening import Screen, known_names

if TYPE_CHECKING:
    from django.contrib.auth.models import User

AUDIT_EVENT = "release"
MAX_ATTEMPTS = 3
_EPOCH = 315_532_800
"""1980-01-01, the earliest date in a zip archive: files do not show when they were written."""


@dataclass(frozen=True)
class ReleaseResult:
    """A release that was made. `checksum` is that of its file of checksums, and so identifies all of it."""

    people: People
    counts: Counts
    screen: Screen | None
    files: int
    checksum: str


@dataclass(frozen=True)
class Preview:
    """What a release would disclose about people, and how often the study was released before."""

    people: People
    responses: int
    earlier: int


def preview(*, study: Study, options: ReleaseOptions) -> Preview:
    """Preview a release without writing anything. Raises ReleaseRefused."""
    options.check()
    return Preview(
        people=people(study, options),
        responses=responses(study).count(),
        earlier=AuditEvent.objects.filter(study=study, what=AUDIT_EVENT).count(),
    )


def write(
    *, study: Study, path: Path, by: User | None, options: ReleaseOptions, overwrite: bool = False
) -> ReleaseResult:
    """Make the folder `path`, complete or not at all, readable by its owner only.

    Raises ReleaseRefused, FileExistsError unless `overwrite` (which replaces earlier releases only), and
    FileNotFoundError if the parent folder does not exist.
    """
    options.check()
    if path.exists() and not (overwrite and was_made_by(path, README_MARK)):
        cure = "Choose another name, or replace it with --force."
        if overwrite:
            cure = "It is not a release, so it is not replaced. Choose another name."
        raise FileExistsError(f"{path} already exists. {cure}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}. Make it first.")
    with replacing_folder(path) as folder:
        result = _make(study, options, folder)
        _record(study, by, options, result)
    return result


def stream_zip(*, study: Study, by: User | None, options: ReleaseOptions) -> Iterator[bytes]:
    """A release as a zip archive, piece by piece. It is made on disk first, so that a slow download does not
    keep the database transaction open.

    Raises ReleaseRefused at once, before the first piece is read.
    """
    options.check()
    people(study, options)
    return _zip(study, by, options)


def _zip(study: Study, by: User | None, options: ReleaseOptions) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory(dir=work_folder(), prefix="release-") as folder:
        root = Path(folder, study.name)
        _record(study, by, options, _make(study, options, root))
        yield from zip_stream(
            File(f"{study.name}/{name}", file_content(root / name)) for name in _names(root)
        )


def _make(study: Study, options: ReleaseOptions, folder: Path) -> ReleaseResult:
    """Write all files to `folder`. Starts again if somebody withdraws meanwhile: their answers must not be
    published."""
    for _ in range(MAX_ATTEMPTS):
        folder.mkdir(mode=0o700)
        with snapshot():
            before = count_withdrawn(study)
            info = _write_tables(study, options, folder)
            _write_documents(info, folder)
        if count_withdrawn(study) == before:
            check(folder, k=options.k)
            files, checksum = _write_checksums(folder)
            return ReleaseResult(info.people, info.counts, info.screen, files, checksum)
        shutil.rmtree(folder)
    raise ReleaseRefused(
        f"Somebody withdrew while the release was made, {MAX_ATTEMPTS} times in a row. Nothing was written. "
        "Try again."
    )


def _write_tables(study: Study, options: ReleaseOptions, folder: Path) -> ReleaseInfo:
    # The study in memory may be older than the snapshot
    study = Study.objects.select_related("stereotype_source").get(pk=study.pk)
    annotators, key = people(study, options), PseudonymKey()
    images = tables.released_images(study)
    screen = Screen(known_names()) if options.with_text else None
    answers = AnswerWriter(study, annotators, key, images.names, screen)
    answers.write(folder)
    fields = [each.name for each in annotators.coarsened.report if not each.withheld]
    tables_of = {
        columns.UNITS: tables.unit_rows(study, images.names),
        columns.IMAGES: tables.image_rows(images, folder, copy=options.images),
        columns.ASSOCIATIONS: tables.association_rows(study),
        columns.IDENTITIES: tables.identity_rows(study, images),
    }
    rows = {file: tables.write_table(folder, file, content) for file, content in tables_of.items()}
    people_rows = tables.annotator_rows(annotators, key, set(fields))
    rows[columns.ANNOTATORS] = tables.write_table(folder, columns.ANNOTATORS, people_rows, more=fields)
    return ReleaseInfo(
        study=study,
        options=options,
        people=annotators,
        counts=answers.counts,
        screen=screen,
        images=images,
        made_on=timezone.now().date(),
        rows=rows,
    )


def _write_documents(info: ReleaseInfo, folder: Path) -> None:
    for name, text in (
        (columns.CARD, data_card(info)),
        (columns.ABOUT, json.dumps(release_json(info), indent=2, ensure_ascii=False) + "\n"),
        (columns.STUDY, study_file(info)),
        (columns.LICENCE, licence_text(info)),
        (columns.CITATION, citation_file(info)),
        (columns.CROISSANT, croissant(info, folder)),
    ):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _names(folder: Path) -> list[str]:
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())


def _write_checksums(folder: Path) -> tuple[int, str]:
    """Write the checksums and give all files the same date; returns the number of files and the checksum of
    the checksums."""
    names = _names(folder)
    text = "".join(f"{sha256_of(folder / name)}  {name}\n" for name in names)
    (folder / columns.CHECKSUMS).write_text(text, encoding="utf-8", newline="\n")
    for each in (*folder.rglob("*"), folder):
        os.utime(each, (_EPOCH, _EPOCH))
    return len(names) + 1, hashlib.sha256(text.encode()).hexdigest()


def _record(study: Study, by: User | None, options: ReleaseOptions, result: ReleaseResult) -> None:
    """Record the release in the audit trail, with options and counts; `by` is None for a command."""
    details = {
        "k": options.k,
        "texts": options.with_text,
        "images": options.images,
        "withheld": sorted(options.withhold),
        "without_pseudonyms": options.without_pseudonyms,
        "annotators": len(result.people),
        "responses": result.counts.responses,
        "judgements": result.counts.judgements,
        "checksum": result.checksum,
    }
    AuditEvent.objects.create(what=AUDIT_EVENT, study=study, by=by, details=details)
