"""A release as a folder or a download, whole or not at all, and noted in the audit trail."""

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
from annotation.export_files import workshop
from annotation.exports.packing import ENOUGH, File, zipped
from annotation.models import AuditEvent, Study
from annotation.releases import columns, tables
from annotation.releases.annotators import Key, People, people
from annotation.releases.croissant import croissant
from annotation.releases.data_card import MARK, card
from annotation.releases.final_check import check
from annotation.releases.licence import citation_file, licence_text
from annotation.releases.metadata import About, as_data, holds_simulated, sets_of, sources_of, study_file
from annotation.releases.request import ReleaseRefused, Wanted, responses, withdrawn
from annotation.releases.rows import Answers, Counts
from annotation.releases.screening import Screen, known_names

if TYPE_CHECKING:
    from django.contrib.auth.models import User

WHAT = "release"
TRIES = 3
_EPOCH = 315_532_800  # 1980-01-01, the first day that a zip archive knows: no file says when it was written


@dataclass(frozen=True)
class Made:
    """What a release came to. `checksum` is that of its checksums, and so of all of it."""

    people: People
    counts: Counts
    screen: Screen | None
    files: int
    checksum: str


@dataclass(frozen=True)
class Preview:
    """What a release would tell of people, and how often the study was released before."""

    people: People
    responses: int
    earlier: int


def preview(*, study: Study, wanted: Wanted) -> Preview:
    """Nothing is written. Raises ReleaseRefused."""
    wanted.check()
    return Preview(
        people=people(study, wanted),
        responses=responses(study).count(),
        earlier=AuditEvent.objects.filter(study=study, what=WHAT).count(),
    )


def write(*, study: Study, path: Path, by: User | None, wanted: Wanted, overwrite: bool = False) -> Made:
    """Make the folder `path`, which appears whole or not at all, readable by its owner only.

    Raises ReleaseRefused, FileExistsError unless `overwrite` (and then only an earlier release is replaced),
    and FileNotFoundError if there is no such folder to make it in.
    """
    wanted.check()
    if path.exists() and not (overwrite and _is_release(path)):
        cure = "Choose another name, or replace it with --force."
        if overwrite:
            cure = "It is not a release; only one of those is replaced. Choose another name."
        raise FileExistsError(f"{path} is there already. {cure}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}. Make it first.")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as unfinished:
        made = Path(unfinished, "new")
        done = _make(study, wanted, made)
        _note(study, by, wanted, done)
        if path.exists():
            path.rename(Path(unfinished, "old"))
        made.rename(path)
    return done


def stream_zip(*, study: Study, by: User | None, wanted: Wanted) -> Iterator[bytes]:
    """The same as a zip archive, piece by piece. It is made on the disk first, so that the database is read
    as fast as it can be and not as fast as somebody's line.

    What is wrong with the request is said here already: raises ReleaseRefused at once.
    """
    wanted.check()
    people(study, wanted)
    return _zip(study, by, wanted)


def _zip(study: Study, by: User | None, wanted: Wanted) -> Iterator[bytes]:
    with tempfile.TemporaryDirectory(dir=workshop(), prefix="release-") as folder:
        root = Path(folder, study.name)
        _note(study, by, wanted, _make(study, wanted, root))
        yield from zipped(File(f"{study.name}/{name}", _content(root / name)) for name in _names(root))


def _content(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(ENOUGH):
            yield piece


def _make(study: Study, wanted: Wanted, folder: Path) -> Made:
    """All files in `folder`. Starts anew where somebody withdraws meanwhile: what they said must not go."""
    for _ in range(TRIES):
        folder.mkdir(mode=0o700)
        with snapshot():
            before = withdrawn(study)
            about = _tables(study, wanted, folder)
            _documents(about, folder)
        if withdrawn(study) == before:
            check(folder, k=wanted.k)
            files, checksum = _sealed(folder)
            return Made(about.people, about.counts, about.screen, files, checksum)
        shutil.rmtree(folder)
    raise ReleaseRefused(
        f"Somebody withdrew while the release was made, {TRIES} times over. Nothing was written. Try again."
    )


def _tables(study: Study, wanted: Wanted, folder: Path) -> About:
    # what is in memory of the study may be older than the snapshot
    study = Study.objects.select_related("stereotype_source").get(pk=study.pk)
    who, key = people(study, wanted), Key()
    shown = tables.pictures(study)
    screen = Screen(known_names()) if wanted.with_text else None
    answers = Answers(study, who, key, shown.names, screen)
    answers.write(folder)
    told = [each for each in who.coarsened.report if not each.withheld]
    kept = {each.name for each in told}
    rows = {
        columns.ANNOTATORS: tables.save(
            folder,
            columns.ANNOTATORS,
            tables.annotator_rows(who, key, kept),
            more=[each.name for each in told],
        ),
        columns.UNITS: tables.save(folder, columns.UNITS, tables.unit_rows(study, shown.names)),
        columns.IMAGES: tables.save(
            folder, columns.IMAGES, tables.image_rows(shown, folder, copy=wanted.images)
        ),
        columns.ASSOCIATIONS: tables.save(folder, columns.ASSOCIATIONS, tables.association_rows(study)),
        columns.IDENTITIES: tables.save(folder, columns.IDENTITIES, tables.identity_rows(study, shown)),
    }
    return About(
        study=study,
        wanted=wanted,
        people=who,
        counts=answers.counts,
        screen=screen,
        pictures=shown,
        simulated=holds_simulated(study, who),
        made_on=timezone.now().date(),
        tasks=tuple(study.tasks.select_related("image_set").order_by("pk")),
        sources=sources_of(study),
        image_sets=sets_of(study, shown),
        rows=rows,
    )


def _documents(about: About, folder: Path) -> None:
    for name, text in (
        (columns.CARD, card(about)),
        (columns.ABOUT, json.dumps(as_data(about), indent=2, ensure_ascii=False) + "\n"),
        (columns.STUDY, study_file(about)),
        (columns.LICENCE, licence_text(about)),
        (columns.CITATION, citation_file(about)),
        (columns.CROISSANT, croissant(about, folder)),
    ):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _names(folder: Path) -> list[str]:
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())


def _sealed(folder: Path) -> tuple[int, str]:
    """Write the checksums, and give every file the same age; how many files, and the checksums' own."""
    names = _names(folder)
    lines = []
    for name in names:
        with (folder / name).open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    text = "".join(lines)
    (folder / columns.CHECKSUMS).write_text(text, encoding="utf-8", newline="\n")
    for each in (*folder.rglob("*"), folder):
        os.utime(each, (_EPOCH, _EPOCH))
    return len(names) + 1, hashlib.sha256(text.encode()).hexdigest()


def _is_release(folder: Path) -> bool:
    """Whether a folder is what an earlier release wrote: nothing else is ever replaced."""
    readme = folder / columns.CARD
    return readme.is_file() and MARK in readme.read_text(encoding="utf-8", errors="replace")


def _note(study: Study, by: User | None, wanted: Wanted, made: Made) -> None:
    """Record who released what; nobody, where a command does. Counts and settings only."""
    details = {
        "k": wanted.k,
        "texts": wanted.with_text,
        "images": wanted.images,
        "withheld": sorted(wanted.withhold),
        "without_pseudonyms": wanted.without_pseudonyms,
        "annotators": len(made.people),
        "responses": made.counts.responses,
        "judgements": made.counts.judgements,
        "checksum": made.checksum,
    }
    AuditEvent.objects.create(what=WHAT, study=study, by=by, details=details)


__all__ = ["Made", "Preview", "preview", "stream_zip", "write"]
