"""manage.py import_release DIR [--name NAME] (docs/releases.md)"""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotation.management.commands import _importing
from annotation.management.commands._lookups import check_study_name
from annotation.releases.reading import read_release
from annotation.releases.services.importing import import_release


class Command(BaseCommand):
    help = (
        "Import a release as a closed study with the same scores and agreement. Its checksums are verified "
        "first. Importing the same release again changes nothing, nor does one that cannot be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="the release, unpacked")
        parser.add_argument("--name", default="", help="name of the study (default: its name in the release)")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        if name:
            check_study_name(name, option="--name")
        with _importing.importing() as progress:
            release = read_release(options["folder"])
            imported = import_release(release=release, name=name, progress=progress)
        _importing.print_report(self.stdout, files=[], imported=imported, oddities=[], report=None)
