"""manage.py exposure STUDY --out FILE.csv (docs/audit.md)"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.audit import services
from annotation.management.commands._lookups import get_study


class Command(BaseCommand):
    help = "Write how long each annotator worked and what they saw, under pseudonyms, as CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="?", default="", help="the study's name")
        parser.add_argument("--all", action="store_true", help="add up all studies")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")
        parser.add_argument("--force", action="store_true", help="replace an existing file")

    def handle(self, *args: Any, **options: Any) -> None:
        name, out = options["study"], options["out"]
        if bool(name) == options["all"]:
            raise CommandError("Name one study, or give --all.")
        study = get_study(name) if name else None
        if out.exists() and not options["force"]:
            raise CommandError(f"{out} exists already. Give another name, or --force to replace it.")
        part = out.with_name(f".{out.name}.part")
        try:
            with part.open("wb") as file:
                file.writelines(services.stream_hours(study=study, by=None))
            part.replace(out)
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error}.") from error
        finally:
            part.unlink(missing_ok=True)
        self.stdout.write(f"Written: {out}")
