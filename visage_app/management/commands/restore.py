"""manage.py restore FILE (docs/backup.md)"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.management.commands._importing import progress_bar
from visage_app.backup.archive import ArchiveDamaged
from visage_app.backup.services import restoring


class Command(BaseCommand):
    help = (
        "Load what `backup` wrote into an installation that is migrated and empty: all of it, or nothing. "
        "Every checksum is compared before anything is written, and all is read back before it is kept."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="what `backup` wrote")
        parser.add_argument(
            "--check", action="store_true", help="compare its checksums only; changes nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        act = restoring.check if options["check"] else restoring.restore
        try:
            with progress_bar() as progress:
                told = act(path=path, progress=progress)
        except ArchiveDamaged as error:
            raise CommandError(f"{path} cannot be restored, and nothing was. {error}") from error
        except (restoring.RestoreRefused, OSError) as error:
            raise CommandError(f"Not restored. {error}") from error
        done = "is whole" if options["check"] else "is restored, and read back the same"
        self.stdout.write(
            f"{path} {done}: {told.rows:,} rows of {len(told.tables)} tables, {told.files.rows:,} files, "
            f"made {told.made_at} by {told.code} on {told.database}."
        )
        if told.lost_files:
            self.stderr.write(
                f"Stored files that were lost already when it was made: {told.lost_files:,}. Their images "
                "have rows here, and no file."
            )
        self.stdout.write(f"Digest of its contents: {told.digest}")
