"""manage.py import_images: import existing images from a folder or a ZIP with a CSV (docs/generation.md)."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.imports.readers.oddities import FileRefused
from annotation.management.commands import _importing
from annotation.models import Axis
from generation.uploads import bundles
from generation.uploads.services import uploads
from generation.uploads.services.images import UploadRefused
from generation.uploads.tables import COLUMNS, read_table


class Command(BaseCommand):
    help = (
        "Import existing images into an image set, from a folder or a ZIP with a CSV with one row per image: "
        f"{', '.join(COLUMNS)} (file and group are required). Importing the same again changes nothing; if "
        "an image or a row is invalid, nothing is imported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", type=Path, metavar="FOLDER|ZIP")
        parser.add_argument("--set", required=True, metavar="NAME", help="short name of the image set")
        parser.add_argument(
            "--csv", type=Path, metavar="FILE", help="the table (default: the one CSV file in the source)"
        )
        parser.add_argument("--title", default="", help="title of a new set")
        parser.add_argument("--licence", default="", help="licence of a new set")
        parser.add_argument("--axis", choices=Axis.values, default=Axis.NATIONALITY, help="of the groups")
        parser.add_argument("--new-groups", action="store_true", help="create groups that are not known yet")

    def handle(self, *args: Any, **options: Any) -> None:
        target = uploads.TargetSet(name=options["set"], title=options["title"], licence=options["licence"])
        try:
            with bundles.open_bundle(options["source"]) as bundle, _importing.progress_bar() as progress:
                imported = uploads.import_images(
                    bundle=bundle,
                    table=read_table(bundle, table=options["csv"]),
                    target=target,
                    by=None,
                    axis=options["axis"],
                    new_groups=options["new_groups"],
                    progress=progress,
                )
        except (FileRefused, UploadRefused) as refused:
            raise CommandError(str(refused)) from refused
        for line in imported.summary():
            self.stdout.write(line)
