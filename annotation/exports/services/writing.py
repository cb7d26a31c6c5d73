"""Exports as files, whole or not at all, and as downloads; each is noted in the audit trail."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from annotation.exports.formats.postgres_copy import long_csv
from annotation.exports.formats.registry import FOLDER, MARK, Format, check_format, described
from annotation.exports.packing import File, zipped
from annotation.exports.selection import Filters, Selection, check
from annotation.exports.snapshot import consistent
from annotation.models import AuditEvent, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User

README = "README.md"


@dataclass(frozen=True)
class Written:
    """What an export came to: rows of judgements that were read, and files beside the README."""

    rows: int
    files: int


def stream_csv(*, study: Study, by: User | None) -> Iterator[str]:
    """The long table as CSV, header first, some thousand lines at a time, in a stable order.

    Memory does not grow with the study. Withdrawn responses are left out; surplus and superseded ones
    are in it and marked. `by` is whoever takes the data out, for the audit trail.
    """
    note(study, by, "csv", Filters())
    selection = Selection(study)
    with consistent(selection):
        for piece in long_csv(selection):
            yield piece.decode()


def csv_columns(*, study: Study) -> str:
    """What the columns of `stream_csv` hold, as Markdown."""
    return described(check_format("csv"), Selection(study))


def stream_zip(*, study: Study, fmt: str, by: User | None, filters: Filters) -> Iterator[bytes]:
    """An export with what its columns mean, as a zip archive, piece by piece.

    What is wrong with the request is said here already: raises UnknownFormat and ExportRefused at once.
    """
    check_request(study=study, fmt=fmt, filters=filters)
    note(study, by, fmt, filters)
    return archive(fmt=fmt, selection=Selection(study, filters))


def check_request(*, study: Study, fmt: str, filters: Filters) -> None:
    """Raises UnknownFormat or ExportRefused where such an export cannot be made."""
    form = check_format(fmt)
    check(study, filters)
    form.check(Selection(study, filters))


def total(*, study: Study, fmt: str, filters: Filters) -> int:
    """How many judgements such an export reads."""
    return check_format(fmt).total(Selection(study, filters))


def archive(*, fmt: str, selection: Selection) -> Iterator[bytes]:
    """What `selection` takes as a zip archive, which the audit trail is not told of: the caller does.

    All of it is of one moment. Raises WithdrawnMeanwhile before the last pieces, without which no archive
    opens.
    """
    form = check_format(fmt)
    return zipped(_with_readme(_files(form, selection), form, selection))


def write(
    *,
    study: Study,
    fmt: str,
    path: Path,
    by: User | None,
    filters: Filters | None = None,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Written:
    """Write an export to `path`, which appears whole or not at all.

    A format of one file is written to `path`, with what its columns mean in `path`.columns.md beside it; one
    of several becomes a folder, or a zip archive where `path` ends in .zip. `progress` is told now and then
    how many judgements were read. Raises UnknownFormat, ExportRefused, FileExistsError unless `overwrite`,
    and FileNotFoundError if there is no such folder.
    """
    filters = filters or Filters()
    check_request(study=study, fmt=fmt, filters=filters)
    form = check_format(fmt)
    whole = form.ending == FOLDER
    beside = path.with_name(f"{path.name}.columns.md")
    for there in (path,) if whole else (path, beside):
        if there.exists() and not overwrite:
            raise FileExistsError(
                f"{there} is there already. Choose another name, or replace it with --force."
            )
    if path.is_dir() and not (whole and _is_export(path)):
        raise FileExistsError(f"{path} is a folder, and not one that an export made. Choose another name.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}. Make it first.")
    note(study, by, fmt, filters)
    selection = Selection(study, filters, told=progress)
    files = _files(form, selection)
    if not whole:
        with _unfinished((piece for file in files for piece in file.content), path) as data:
            with _unfinished([described(form, selection).encode()], beside) as columns:
                columns.replace(beside)
            data.replace(path)
        return Written(rows=selection.rows, files=1)
    tally = _Tally(_with_readme(files, form, selection))
    if path.suffix.lower() == ".zip":
        with _unfinished(zipped(tally), path) as archive:
            archive.replace(path)
    else:
        _save_folder(tally, path)
    return Written(rows=selection.rows, files=tally.files - 1)


def _is_export(folder: Path) -> bool:
    """Whether a folder is what an earlier export wrote: nothing else is ever replaced."""
    readme = folder / README
    return readme.is_file() and MARK in readme.read_text(encoding="utf-8", errors="replace")


def _files(form: Format, selection: Selection) -> Iterator[File]:
    """The files of an export, all of one moment. Read each before asking for the next, and ask until there is
    none: only then it is known that nobody withdrew meanwhile."""
    with consistent(selection):
        form.check(selection)
        yield from form.files(selection)


def _with_readme(files: Iterable[File], form: Format, selection: Selection) -> Iterator[File]:
    yield File(README, [described(form, selection).encode()])
    yield from files


class _Tally:
    """Files as they pass, counted."""

    def __init__(self, files: Iterable[File]) -> None:
        self._source = files
        self.files = 0

    def __iter__(self) -> Iterator[File]:
        for file in self._source:
            self.files += 1
            yield file


@contextmanager
def _unfinished(content: Iterable[bytes], path: Path) -> Iterator[Path]:
    """A file beside `path` with all of `content`, to be put in its place; nothing is left if that fails."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
        unfinished = Path(part.name)
        try:
            for piece in content:
                part.write(piece)
            part.flush()
            yield unfinished
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _save_folder(files: Iterable[File], path: Path) -> None:
    """Write a folder beside `path`, then put it in its place."""
    unfinished = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    made = unfinished / "new"
    made.mkdir(mode=0o700)
    try:
        for file in files:
            target = made / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as out:
                for piece in file.content:
                    out.write(piece)
        if path.exists():
            path.rename(unfinished / "old")
        made.rename(path)
    finally:
        shutil.rmtree(unfinished)


def note(study: Study, by: User | None, fmt: str, filters: Filters, **more: str | int) -> None:
    """Record who takes what out; nobody, where a command does."""
    details = {"format": fmt, **({"filters": filters.said()} if filters.said() else {}), **more}
    AuditEvent.objects.create(what="export", study=study, by=by, details=details)


__all__ = [
    "Written",
    "archive",
    "check_request",
    "csv_columns",
    "note",
    "stream_csv",
    "stream_zip",
    "total",
    "write",
]
