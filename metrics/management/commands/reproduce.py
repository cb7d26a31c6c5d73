"""manage.py reproduce visage: compare published and computed numbers."""

from argparse import ArgumentParser
from dataclasses import asdict, fields
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import TaskKind
from metrics.core.answers import task_kinds
from metrics.core.suggestions import did_you_mean
from metrics.management import output
from metrics.reproduction.comparison import NOT_REPRODUCIBLE, Comparison, Reproduction, reproduce
from metrics.score_runs.metric import VISAGE

KNOWN = ("visage",)
TABLES = {
    "tables 1-2": (
        "Tables 1 and 2, as published (none of the above counts as random)",
        ("identity", "published: L(stereo), L(random), θ", "computed", "comparison"),
    ),
    "tables 3-5": (
        "Tables 3 to 5, as published; computed is the mean of the three printed",
        ("identity", "published: S(d,s), S(d,ns), S(s,ns), mean", "computed", "comparison of the mean"),
    ),
}


class Command(BaseCommand):
    help = "Compare the numbers ViSAGe published with those computed from its released annotations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="visage, as made by import_visage")
        parser.add_argument("--format", default="table", choices=output.FORMATS)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["study"] not in KNOWN:
            raise CommandError(
                f"There are no published numbers of '{options['study']}'."
                f"{did_you_mean(options['study'], list(KNOWN))} Available: {', '.join(KNOWN)}."
            )
        study = output.get_study(options["study"])
        missing = {TaskKind.DEPICTION.value, TaskKind.VISUAL_NATURE.value} - set(task_kinds(study))
        if missing:
            raise CommandError(
                f"Study '{study.name}' has no answers of kind {', '.join(sorted(missing))}. "
                "Import the release with import_visage."
            )
        with output.spinner("published against computed ..."):
            found = reproduce(study=study)
        rows = [asdict(row) for row in found.rows]
        if options["format"] == "json":
            about = {
                "source": VISAGE,
                "groups": found.groups,
                "compared": found.published,
                "equal": found.equal,
                "cut_off": found.cut_off,
                "not_reproducible": list(NOT_REPRODUCIBLE),
            }
            self.stdout.write(output.as_json(about, rows), ending="")
        elif options["format"] == "csv":
            columns = [field.name for field in fields(Comparison)]
            self.stdout.write(output.as_csv(columns, rows), ending="")
        else:
            self._table(found)
        if found.differing:
            listed = "; ".join(
                f"{row.item}, {row.quantity}: published {row.published or 'nothing'}, "
                f"computed {row.computed or 'nothing'}"
                for row in found.differing
            )
            raise CommandError(f"{len(found.differing)} published numbers are not reproduced: {listed}")

    def _table(self, found: Reproduction) -> None:
        self.stdout.write(f"{VISAGE}\n\n", ending="")
        for section in TABLES:
            self._side_by_side(found, section)
            if section == "tables 1-2":
                self.stdout.write(
                    f"{found.groups} groups computed; {found.published} published, "
                    f"{found.equal} of them equal to every printed digit"
                    f"{f' ({found.cut_off} where cut off, not rounded)' if found.cut_off else ''}.\n\n",
                    ending="",
                )
        self.stdout.write("\nOther numbers\n", ending="")
        columns = [field.name for field in fields(Comparison)]
        others = [asdict(row) for row in found.rows if row.section not in TABLES]
        self.stdout.write(output.as_table(columns, others))
        self.stdout.write("Not reproducible from the release\n")
        self.stdout.write("".join(f"- {line}\n" for line in NOT_REPRODUCIBLE))

    def _side_by_side(self, found: Reproduction, section: str) -> None:
        """One line for each group of a table."""
        title, headings = TABLES[section]
        groups: dict[str, list[Comparison]] = {}
        for row in found.rows:
            if row.section == section:
                groups.setdefault(row.item, []).append(row)
        lines = [
            dict(zip(headings, _line(group, of_group), strict=True)) for group, of_group in groups.items()
        ]
        self.stdout.write(f"{title}\n{output.as_table(headings, lines)}", ending="")


def _line(group: str, of_group: list[Comparison]) -> tuple[str, str, str, str]:
    published = "  ".join(f"{row.published:>6}" for row in of_group)
    computed = [row for row in of_group if row.computed]
    results = sorted({row.result for row in computed or of_group})
    return group, published.rstrip(), "  ".join(f"{row.computed:>6}" for row in computed), ", ".join(results)
