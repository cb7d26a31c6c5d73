"""Shared by the commands of embedding tests: find the file, its run and its reference table."""

import dataclasses
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import CommandError

from generation.models import Run
from metrics.core.suggestions import did_you_mean
from metrics.embedding_tests.published_files import FOLDER, published_files
from metrics.embedding_tests.queries import TestsRefused, run_of
from metrics.embedding_tests.reference import Reference, ReferenceRefused, read_reference
from metrics.embedding_tests.test_file import TestFile, TestFileRefused, parse

SIMULATED = "SIMULATED: a program, and no model, made these embeddings or the images."


@dataclass(frozen=True)
class Loaded:
    """A file of tests and the folder that the names in it belong to."""

    file: TestFile
    folder: Path

    def reference(self) -> Reference | None:
        """The table of the file's ranking, if it has one. Raises CommandError."""
        if self.file.ranking is None:
            return None
        path = self.folder / self.file.ranking.reference
        try:
            return read_reference(_read(path))
        except ReferenceRefused as error:
            raise CommandError(f"{path}: {error}") from error

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
    parser.add_argument("--format", choices=("table", "csv"), default="table", help="default: table")


def load(name: str, *, image_set: str) -> Loaded:
    """The file at a path, or the published one of that name. `image_set`: instead of its own. Raises
    CommandError."""
    published = published_files()
    path = Path(name)
    if not path.is_file() and name in published:
        text, folder = published[name].text, FOLDER
    elif not path.exists():
        raise CommandError(
            f"There is no file '{name}'.{did_you_mean(name, list(published))} Published tests: "
            f"{', '.join(published)}."
        )
    else:
        text, folder = _read(path), path.parent
    try:
        file = parse(text)
    except TestFileRefused as error:
        raise CommandError(f"{name}: {error}") from error
    return Loaded(dataclasses.replace(file, image_set=image_set or file.image_set), folder)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CommandError(
            f"{path} cannot be read ({error.strerror}). Names in a file of tests are relative to its folder."
        ) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8. Save it as UTF-8.") from error
