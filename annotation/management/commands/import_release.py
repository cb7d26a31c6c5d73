"""manage.py import_release DIR [--name NAME] (docs/releases.md)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug

from annotation.imports.readers.oddities import FileRefused
from annotation.imports.services.catalogue import ImportRefused
from annotation.management.commands import _importing
from annotation.models import Study
from annotation.releases.reading import read_release
from annotation.releases.services.importing import import_release


class Command(BaseCommand):
    help = (
        "Import a release as a closed study, whose scores and agreement are the same. Its checksums are "
        "looked at first. Importing the same release again changes nothing; one that cannot be "
        "read changes nothing either."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="the release, unpacked")
        parser.add_argument("--name", default="", help="name of the study (default: as it was called)")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        try:
            if name:
                validate_slug(name)
        except ValidationError as error:
            raise CommandError(f"--name '{name}': use letters, digits, - and _ only.") from error
        longest = Study._meta.get_field("name").max_length
        if longest and len(name) > longest:
            raise CommandError(f"--name has {len(name)} characters; a name has at most {longest}.")
        try:
            with _importing.without_garbage_collection(), _importing.progress_bar() as progress:
                release = read_release(options["folder"])
                imported = import_release(release=release, name=name, progress=progress)
        except (FileRefused, ImportRefused) as error:
            raise CommandError(str(error)) from error
        _importing.answer(self.stdout, files=[], imported=imported, oddities=[], report=None)
