"""Shared by the commands of embedding tests: find the file, its run and its reference table."""

import dataclasses
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import CommandError

from generation.models import Run
from metrics.core.suggestions import did_you_mean
from metrics.embedding_tests.published_files import published_files
from metrics.embedding_tests.queries import TestsRefused, run_of
from metrics.embedding_tests.reference import (
    Reference,
    ReferenceRefused,
    Variables,
    read_reference,
    read_variables,
)
from metrics.embedding_tests.test_file import TestFile, TestFileRefused, parse

SIMULATED = "SIMULATED: a program, and no model, made these embeddings or the images."


@dataclass(frozen=True)
class Loaded:
    """A file of tests, and where its reference table and that of other variables are, if it ranks."""

    file: TestFile
    table: Path | None
    variables_table: Path | None = None

    def reference(self) -> Reference | None:
        """The table of the file's ranking, if it has one. Raises CommandError."""
        if self.table is None:
            return None
        try:
            return read_reference(_read(self.table))
        except ReferenceRefused as error:
            raise CommandError(f"{self.table}: {error}") from error

    def variables(self, reference: Reference, instead: Path | None = None) -> Variables:
        """The table of the file's other variables, or that at `instead`. Raises CommandError."""
        table = instead or self.variables_table
        if table is None:
            raise CommandError(
                'The [ranking] of the file names no variables. Add variables = "FILE.csv" there, or give the '
                "table with --variables-file FILE.csv."
            )
        try:
            return read_variables(_read(table), reference)
        except ReferenceRefused as error:
            raise CommandError(f"{table}: {error}") from error

    def run(self, encoder: str) -> Run:
        """Raises CommandError."""
        try:
            return run_of(self.file, encoder=encoder)
        except TestsRefused as error:
            raise CommandError(str(error)) from error


def add_file_options(parser: ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "file",
        nargs=None if required else "?",
        metavar="FILE.toml",
        help="a file of tests (docs/embedding-tests.md), or the name of a published one",
    )
    parser.add_argument("--set", default="", metavar="SET", help="instead of the file's image set")
    parser.add_argument(
        "--encoder",
        default="",
        metavar="ID",
        help="instead of the file's: a model with its weights, a model, or the number of a run",
    )
    parser.add_argument(
        "--reference", type=Path, metavar="FILE.csv", help="instead of the file's reference table"
    )
    parser.add_argument("--format", choices=("table", "csv"), default="table", help="default: table")


def load(name: str, *, image_set: str, reference: Path | None) -> Loaded:
    """The file at a path, or the published one of that name. `image_set`, `reference`: instead of its own.
    Raises CommandError."""
    published = published_files()
    path = Path(name)
    if not path.is_file() and name in published:
        text = published[name].text
    elif not path.exists():
        raise CommandError(
            f"There is no file '{name}'.{did_you_mean(name, list(published))} Published tests: "
            f"{', '.join(published)}."
        )
    else:
        text = _read(path)
    try:
        file = parse(text)
    except TestFileRefused as error:
        raise CommandError(f"{name}: {error}") from error
    if file.ranking is not None and reference is None:
        if name in published and not path.is_file():
            raise CommandError(
                f"The table that '{name}' ranks against is not part of it. Give yours with --reference "
                "FILE.csv."
            )
        reference = path.parent / file.ranking.reference
    file = dataclasses.replace(file, image_set=image_set or file.image_set)
    if file.ranking is None:
        return Loaded(file, None)
    variables = path.parent / file.ranking.variables if file.ranking.variables else None
    return Loaded(file, reference, variables)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CommandError(
            f"{path} cannot be read ({error.strerror}). Names in a file of tests are relative to its folder."
        ) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8. Save it as UTF-8.") from error
