"""Bring in answers that were made elsewhere, as a finished run (docs/importing.md).

A file is read twice: first all of it is checked, then it is stored in one transaction.
"""

import itertools
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.core.code_version import code_version
from annotation.core.leases import JobState
from annotation.imports.services.catalogue import Progress
from annotation.models import AuditEvent, Image, ImageSet
from generation.answers.line_files import FileUnusable, digest
from generation.answers.lines import Line, read_lines
from generation.answers.services.checking import Numbers, check
from generation.models import IMPORTED, Answer, Job, Run, RunState
from generation.plans.errors import PlanRefused
from generation.plans.queries.runs import check_run_name
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.checks import require
from generation.recipes.recipes import as_json, digest_of

logger = logging.getLogger(__name__)

PURPOSE = "imported"
RECIPES = {recipe.kind: recipe for recipe in (CompletionRecipe, DescriptionRecipe)}
_ALWAYS = {"kind", "version", "backend", "model", "revision", "design"}
_PER_BATCH = 2000


@dataclass(frozen=True)
class ImportedAnswers:
    """`added`: answers that are new; `total`: all of the run."""

    run: Run
    added: int
    total: int

    def summary(self) -> list[str]:
        """The result, in sentences."""
        words = {"run": self.run.pk, "name": self.run.name, "total": f"{self.total:,}"}
        if self.added:
            return [_("Run %(run)s, '%(name)s': %(total)s answers imported.") % words]
        return [_("Nothing to do: run %(run)s, '%(name)s', has all %(total)s answers of this file.") % words]


def import_answers(
    *,
    path: Path,
    kind: str,
    name: str,
    model: str,
    settings: Mapping[str, Any] | None = None,
    image_set: ImageSet | None = None,
    by: User | None = None,
    progress: Progress = lambda step, done, total: None,
) -> ImportedAnswers:
    """Store the answers of a file as a finished run, called `name`, of `model`.

    `kind`: of RECIPES. `settings`: fields of its recipe, as far as they are known; the others are left out of
    the recipe, since nobody knows them. `image_set`: descriptions name its images, by their reference, the
    name of their file, their SHA-256, or group and number. The same file again changes nothing.

    Raises FileUnusable for a file with errors, PlanRefused for the name of another run, RecipeRefused for a
    setting; nothing is stored then.
    """
    check_run_name(name)
    require(bool(model.strip()) and len(model) <= 200, "model", "name the model that answered")
    stored = _recipe(kind, model, settings or {}, digest(path))
    recipe_hash = digest_of(stored, image_set=image_set.name if image_set else "", name=name)
    existing = Run.objects.filter(name=name).first()
    if existing is not None:
        if existing.recipe_hash == recipe_hash:
            return ImportedAnswers(existing, 0, existing.jobs.count())
        _refuse_name(existing, stored)
    images = _names_of_images(image_set) if image_set is not None else None
    numbers = check(path, kind, images, progress)
    run = Run(
        kind=kind,
        name=name,
        state=RunState.DONE,
        image_set=image_set,
        backend=IMPORTED,
        recipe=stored,
        recipe_hash=recipe_hash,
        made_with=[_made_with(path, stored)],
        created_by=by,
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )
    try:
        with transaction.atomic():
            run.save(force_insert=True)
            _write(run, path, numbers, images, progress)
            details = {"run": run.pk, "name": name, "model": model, "rows": len(numbers)}
            AuditEvent.objects.create(what="answers imported", by=by, details=details)
    except IntegrityError as error:
        # Somebody has imported the same file, or taken the name, since we looked.
        found = Run.objects.filter(name=name).first()
        if found is None:
            raise
        if found.recipe_hash == recipe_hash:
            return ImportedAnswers(found, 0, found.jobs.count())
        raise PlanRefused(_taken(found)) from error
    run.refresh_from_db()
    logger.info("%s answers imported into run %s", len(numbers), run.pk)
    return ImportedAnswers(run, len(numbers), len(numbers))


def _recipe(kind: str, model: str, settings: Mapping[str, Any], content: str) -> dict[str, Any]:
    """The recipe as it is stored: with the model, and what else is known."""
    design = {"purpose": PURPOSE, "file": content}
    known = {name: value for name, value in settings.items() if value is not None}
    recipe = RECIPES[kind](backend=IMPORTED, model=model, design=design, **known)
    unknown = {field.name for field in fields(recipe)} - _ALWAYS - set(known)
    return {name: value for name, value in as_json(recipe).items() if name not in unknown}


