"""manage.py exposure STUDY --out FILE.csv (docs/audit.md)"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.audit.services import exposure
from annotation.models import Study


class Command(BaseCommand):
    help = "Write how long each annotator worked and what they met, under pseudonyms, as CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", nargs="?", default="", help="the study's name")
        parser.add_argument("--all", action="store_true", help="all studies added up")
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")
        parser.add_argument("--force", action="store_true", help="replace what is there already")

    def handle(self, *args: Any, **options: Any) -> None:
        name, out = options["study"], options["out"]
        if bool(name) == options["all"]:
            raise CommandError("Name one study, or give --all.")
        study = Study.objects.filter(name=name).first()
        if name and study is None:
            names = ", ".join(Study.objects.order_by("name").values_list("name", flat=True)) or "none yet"
            raise CommandError(f"There is no study '{name}'. Studies: {names}.")
        if out.exists() and not options["force"]:
            raise CommandError(f"{out} is there already. Give another name, or --force to replace it.")
        part = out.with_name(f".{out.name}.part")
        try:
            with part.open("wb") as file:
                file.writelines(exposure.stream_csv(study=study, by=None))
            part.replace(out)
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error}.") from error
        finally:
            part.unlink(missing_ok=True)
        self.stdout.write(f"Written: {out}")
