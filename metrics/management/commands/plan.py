"""manage.py plan [--pilot STUDY] [--set NAME=VALUE]: how exact a study will be."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.core.code_version import code_version
from annotation.models import Study, TaskKind
from metrics.management import output
from metrics.planning import sentences
from metrics.planning.plan_form import PlanForm
from metrics.planning.stats import MEASURES

_OPTIONS = ("pilot", "measures")
"""Fields of the form that are options of their own, not numbers to --set."""


class Command(BaseCommand):
    help = (
        "Print the expected half-widths of the 95 % intervals of a planned study about images, and the power "
        "for a difference of two models."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        fields = [name for name in PlanForm.base_fields if name not in _OPTIONS]
        parser.add_argument("--pilot", metavar="STUDY", help="estimate the assumptions from its answers")
        parser.add_argument("--measures", default=",".join(MEASURES), help="default: %(default)s")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"a number of the plan: {', '.join(fields)}; shares and points in per cent",
        )
        parser.add_argument(
            "--studies", type=int, default=1000, help="simulated studies of the chosen design (default 1000)"
        )
        parser.add_argument(
            "--text", type=Path, help="write the paragraph for a preregistration to this file"
        )
        parser.add_argument("--csv", type=Path, help="write the table to this file")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["studies"] < 1:
            raise CommandError("--studies: at least 1 is needed.")
        try:
            data: dict[str, Any] = {**output.parse_settings(options["set"])}
        except ValueError as error:
            raise CommandError(str(error)) from error
        numbers = set(PlanForm.base_fields) - set(_OPTIONS)
        unknown = sorted(set(data) - numbers)
        if unknown:
            raise CommandError(f"There is no {', '.join(unknown)}. See: manage.py plan --help")
        if options["pilot"]:
            data["pilot"] = output.get_study(options["pilot"]).name
        data["measures"] = options["measures"].split(",")
        pilots = Study.objects.filter(tasks__kind=TaskKind.DEPICTION).distinct()
        form = PlanForm(data, pilots=pilots, studies=options["studies"])
        with output.spinner("simulating studies ..."):
            valid = form.is_valid()
        if not valid or form.result is None:
            raise CommandError(
                " ".join(
                    text if name == "__all__" else f"{name}: {text}"
                    for name, errors in form.errors.items()
                    for text in map(str, errors)
                )
            )
        text = sentences.paragraph(form.result, version=code_version(), pilot=form.pilot_found)
        rows = sentences.rows(form.result)
        try:
            if options["text"]:
                options["text"].write_text(text, encoding="utf-8")
            if options["csv"]:
                options["csv"].write_text(sentences.as_csv(form.result), encoding="utf-8")
        except OSError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(output.as_table(sentences.COLUMNS, rows))
        self.stdout.write(text)
