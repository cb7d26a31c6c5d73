"""manage.py backup FILE (docs/backup.md)"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.management.commands._importing import progress_bar
from visage_app.backup.services.tables import BackupRefused
from visage_app.backup.services.writing import backup


class Command(BaseCommand):
    help = (
        "Write a backup to one file: a snapshot of all rows, while others go on working, and all stored "
        "files. It can be restored into either database. It contains personal data: protect it like the "
        "database."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a tar archive to write")
        parser.add_argument("--force", action="store_true", help="overwrite an existing file")
        parser.add_argument(
            "--without-lost-files",
            action="store_true",
            help="leave out missing or damaged stored files (`verify` names their images)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            with progress_bar() as progress:
                made = backup(
                    path=path,
                    progress=progress,
                    overwrite=options["force"],
                    without_lost_files=options["without_lost_files"],
                )
        except (BackupRefused, OSError) as error:
            raise CommandError(f"No backup was made. {error}") from error
        self.stdout.write(
            f"{path}: {made.rows:,} rows of {len(made.tables)} tables, {made.files.rows:,} files, "
            f"{path.stat().st_size:,} bytes. It contains personal data."
        )
        if made.lost_files:
            self.stderr.write(
                f"Missing or damaged stored files, which were left out: {made.lost_files:,}. "
                "`manage.py verify SET` names their images."
            )
        self.stdout.write(f"Digest of its contents: {made.digest}")
