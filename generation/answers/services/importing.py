"""Bring in answers that were made elsewhere, as a finished run (docs/importing.md).

A file is read twice: first all of it is checked, then it is stored in one transaction.
"""

import hashlib
import itertools
import logging
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.core.code_version import code_version
from annotation.core.leases import JobState
from annotation.imports.services.catalogue import Progress
from annotation.models import AuditEvent, Image, ImageSet
from generation.answers.line_files import MOST_SHOWN, FileUnusable, digest
from generation.answers.lines import Line, read_lines
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
_IN_HASH = 8  # bytes


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
    numbers = _check(path, kind, images, progress)
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


def _check(
    path: Path, kind: str, images: Mapping[str, int] | None, progress: Progress
) -> npt.NDArray[np.int32]:
    """Read the whole file; the number of each of its lines among those of the same key.

    Sixteen bytes are kept of each line. Raises FileUnusable with the first errors.
    """
    keys, given, places = array("Q"), array("i"), array("I")
    errors: list[str] = []
    wrong = 0
    for line in read_lines(path, with_image=kind == DescriptionRecipe.kind):
        problem = line if isinstance(line, str) else _image_problem(line, images)
        if problem:
            wrong += 1
            errors += [problem] * (len(errors) < MOST_SHOWN)
        elif isinstance(line, Line):
            hashed = hashlib.blake2b(line.full_key.encode(), digest_size=_IN_HASH).digest()
            keys.append(int.from_bytes(hashed, "big"))
            given.append(line.number)
            places.append(int(line.place.rpartition(" ")[2]))
            noun = line.place.partition(" ")[0]
    if not wrong and not keys:
        raise FileUnusable(path, ["It holds no answer. Each line needs a prompt and a text."])
    numbers = np.frombuffer(given, dtype=np.int32).copy() if keys else np.zeros(0, np.int32)
    if not wrong:
        hashes = np.frombuffer(keys, dtype=np.uint64)
        _count(hashes, numbers)
        errors, wrong = _repeated(hashes, numbers, places, noun)
    if wrong:
        raise FileUnusable(path, errors, wrong)
    progress(_("checked"), len(numbers), len(numbers))
    return numbers


def _image_problem(line: Line, images: Mapping[str, int] | None) -> str:
    if images is None or line.image in images:
        return ""
    called = f"the image '{line.image[:80]}' is not in the set, or two have that name"
    problem = called if line.image else "it names no image of the set"
    return f"{line.place}: image: {problem}. Name an image by its file, SHA-256, or group and number."


def _count(keys: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int32]) -> None:
    """Number the lines whose number is 0 from 1, in their order, among those of the same key. In place."""
    places = np.flatnonzero(numbers == 0)
    places = places[np.argsort(keys[places], kind="stable")]
    grouped = keys[places]
    first = np.concatenate(([True], grouped[1:] != grouped[:-1])) if len(places) else np.zeros(0, bool)
    starts = np.flatnonzero(first)
    within = np.arange(len(places)) - np.repeat(starts, np.diff([*starts, len(places)]))
    numbers[places] = within + 1


def _repeated(
    keys: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int32], places: Sequence[int], noun: str
) -> tuple[list[str], int]:
    """Lines with the key and the number of an earlier line: the first errors, and how many there are."""
    order = np.lexsort((numbers, keys))
    ordered_keys, ordered_numbers = keys[order], numbers[order]
    same = (ordered_keys[1:] == ordered_keys[:-1]) & (ordered_numbers[1:] == ordered_numbers[:-1])
    again = np.flatnonzero(same)
    pairs = sorted(zip(order[again + 1].tolist(), order[again].tolist(), strict=True))[:MOST_SHOWN]
    errors = [
        f"{noun} {places[later]}: it has the key (or prompt) and the number {numbers[later]} of {noun} "
        f"{places[earlier]}. Give each sample its own number, or leave out both key and number."
        for later, earlier in pairs
    ]
    return errors, len(again)


def _write(
    run: Run,
    path: Path,
    numbers: npt.NDArray[np.int32],
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
