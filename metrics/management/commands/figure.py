"""manage.py figure STUDY NAME --out FILE.(png|svg|pdf|csv)"""

import os
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Study
from metrics.core.charts.figure import CONTENT_TYPES, UnknownFormat, check_format, render_figure
from metrics.core.figure_sources import NothingToDraw
from metrics.dashboards.figures import FIGURES, draw_figure
from metrics.management import output


class Command(BaseCommand):
    help = "Draw a figure of a study, as the dashboards show it, into a file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's name")
        parser.add_argument("figure", nargs="?", help=f"one of: {', '.join(FIGURES)}")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the figure"
        )
        parser.add_argument(
            "--out", type=Path, help="the file; its extension (png, svg, pdf, csv) determines the format"
        )
        parser.add_argument(
            "--list", action="store_true", help="list the figures, and whether the study can show them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = output.get_study(options["study"])
        if options["list"]:
            self._list(study)
            return
        if not options["figure"]:
            raise CommandError(f"Name a figure. See: manage.py figure {study.name} --list")
        out: Path | None = options["out"]
        if out is None:
            raise CommandError(
                f"Name the file with --out; its extension determines the format: {_extensions()}."
            )
        file_format = out.suffix.removeprefix(".").lower()
        try:
            # check before computing anything
            check_format(file_format)
        except UnknownFormat as error:
            raise CommandError(f"{error} Use one of the extensions {_extensions()}.") from error
        try:
            with output.spinner(f"{options['figure']} of {study.name} ..."):
                drawing = draw_figure(study, options["figure"], output.parse_settings(options["set"]))
                content = render_figure(drawing, file_format)
            _write(out, content)
        except (ValueError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{out}: {drawing.alt}")

    def _list(self, study: Study) -> None:
        rows = []
        for name, source in FIGURES.items():
            with output.spinner(f"{name} of {study.name} ..."):
                rows.append(
                    {
                        "figure": name,
                        "title": source.title,
                        "counterpart": source.counterpart or "none",
                        "options": ", ".join(source.options) or "none",
                        "in this study": _availability(study, name),
                    }
                )
        self.stdout.write(output.as_table(list(rows[0]), rows), ending="")


def _availability(study: Study, name: str) -> str:
    try:
        draw_figure(study, name)
    except NothingToDraw as error:
        return f"no: {error}"
    except ValueError as error:
        return f"with options: {error}"
    return "yes"


def _extensions() -> str:
    return ", ".join(f".{name}" for name in CONTENT_TYPES)


def _write(path: Path, content: bytes) -> None:
    """Write a temporary file and rename it: either the whole file is written or the old one stays."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        # normal permissions: with mkstemp only this account could read it
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