def _made_with(path: Path, stored: Mapping[str, Any]) -> dict[str, Any]:
    """As for models that ran here (jobs/services/model_versions.py), with the name of the file."""
    return {
        "model": stored["model"],
        "revision": stored["revision"],
        "device": "",
        "libraries": {},
        "code": code_version(),
        "file": path.name,
        "since": timezone.now().isoformat(),
    }


def _taken(run: Run) -> str:
    return _("There is already a run '%(name)s', number %(run)s. Choose another name with --name.") % {
        "name": run.name,
        "run": run.pk,
    }


def _refuse_name(run: Run, stored: Mapping[str, Any]) -> NoReturn:
    design = run.recipe.get("design", {})
    if run.backend != IMPORTED or design.get("file") != stored["design"]["file"]:
        raise PlanRefused(_taken(run) + " " + _("It holds other answers."))
    names = sorted({*run.recipe, *stored})
    differing = ", ".join(each for each in names if run.recipe.get(each) != stored.get(each))
    raise PlanRefused(
        _(
            "Run %(run)s, '%(name)s', holds the answers of this file with other settings (%(fields)s). Give "
            "the same settings, or choose another name with --name."
        )
        % {"run": run.pk, "name": run.name, "fields": differing or "set"}
    )


def _names_of_images(image_set: ImageSet) -> dict[str, int]:
    """What a file may call an image -> its id; names of two images are left out."""
    found: dict[str, int] = {}
    twice: set[str] = set()
    columns = ("pk", "reference", "file", "sha256", "group__name", "index")
    for pk, reference, file, sha256, group, index in Image.objects.filter(image_set=image_set).values_list(
        *columns
    ):
        called = {reference, Path(reference).name, file, Path(file).name, sha256, f"{group} {index}"}
        for name in called - {""}:
            if found.setdefault(name, pk) != pk:
                twice.add(name)
    return {name: pk for name, pk in found.items() if name not in twice}


def _write(
    run: Run,
    path: Path,
    numbers: Numbers,
    images: Mapping[str, int] | None,
    progress: Progress,
) -> None:
    """Store the lines of a file that was checked."""
    lines = zip(_checked_lines(run, path), map(int, numbers), strict=False)
    done = 0
    now = timezone.now()
    while batch := list(itertools.islice(lines, _PER_BATCH)):
        jobs = Job.objects.bulk_create(
            Job(
                run_id=run.pk,
                key=line.full_key,
                prompt=line.prompt,
                number=number,
                seed=line.seed,
                image_id=images[line.image] if images is not None else None,
                state=JobState.DONE,
                finished_at=now,
                seconds=line.seconds,
            )
            for line, number in batch
        )
        Answer.objects.bulk_create(
            Answer(
                job_id=job.pk,
                run_id=run.pk,
                text=line.text,
                ended=line.ended,
                tokens_in=line.tokens_in,
                tokens_out=line.tokens_out,
                seconds=line.seconds,
                extra=_extra(line, images),
            )
            for job, (line, _number) in zip(jobs, batch, strict=True)
        )
        Run.objects.filter(pk=run.pk).update(
            tokens_in=F("tokens_in") + sum(line.tokens_in or 0 for line, _number in batch),
            tokens_out=F("tokens_out") + sum(line.tokens_out or 0 for line, _number in batch),
        )
        done += len(batch)
        progress(_("answers"), done, len(numbers))
    if done != len(numbers):
        _refuse_changed(path)


def _checked_lines(run: Run, path: Path) -> Iterator[Line]:
    for line in read_lines(path, with_image=run.kind == DescriptionRecipe.kind):
        if isinstance(line, str):
            _refuse_changed(path)
        yield line


def _extra(line: Line, images: Mapping[str, int] | None) -> dict[str, Any]:
    return {**line.extra, "image": line.image} if line.image and images is None else line.extra


def _refuse_changed(path: Path) -> NoReturn:
    raise FileUnusable(path, ["The file was changed while it was read. Import it again."])
