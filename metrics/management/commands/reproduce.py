"""manage.py reproduce visage: published and computed numbers side by side."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict, fields
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import TaskKind
from metrics import frames, reproduction
from metrics.management import output
from metrics.registry import VISAGE, nearest

KNOWN = ("visage",)
HEADINGS = ("identity", "published: L(stereo), L(random), θ", "computed", "comparison")


class Command(BaseCommand):
    help = "Compare the numbers ViSAGe published with those computed from its released annotations."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="visage, as made by import_visage")
        parser.add_argument("--format", default="table", choices=output.FORMATS)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["study"] not in KNOWN:
            raise CommandError(
                f"Nothing published is at hand for '{options['study']}'."
                f"{nearest(options['study'], list(KNOWN))} There is: {', '.join(KNOWN)}."
            )
        study = output.study_named(options["study"])
        missing = {TaskKind.DEPICTION.value, TaskKind.VISUAL_NATURE.value} - set(frames.task_kinds(study))
        if missing:
            raise CommandError(
                f"Study '{study.name}' has no answers of kind {', '.join(sorted(missing))}. "
                "Import the release with import_visage."
            )
        with output.working("published against computed ..."):
            found = reproduction.reproduce(study=study)
        rows = [asdict(row) for row in found.rows]
        if options["format"] == "json":
            about = {
                "source": VISAGE,
                "groups": found.groups,
                "compared": found.held,
                "equal": found.equal,
                "not_reproducible": list(reproduction.CANNOT),
            }
            self.stdout.write(output.as_json(about, rows), ending="")
        elif options["format"] == "csv":
            columns = [field.name for field in fields(reproduction.Comparison)]
            self.stdout.write(output.as_csv(columns, rows), ending="")
        else:
            self._table(found)
        if found.differing:
            named = "; ".join(
                f"{row.item}, {row.quantity}: published {row.published}, computed {row.computed or 'nothing'}"
                for row in found.differing
            )
            raise CommandError(f"{len(found.differing)} published numbers do not come out: {named}")

    def _table(self, found: reproduction.Reproduction) -> None:
        self.stdout.write(f"{VISAGE}\n\nTables 1 and 2, as published (none of the above counts as random)\n")
        groups: dict[str, list[reproduction.Comparison]] = {}
        for row in found.rows:
            if row.section == "tables 1-2":
                groups.setdefault(row.item, []).append(row)
        wide = [
            dict(zip(HEADINGS, _side_by_side(group, three), strict=True)) for group, three in groups.items()
        ]
        self.stdout.write(output.as_table(HEADINGS, wide))
        self.stdout.write(
            f"{found.groups} groups computed; {found.held} published rows at hand and compared, "
            f"{found.equal} equal to every printed digit.\n\nOther numbers\n"
        )
        columns = [field.name for field in fields(reproduction.Comparison)]
        others = [asdict(row) for row in found.rows if row.section != "tables 1-2"]
        self.stdout.write(output.as_table(columns, others))
        self.stdout.write("What the release does not allow to reproduce\n")
        self.stdout.write("".join(f"- {line}\n" for line in reproduction.CANNOT))


def _side_by_side(group: str, three: list[reproduction.Comparison]) -> tuple[str, str, str, str]:
    published = "  ".join(f"{row.published:>5}" for row in three)
    computed = "  ".join(f"{row.computed:>5}" for row in three)
    results = sorted({row.result for row in three})
    return group, published.rstrip(), computed, ", ".join(results)
