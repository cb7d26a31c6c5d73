"""Progress of commands on stderr, and the report of an import."""

import gc
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.management.base import CommandError, OutputWrapper
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from annotation.imports.readers.download import DownloadFailed, RemoteFile, fetch
from annotation.imports.readers.oddities import FileRefused, FileSummary, Oddity, check_is_file
from annotation.imports.services.catalogue import Imported, ImportRefused, Progress
from annotation.management.commands._lookups import command_errors


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on stderr. If stderr is not a terminal, print a line for each finished step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console) as bar:
        tasks: dict[str, Any] = {}

        def advance(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done)

        yield advance


def short_bar(console: Console) -> Bar:
    """A progress bar that disappears at the end."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Bar(*columns, console=console, transient=True)


def _line(step: str, done: int, total: int) -> None:
    if done == total:
        print(f"{step}: {total} of {total}", file=sys.stderr)


@contextmanager
def importing() -> Iterator[Progress]:
    """A progress bar; refusals become errors of the command. The garbage collector is off: an import creates
    several hundred thousand objects without cycles, and searching them took a quarter of its time."""
    gc.disable()
    try:
        with command_errors(FileRefused, ImportRefused), progress_bar() as progress:
            yield progress
    finally:
        gc.enable()


def download(remote: RemoteFile) -> Path:
    """The path of the file, downloaded to VAR_DIR/downloads if needed. Raises CommandError."""
    with command_errors(DownloadFailed):
        return fetch(remote, settings.VAR_DIR / "downloads", report=lambda line: print(line, file=sys.stderr))


def check_released_file(path: Path) -> None:
    """Raises FileRefused for a file that cannot be read and that --download would fetch."""
    check_is_file(path, or_else="or use --download")


def check_report_path(path: Path | None) -> None:
    """Raise CommandError before the import if the report could not be written."""
    if path is not None and (path.is_dir() or not path.resolve().parent.is_dir()):
        raise CommandError(f"--report {path} cannot be written. Name a file in a folder that exists.")


def print_report(
    stdout: OutputWrapper,
    *,
    files: Sequence[FileSummary],
    imported: Imported,
    oddities: Sequence[Oddity],
    report: Path | None,
) -> None:
    """Print what was read and created, and the oddities. Write the same to `report` as JSON."""
    for file in files:
        name = f"{file.name}, sheet {file.sheet}" if file.sheet else file.name
        rows = f"{file.rows_stored} stored + {file.rows_not_stored} not stored"
        stdout.write(f"{name}: {file.rows_read} rows read = {rows}")
    if oddities:
        _print_oddities(stdout, oddities)
    made = ", ".join(f"{count} {what}" for what, count in imported.created.items() if count)
    if imported.unchanged:
        stdout.write("Nothing to do: the database holds all of this already (0 rows created).")
    else:
        stdout.write(f"Created: {made or 'nothing'}. Groups filled in: {imported.filled}.")
    if report is not None:
        try:
            report.write_text(_json(files, imported, oddities), encoding="utf-8")
        except OSError as error:
            raise CommandError(
                f"The import is done, but the report could not be written: {error}. Run the same command "
                "again with another --report; it will change nothing else."
            ) from error


def _print_oddities(stdout: OutputWrapper, oddities: Sequence[Oddity]) -> None:
    # rich needs only write, flush and isatty of a stream, and Django's wrapper has them.
    terminal = stdout.isatty()
    console = Console(file=cast("IO[str]", stdout), width=None if terminal else 130)
    table = Table(title="Oddities", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("what", ratio=3)
    table.add_column("what was done", ratio=2)
    table.add_column("for example", ratio=4, overflow="fold")
    for item in oddities:
        # Text, because rich would read brackets as markup.
        example = f"{item.file}, row {item.row}: {item.example}"
        table.add_row(*(Text(cell) for cell in (str(item.count), item.description, item.handling, example)))
    console.print(table)


def _json(files: Sequence[FileSummary], imported: Imported, oddities: Sequence[Oddity]) -> str:
    content = {
        "files": [{**asdict(file), "rows_not_stored": file.rows_not_stored} for file in files],
        "created": imported.created,
        "groups_filled_in": imported.filled,
        "oddities": [
            {
                "code": item.code,
                "file": item.file,
                "sheet": item.sheet,
                "count": item.count,
                "rows_not_stored": item.not_stored,
                "what": item.description,
                "done": item.handling,
                "example_row": item.row,
                "example": item.example,
            }
            for item in oddities
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
