"""manage.py import_visage: ViSAGe's released annotations as a closed study (docs/importing.md)."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.imports.readers.download import VISAGE_ANNOTATIONS, VISAGE_ATTRIBUTES
from annotation.imports.readers.visage_annotations import read_annotations
from annotation.imports.readers.visage_attributes import read_attributes
from annotation.imports.services.visage import STUDY_NAME, import_visage
from annotation.management.commands import _importing
from annotation.management.commands._lookups import check_study_name


class Command(BaseCommand):
    help = (
        "Import ViSAGe's released annotations as a closed study named visage. Importing the same files again "
        "changes nothing; a file that cannot be read leaves the database as it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--attributes", type=Path, metavar="XLSX", help="'Visual Attributes_.xlsx'")
        parser.add_argument("--annotations", type=Path, metavar="XLSX", help="'Image Annotations.xlsx'")
        parser.add_argument(
            "--download",
            action="store_true",
            help="download from GitHub any of the two files that is not given",
        )
        parser.add_argument(
            "--study", default=STUDY_NAME, metavar="NAME", help="name of the study (default: visage)"
        )
        parser.add_argument("--report", type=Path, metavar="FILE.json", help="write the report to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        _importing.check_report_path(options["report"])
        check_study_name(options["study"], option="--study")
        paths: dict[str, Path] = {}
        for option, remote in (("attributes", VISAGE_ATTRIBUTES), ("annotations", VISAGE_ANNOTATIONS)):
            path = options[option]
            if path is None and not options["download"]:
                raise CommandError(f"Give the path of '{remote.name}' with --{option}, or add --download.")
            paths[option] = path or _importing.download(remote)
        with _importing.importing() as progress:
            for path in paths.values():
                _importing.check_released_file(path)
            attributes = read_attributes(paths["attributes"])
            progress("attributes read", attributes.summary.rows_read, attributes.summary.rows_read)
            annotations = read_annotations(paths["annotations"])
            progress("annotations read", annotations.summary.rows_read, annotations.summary.rows_read)
            imported = import_visage(
                attributes=attributes,
                annotations=annotations,
                study_name=options["study"],
                progress=progress,
            )
        _importing.print_report(
            self.stdout,
            files=[attributes.summary, annotations.summary],
            imported=imported,
            oddities=(*attributes.oddities, *annotations.oddities, *imported.oddities),
            report=options["report"],
        )
