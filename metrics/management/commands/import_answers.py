"""manage.py import_answers FILE --kind KIND: finished answers of models that were asked elsewhere."""

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from django.core.management.base import BaseCommand, CommandError

from annotation.imports.readers.oddities import FileRefused
from annotation.management.commands import _importing
from generation.plans.errors import PlanRefused
from generation.recipes.checks import RecipeRefused
from metrics.inference.services.importing import import_inference


class _Imported(Protocol):
    def summary(self) -> list[str]: ...


IMPORTERS: Mapping[str, Callable[..., _Imported]] = {"inference": import_inference}
"""Kind -> the function that imports a file: called with path, name, model, revision and progress."""


class Command(BaseCommand):
    help = (
        "Import answers that were made elsewhere into a finished run, which every measure reads like any "
        "other. Importing the same file again changes nothing; if a row is invalid, nothing is imported."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--kind", required=True, choices=list(IMPORTERS), help="what the file holds")
        parser.add_argument("--name", required=True, metavar="RUN", help="name of the run")
        parser.add_argument("--model", required=True, metavar="ID", help="the model that answered")
        parser.add_argument("--revision", default="", metavar="REF", help="its revision, if known")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with _importing.progress_bar() as progress:
                imported = IMPORTERS[options["kind"]](
                    path=options["file"],
                    name=options["name"],
                    model=options["model"],
                    revision=options["revision"],
                    progress=progress,
                )
        except (FileRefused, PlanRefused, RecipeRefused) as refused:
            raise CommandError(str(refused)) from refused
        for line in imported.summary():
            self.stdout.write(line)
