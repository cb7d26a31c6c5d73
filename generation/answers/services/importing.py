"""Bring in answers that were made elsewhere, as a finished run (docs/importing.md).

A file is read twice: first all of it is checked, then it is stored in one transaction.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from django.contrib.auth.models import User

from annotation.imports.services.catalogue import Progress
from annotation.models import ImageSet
from generation.answers.line_files import digest
from generation.answers.lines import Line, read_lines
from generation.answers.services.checking import Numbers, check
from generation.answers.services.imported_runs import ImportedAnswers, ImportedRun, Row
from generation.core.file_errors import FileUnusable
from generation.models import IMPORTED, Answer, Job
from generation.plans.queries.image_sets import names_of_images
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from generation.recipes.recipes import as_json

PURPOSE = "imported"
RECIPES = {recipe.kind: recipe for recipe in (CompletionRecipe, DescriptionRecipe)}
_ALWAYS = {"kind", "version", "backend", "model", "revision", "design"}


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
    wanted = ImportedRun(
        name=name,
        kind=kind,
        recipe=known_recipe(kind, model, {"purpose": PURPOSE, "file": digest(path)}, settings or {}),
        file=path.name,
        image_set=image_set,
        by=by,
    )
    if (existing := wanted.existing()) is not None:
        return ImportedAnswers(existing, 0, existing.jobs.count())
    images = names_of_images(image_set) if image_set is not None else None
    numbers = check(path, kind, images, progress)
    run, added = wanted.store(
        lambda: _rows(kind, path, numbers, images), number=len(numbers), progress=progress
    )
    return ImportedAnswers(run, added, len(numbers))


def known_recipe(
    kind: str, model: str, design: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The recipe of answers that were made elsewhere, as it is stored: the model, and what else is known.
    `design` names the file by its hash."""
    known = {name: value for name, value in settings.items() if value is not None}
    recipe = RECIPES[kind](backend=IMPORTED, model=model, design=design, **known)
    unknown = {field.name for field in fields(recipe)} - _ALWAYS - set(known)
    return {name: value for name, value in as_json(recipe).items() if name not in unknown}


def _rows(kind: str, path: Path, numbers: Numbers, images: Mapping[str, int] | None) -> Iterator[Row]:
    """The lines of a file that was checked."""
    done = 0
    for line, number in zip(_checked_lines(kind, path), map(int, numbers), strict=False):
        done += 1
        yield (
            Job(
                key=line.full_key,
                prompt=line.prompt,
                number=number,
                seed=line.seed,
                image_id=images[line.image] if images is not None else None,
            ),
            Answer(
                text=line.text,
                ended=line.ended,
                tokens_in=line.tokens_in,
                tokens_out=line.tokens_out,
                seconds=line.seconds,
                extra=_extra(line, images),
            ),
        )
    if done != len(numbers):
        _refuse_changed(path)


def _checked_lines(kind: str, path: Path) -> Iterator[Line]:
    for line in read_lines(path, with_image=kind == DescriptionRecipe.kind):
        if isinstance(line, str):
            _refuse_changed(path)
        yield line


def _extra(line: Line, images: Mapping[str, int] | None) -> dict[str, Any]:
    return {**line.extra, "image": line.image} if line.image and images is None else line.extra


def _refuse_changed(path: Path) -> NoReturn:
    raise FileUnusable(path, ["The file was changed while it was read. Import it again."])
