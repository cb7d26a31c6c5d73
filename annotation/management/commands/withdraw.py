"""manage.py withdraw STUDY PSEUDONYM: for somebody who asked for it, e.g. by e-mail (docs/care.md)."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.management.commands._lookups import command_errors, get_account, get_study
from annotation.models import Annotator
from annotation.participation.services import withdrawals


class Command(BaseCommand):
    help = "Withdraw all of an annotator's answers in a study, permanently. See docs/care.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="name of the study")
        parser.add_argument("pseudonym", help="the annotator's pseudonym, e.g. a-7k2m9xq4")
        parser.add_argument("--by", help="your username, for the audit log")
        parser.add_argument("--yes", action="store_true", help="do it (default: only say what would be done)")

    def handle(self, *args: Any, **options: Any) -> None:
        study = get_study(options["study"])
        annotator = Annotator.objects.filter(pseudonym=options["pseudonym"]).first()
        if annotator is None:
            raise CommandError(
                f"There is no annotator '{options['pseudonym']}'. "
                "Write the pseudonym, not a name or an address."
            )
        by = get_account(options["by"]) if options["by"] else None
        if not options["yes"]:
            answers = annotator.responses.filter(unit__task__study=study, withdrawn_at__isnull=True).count()
            self.stdout.write(
                f"{answers} answers of {annotator.pseudonym} in '{study.name}' would be withdrawn. "
                "This cannot be undone. Add --yes to do it."
            )
            return
        with command_errors(withdrawals.NotEnrolled):
            result = withdrawals.withdraw(annotator=annotator, study=study, by=by, asked_by="the team")
        self.stdout.write(
            "Nothing was left to withdraw."
            if result.repeat
            else f"{result.responses} answers withdrawn, {result.slots_reopened} slots reopened."
        )
