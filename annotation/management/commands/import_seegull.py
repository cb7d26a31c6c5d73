"""manage.py import_seegull: SeeGULL's associations, as released (docs/importing.md)."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.imports.readers import download
from annotation.imports.readers.seegull import read_associations
from annotation.imports.services.catalogue import seegull_source
from annotation.imports.services.seegull import import_associations
from annotation.management.commands import _importing
from annotation.management.commands._lookups import check_slug
from annotation.models import Axis

STATE_AXES = {Axis.US_STATE.value: ("us_state", "us-state"), Axis.INDIAN_STATE.value: ("indian_state",)}
REMOTE = {
    Axis.NATIONALITY: download.SEEGULL,
    Axis.US_STATE: download.SEEGULL_US_STATES,
    Axis.INDIAN_STATE: download.SEEGULL_INDIAN_STATES,
}


class Command(BaseCommand):
    help = (
        "Import SeeGULL's associations between identities and attributes. Importing the same file again "
        "changes nothing; a file that cannot be read leaves the database as it was."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("csv", type=Path, nargs="?", metavar="CSV", help="stereotypes_global_v2.csv")
        parser.add_argument("--download", action="store_true", help="download the file from GitHub instead")
        parser.add_argument("--states", action="store_true", help="the file is about US or Indian states")
        parser.add_argument(
            "--axis", choices=list(STATE_AXES), help="which states (default: guessed from the file's name)"
        )
        parser.add_argument(
            "--source", metavar="NAME", help="name of the source to store (default: the release's name)"
        )
        parser.add_argument("--report", type=Path, metavar="FILE.json", help="write the report to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        _importing.check_report_path(options["report"])
        if (options["csv"] is None) != options["download"]:
            raise CommandError("Give the path of SeeGULL's CSV file, or --download, and not both.")
        axis = _axis(options["csv"], options["states"], options["axis"])
        name = options["source"]
        if name is not None:
            check_slug(name, option="--source")
        source = seegull_source(axis, name)
        path = options["csv"] or _importing.download(REMOTE[axis])
        with _importing.importing() as progress:
            _importing.check_released_file(path)
            file = read_associations(path, states=options["states"])
            imported = import_associations(file=file, source=source, axis=axis, progress=progress)
        _importing.print_report(
            self.stdout,
            files=[file.summary],
            imported=imported,
            oddities=(*file.oddities, *imported.oddities),
            report=options["report"],
        )


def _axis(path: Path | None, states: bool, axis: str | None) -> Axis:
    """The kind of identities in the file. Raises CommandError if it is not clear."""
    if not states:
        if axis:
            raise CommandError(f"--axis {axis} goes with --states. Add --states.")
        return Axis.NATIONALITY
    if axis:
        return Axis(axis)
    name = path.name.lower().replace(" ", "_") if path else ""
    matches = [state_axis for state_axis, marks in STATE_AXES.items() if any(mark in name for mark in marks)]
    if len(matches) != 1:
        raise CommandError(
            f"The name '{name}' does not say whether its states are US or Indian. "
            "Add --axis us_state or --axis indian_state."
        )
    return Axis(matches[0])
