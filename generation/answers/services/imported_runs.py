"""A run of answers that were made elsewhere: stored in one transaction, whole or not at all."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.core.code_version import code_version
from annotation.core.leases import JobState
from annotation.imports.services.catalogue import Progress
from annotation.models import AuditEvent, ImageSet
from generation.models import IMPORTED, Answer, Job, Run, RunState
from generation.plans.errors import PlanRefused
from generation.plans.queries.runs import check_run_name
from generation.recipes.checks import require
from generation.recipes.recipes import digest_of

logger = logging.getLogger(__name__)

Row = tuple[Job, Answer]
"""An asking and its answer, not saved, without run, state and time."""
_PER_BATCH = 2000


@dataclass(frozen=True)
class ImportedAnswers:
    """`added`: answers that are new; `total`: all of the run; `ignored`: columns that were not read."""

    run: Run
    added: int
    total: int
    ignored: tuple[str, ...] = ()

    def summary(self) -> list[str]:
        """The result, in sentences."""
        if self.added:
            done = _("Run %(run)s, '%(name)s': %(total)s answers imported.")
        else:
            done = _("Nothing to do: run %(run)s, '%(name)s', has all %(total)s answers of this file.")
        words = {"run": self.run.pk, "name": self.run.name, "total": f"{self.total:,}"}
        ignored = _("Columns that were not read: %(columns)s.") % {"columns": ", ".join(self.ignored)}
        return [done % words, *([ignored] if self.ignored else [])]


@dataclass(frozen=True)
class ImportedRun:
    """The run to be made. `recipe`: as it is stored, whose design names the `file` by its hash. `file`: its
    name."""

    name: str
    kind: str
    recipe: Mapping[str, Any]
    file: str
    image_set: ImageSet | None = None
    by: User | None = None

    def __post_init__(self) -> None:
        """Raises PlanRefused and RecipeRefused."""
        check_run_name(self.name)
        model = self.recipe["model"]
        require(bool(model.strip()) and len(model) <= 200, "model", "name the model that answered")

    @property
    def recipe_hash(self) -> str:
        image_set = self.image_set.name if self.image_set else ""
        return digest_of(dict(self.recipe), image_set=image_set, name=self.name)

    def existing(self) -> Run | None:
        """The run, if the same file was imported before. Raises PlanRefused if another has the name."""
        run = Run.objects.filter(name=self.name).first()
        if run is not None and run.recipe_hash != self.recipe_hash:
            self._refuse_name(run)
        return run

    def store(self, rows: Callable[[], Iterable[Row]], *, number: int, progress: Progress) -> tuple[Run, int]:
        """Store the run with the `number` answers of `rows`, which is called in the transaction; returns the
        run and how many answers are new. Raises PlanRefused as `existing`, and what `rows` raises."""
        now = timezone.now()
        run = Run(
            kind=self.kind,
            name=self.name,
            state=RunState.DONE,
            image_set=self.image_set,
            backend=IMPORTED,
            recipe=dict(self.recipe),
            recipe_hash=self.recipe_hash,
            made_with=[self._made_with()],
            created_by=self.by,
            started_at=now,
            finished_at=now,
        )
        details = {"name": self.name, "model": self.recipe["model"], "rows": number}
        try:
            with transaction.atomic():
                run.save(force_insert=True)
                _write(run, rows(), number, progress)
                AuditEvent.objects.create(
                    what="answers imported", by=self.by, details={"run": run.pk, **details}
                )
        except IntegrityError:
            # Somebody has imported the same file, or taken the name, since we looked.
            found = self.existing()
            if found is None:
                raise
            return found, 0
        run.refresh_from_db()
        logger.info("%s answers imported into run %s", number, run.pk)
        return run, number

    def _made_with(self) -> dict[str, Any]:
        """As for models that ran here (jobs/services/model_versions.py), with the name of the file."""
        return {
            "model": self.recipe["model"],
            "revision": self.recipe["revision"],
            "device": "",
            "libraries": {},
            "code": code_version(),
            "file": self.file,
            "since": timezone.now().isoformat(),
        }

    def _refuse_name(self, run: Run) -> NoReturn:
        words = {"run": run.pk, "name": run.name}
        if (
            run.backend != IMPORTED
            or run.recipe.get("design", {}).get("file") != self.recipe["design"]["file"]
        ):
            taken = _("There is already a run '%(name)s', number %(run)s. Choose another name with --name.")
            raise PlanRefused(taken % words + " " + _("It holds other answers."))
        names = sorted({*run.recipe, *self.recipe})
        differing = ", ".join(each for each in names if run.recipe.get(each) != self.recipe.get(each))
        raise PlanRefused(
            _(
                "Run %(run)s, '%(name)s', holds the answers of this file with other settings (%(fields)s). "
                "Give the same settings, or choose another name with --name."
            )
            % {**words, "fields": differing or "set"}
        )


def _write(run: Run, rows: Iterable[Row], number: int, progress: Progress) -> None:
    remaining, done, now = iter(rows), 0, timezone.now()
    while batch := list(islice(remaining, _PER_BATCH)):
        for job, _answer in batch:
            job.run, job.state, job.finished_at = run, JobState.DONE, now
        Job.objects.bulk_create(job for job, _answer in batch)
        for job, answer in batch:
            answer.run, answer.job = run, job
        Answer.objects.bulk_create(answer for _job, answer in batch)
        Run.objects.filter(pk=run.pk).update(
            tokens_in=F("tokens_in") + sum(answer.tokens_in or 0 for _job, answer in batch),
            tokens_out=F("tokens_out") + sum(answer.tokens_out or 0 for _job, answer in batch),
        )
        done += len(batch)
        progress(_("answers"), done, number)
