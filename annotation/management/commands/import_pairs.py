"""manage.py import_pairs FILE --source NAME: one's own pairs as a source (docs/importing.md)."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.catalogue.services import SourceDetails, SourceRefused
from annotation.imports.readers.oddities import FileRefused, check_is_file
from annotation.imports.readers.pairs import read_file
from annotation.imports.services.pairs import add_source, check_pairs
from annotation.management.commands._lookups import check_slug, command_errors
from annotation.models import Axis

ERRORS_SHOWN = 50


class Command(BaseCommand):
    help = (
        "Make a source of associations from a CSV file or spreadsheet with the columns identity and "
        "attribute, and votes and ratings if there are any. All lines are checked first; nothing is stored "
        "if one is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="CSV (UTF-8) or .xlsx")
        parser.add_argument("--source", required=True, metavar="NAME", help="name of the new source")
        parser.add_argument("--title", default="", help="its title (default: its name)")
        parser.add_argument("--licence", default="", help="its licence, such as 'CC BY 4.0'")
        parser.add_argument(
            "--origin", default="", help="where it comes from: a URL or a text (default: the file's name)"
        )
        parser.add_argument("--citation", default="", help="how to cite it")
        parser.add_argument("--axis", choices=Axis.values, default=Axis.NATIONALITY.value)
        parser.add_argument("--create-groups", action="store_true", help="create unknown identities")
        parser.add_argument("--check", action="store_true", help="check the file only")

    def handle(self, *args: Any, **options: Any) -> None:
        name, path, axis = options["source"], options["file"], Axis(options["axis"])
        check_slug(name, option="--source")
        with command_errors(FileRefused, SourceRefused):
            check_is_file(path)
            file = read_file(path.read_bytes(), name=path.name)
            checked = check_pairs(file, axis=axis, create_groups=options["create_groups"])
            for error in checked.errors[:ERRORS_SHOWN]:
                column = f", column '{error.column}'" if error.column else ""
                self.stderr.write(f"{path.name}, row {error.row}{column}: {error.problem} {error.cure}")
            if checked.errors:
                raise CommandError(
                    f"{len(checked.errors)} lines of {path.name} are wrong. Nothing was stored. Unknown "
                    "identities can be created with --create-groups."
                )
            if not options["check"]:
                details = SourceDetails(
                    title=options["title"] or name,
                    licence=options["licence"],
                    origin=options["origin"] or path.name,
                    citation=options["citation"],
                )
                add_source(name=name, details=details, axis=axis, checked=checked, by=None)
        done = "would be stored" if options["check"] else "stored"
        self.stdout.write(
            f"{len(checked.pairs)} associations {done} as source {name}: {checked.groups} identity groups "
            f"({len(checked.unknown)} new), {checked.attributes} attributes ({checked.new_attributes} new), "
            f"{checked.voted} with votes, {checked.rated} with ratings; {checked.repeated} repeated and "
            f"{checked.blank} empty lines left out."
        )
