"""Exports as complete files and as downloads. Each is recorded in the audit trail."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from annotation.exports.formats.postgres_copy import long_csv
from annotation.exports.formats.registry import FOLDER, README_MARK, Format, get_format, readme
from annotation.exports.packing import README, File, replacing_folder, was_made_by, zip_stream
from annotation.exports.selection import Filters, Selection, check_filters
from annotation.exports.snapshot import consistent_read
from annotation.models import AuditEvent, Study

if TYPE_CHECKING:
    from django.contrib.auth.models import User


@dataclass(frozen=True)
class WrittenExport:
    """How many judgements were read, and how many files there are beside the README."""

    rows: int
    files: int


def stream_csv(*, study: Study, by: User | None) -> Iterator[str]:
    """The long table as CSV, header first, recorded in the audit trail as by `by`."""
    record_export(study, by, "csv", Filters())
    selection = Selection(study)
    with consistent_read(selection):
        for piece in long_csv(selection):
            yield piece.decode()


def stream_zip(*, study: Study, fmt: str, by: User | None, filters: Filters) -> Iterator[bytes]:
    """An export with a description of its columns, as a zip archive, piece by piece.

    Raises UnknownFormat and ExportRefused at once, before the first piece is read.
    """
    check_request(study=study, fmt=fmt, filters=filters)
    record_export(study, by, fmt, filters)
    return archive(fmt=fmt, selection=Selection(study, filters))


def check_request(*, study: Study, fmt: str, filters: Filters) -> None:
    """Raises UnknownFormat or ExportRefused if this export cannot be made."""
    form = get_format(fmt)
    check_filters(study, filters)
    form.check(Selection(study, filters))


def archive(*, fmt: str, selection: Selection) -> Iterator[bytes]:
    """`selection` as a zip archive; the caller has to record it in the audit trail. Raises
    WithdrawnDuringExport before the last pieces, without which the archive does not open."""
    form = get_format(fmt)
    return zip_stream(_with_readme(_files(form, selection), form, selection))


def write(
    *,
    study: Study,
    fmt: str,
    path: Path,
    by: User | None,
    filters: Filters | None = None,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> WrittenExport:
    """Write an export to `path`, complete or not at all.

    A format with one file is written to `path`, with a description of its columns in `path`.columns.md. A
    format with several becomes a folder, or a zip archive if `path` ends in .zip. `progress` is called now
    and then with the number of judgements read. Raises UnknownFormat, ExportRefused, FileExistsError unless
    `overwrite`, and FileNotFoundError if the folder of `path` does not exist.
    """
    filters = filters or Filters()
    check_request(study=study, fmt=fmt, filters=filters)
    form = get_format(fmt)
    several = form.ending == FOLDER
    columns_path = path.with_name(f"{path.name}.columns.md")
    for target in (path,) if several else (path, columns_path):
        if target.exists() and not overwrite:
            raise FileExistsError(
                f"{target} already exists. Choose another name, or replace it with --force."
            )
    if path.is_dir() and not (several and was_made_by(path, README_MARK)):
        raise FileExistsError(f"{path} is a folder that no export made. Choose another name.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}. Make it first.")
    record_export(study, by, fmt, filters)
    selection = Selection(study, filters, on_progress=progress)
    files = _files(form, selection)
    if not several:
        with _unfinished((piece for file in files for piece in file.content), path) as data:
            with _unfinished([readme(form, selection).encode()], columns_path) as columns:
                columns.replace(columns_path)
            data.replace(path)
        return WrittenExport(rows=selection.rows, files=1)
    names: list[str] = []
    noted = _noted(_with_readme(files, form, selection), names)
    if path.suffix.lower() == ".zip":
        with _unfinished(zip_stream(noted), path) as archive:
            archive.replace(path)
    else:
        with replacing_folder(path) as folder:
            folder.mkdir(mode=0o700)
            for file in noted:
                target = folder / file.name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    out.writelines(file.content)
    return WrittenExport(rows=selection.rows, files=len(names) - 1)


def _files(form: Format, selection: Selection) -> Iterator[File]:
    """The files of an export, all showing one moment. Read each before taking the next, to the end: only then
    is it certain that nobody withdrew meanwhile."""
    with consistent_read(selection):
        form.check(selection)
        yield from form.files(selection)


def _with_readme(files: Iterable[File], form: Format, selection: Selection) -> Iterator[File]:
    yield File(README, [readme(form, selection).encode()])
    yield from files


def _noted(files: Iterable[File], names: list[str]) -> Iterator[File]:
    """`files`, with the name of each added to `names` as it is read."""
    for file in files:
        names.append(file.name)
        yield file


@contextmanager
def _unfinished(content: Iterable[bytes], path: Path) -> Iterator[Path]:
    """A temporary file beside `path` with all of `content`, to be renamed; deleted if writing fails."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as part:
        unfinished = Path(part.name)
        try:
            part.writelines(content)
            part.flush()
            yield unfinished
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def record_export(study: Study, by: User | None, fmt: str, filters: Filters, **more: str | int) -> None:
    """Record an export in the audit trail; `by` is None for a management command."""
    details = {"format": fmt, **({"filters": filters.as_dict()} if filters.as_dict() else {}), **more}
    AuditEvent.objects.create(what="export", study=study, by=by, details=details)
