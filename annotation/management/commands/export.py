"""manage.py export STUDY --format FMT --out PATH (docs/exports.md)"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from rich.console import Console

from annotation.exports.formats.registry import FOLDER, FORMATS, UnknownFormat
from annotation.exports.selection import STATUSES, ExportRefused, Filters, Selection
from annotation.exports.services import writing
from annotation.management.commands import _importing
from annotation.management.commands._lookups import command_errors, get_study
from annotation.models import Pool, Study, TaskKind


class Command(BaseCommand):
    help = "Export a study's annotator-level answers in one of these formats:\n\n" + "\n".join(
        f"  {one.name:12} {one.use}" for one in FORMATS.values()
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> Any:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's name")
        parser.add_argument(
            "--format",
            default="csv",
            metavar="FMT",
            help=f"one of: {', '.join(FORMATS)} (default: csv)",
        )
        parser.add_argument(
            "--out",
            type=Path,
            required=True,
            metavar="PATH",
            help="the file to write (a folder, or a .zip archive, for formats of several files)",
        )
        parser.add_argument("--force", action="store_true", help="replace an existing file")
        parser.add_argument(
            "--task", default="", metavar="KIND", help=f"one of: {', '.join(TaskKind.values)}"
        )
        parser.add_argument(
            "--since",
            type=date.fromisoformat,
            metavar="DAY",
            help="answers from this day (UTC) on: 2026-01-31",
        )
        parser.add_argument(
            "--until", type=date.fromisoformat, metavar="DAY", help="answers up to the end of this day (UTC)"
        )
        parser.add_argument("--group", default="", metavar="NAME", help="one identity group, e.g. Mexican")
        parser.add_argument("--pool", default="", help=f"one of: {', '.join(Pool.values)} (region)")
        parser.add_argument("--stratum", default="", help="a stratum of the study, e.g. 'origin: Asia'")
        parser.add_argument("--status", default="", help=f"one of: {', '.join(STATUSES)}")

    def handle(self, *args: Any, **options: Any) -> None:
        study = get_study(options["study"])
        names = ("task", "since", "until", "group", "pool", "stratum", "status")
        filters = Filters(**{name: options[name] for name in names})
        with (
            command_errors(UnknownFormat, ExportRefused, OSError),
            self._progress(study, options["format"], filters) as progress,
        ):
            written = writing.write(
                study=study,
                fmt=options["format"],
                path=options["out"],
                by=None,
                filters=filters,
                overwrite=options["force"],
                progress=progress,
            )
        if FORMATS[options["format"]].ending == FOLDER:
            what = f"{written.files:,} files of study '{study.name}', with a README.md"
        else:
            what = f"{written.rows:,} rows of study '{study.name}'"
        self.stdout.write(f"{options['out']}: {what}.")

    @contextmanager
    def _progress(self, study: Study, fmt: str, filters: Filters) -> Iterator[Callable[[int], None] | None]:
        """A progress bar of judgements read so far. Nothing if stderr is not a terminal."""
        console = Console(stderr=True)
        if not console.is_terminal:
            yield None
            return
        writing.check_request(study=study, fmt=fmt, filters=filters)
        with _importing.short_bar(console) as bar:
            task = bar.add_task("judgements", total=FORMATS[fmt].total(Selection(study, filters)))
            yield lambda rows: bar.update(task, completed=rows)
