"""manage.py report STUDY --out DIR: the results of a study as a folder of static pages (docs/report.md)."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.core.leases import JobState
from annotation.models import Study
from metrics.management import output
from metrics.models import ScoreRun
from metrics.report import services
from metrics.report.refused import ReportRefused
from metrics.score_runs import services as score_runs


class Command(BaseCommand):
    help = (
        "Write the stored results of a study as static pages in the languages of the interface: for any web "
        "server, or to be opened from the folder. They hold nothing of any single person."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's name")
        parser.add_argument(
            "--out", type=Path, help="a new or empty folder, or an earlier report of the study, to replace"
        )
        parser.add_argument("--no-images", action="store_true", help="leave all images out")
        parser.add_argument(
            "--scores", action="store_true", help="compute and store the scores of the present answers first"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = output.get_study(options["study"])
        out: Path | None = options["out"]
        if out is None and not options["scores"]:
            raise CommandError(
                f"Name the folder with --out: manage.py report {study.name} --out {study.name}-report"
            )
        if options["scores"]:
            self._compute(study)
        if out is None:
            return
        try:
            with output.spinner(f"report of {study.name} ..."):
                made = services.write(study=study, path=out, with_images=not options["no_images"])
        except (ReportRefused, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{out}: {made.files} files with {made.runs} stored computations and {made.images} images. Open "
            f"{out / 'index.html'}."
        )
        if made.outdated:
            self.stdout.write(
                f"{made.outdated} stored computations are left out, since they are not of the present "
                f"answers; the report says which. Bring them up to date with: manage.py report {study.name} "
                f"--out {out} --scores"
            )

    def _compute(self, study: Study) -> None:
        runs = services.request_scores(study)
        with output.spinner(f"scores of {study.name} ..."):
            for run in runs:
                if run.state != JobState.DONE:
                    score_runs.compute_with_waiting(run_id=run.pk)
        found = ScoreRun.objects.filter(pk__in=[run.pk for run in runs])
        done = found.filter(state=JobState.DONE).count()
        self.stdout.write(f"{done} of {len(runs)} computations of scores are stored.")
        for run in found.exclude(state=JobState.DONE).order_by("pk"):
            self.stderr.write(f"{run.metric}: {run.error or 'not finished'}")
