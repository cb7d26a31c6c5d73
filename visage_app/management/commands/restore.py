"""manage.py restore FILE (docs/backup.md)"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.management.commands._importing import progress_bar
from visage_app.backup.archive import ArchiveDamaged
from visage_app.backup.services import restoring


class Command(BaseCommand):
    help = (
        "Load a backup into a migrated, empty installation, completely or not at all. Every checksum is "
        "compared before anything is written, and all rows are read back before the commit."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file written by `backup`")
        parser.add_argument(
            "--check", action="store_true", help="only compare the checksums, without changing anything"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        action = restoring.check if options["check"] else restoring.restore
        try:
            with progress_bar() as progress:
                manifest = action(path=path, progress=progress)
        except ArchiveDamaged as error:
            raise CommandError(f"{path} cannot be restored, and nothing was changed. {error}") from error
        except (restoring.RestoreRefused, OSError) as error:
            raise CommandError(f"Not restored. {error}") from error
        done = "is complete" if options["check"] else "is restored, and the rows read back are the same"
        self.stdout.write(
            f"{path} {done}: {manifest.rows:,} rows of {len(manifest.tables)} tables, "
            f"{manifest.files.rows:,} files, made {manifest.made_at} by {manifest.code} on "
            f"{manifest.database}."
        )
        if manifest.lost_files:
            self.stderr.write(
                f"Stored files that were already lost when it was made: {manifest.lost_files:,}. Their "
                "images have rows here but no file."
            )
        self.stdout.write(f"Digest of its contents: {manifest.digest}")
