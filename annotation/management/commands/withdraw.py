"""manage.py withdraw STUDY PSEUDONYM: for somebody who asked for it by mail, say (docs/care.md)."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.models import Annotator, Study
from annotation.participation.services import withdrawals


class Command(BaseCommand):
    help = "Take everything an annotator said in a study out of the data, for good. See docs/care.md."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="name of the study")
        parser.add_argument("pseudonym", help="what the annotator is called here, e.g. a-7k2m9xq4")
        parser.add_argument("--by", help="username of whoever does it, for the audit trail")
        parser.add_argument("--yes", action="store_true", help="do it; else only say what would be done")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(name=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study '{options['study']}'.")
        annotator = Annotator.objects.filter(pseudonym=options["pseudonym"]).first()
        if annotator is None:
            raise CommandError(
                f"There is no annotator '{options['pseudonym']}'. "
                "Write the pseudonym, not a name or an address."
            )
        by = get_user_model().objects.filter(username=options["by"]).first() if options["by"] else None
        if options["by"] and by is None:
            raise CommandError(f"There is no account '{options['by']}'.")
        if not options["yes"]:
            answers = annotator.responses.filter(unit__task__study=study, withdrawn_at__isnull=True).count()
            self.stdout.write(
                f"{answers} answers of {annotator.pseudonym} in '{study.name}' would be withdrawn. "
                "This cannot be undone. Add --yes to do it."
            )
            return
        try:
            done = withdrawals.withdraw(annotator=annotator, study=study, by=by, asked_by="the team")
        except withdrawals.NotEnrolled as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            "Nothing was left to withdraw."
            if done.repeat
            else f"{done.responses} answers withdrawn, {done.slots_reopened} places open again."
        )
