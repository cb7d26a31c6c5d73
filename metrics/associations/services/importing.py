"""Bring in answers that BiasDora's authors, or others in their layout, collected elsewhere (PROTOCOL §11)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.imports.services.catalogue import Progress
from annotation.models import Axis
from generation.answers.line_files import digest
from generation.answers.services.imported_runs import ImportedAnswers, ImportedRun, Row
from generation.answers.services.importing import known_recipe
from generation.models import Answer, Job
from generation.plans.queries.runs import default_run_name
from generation.recipes.askings import CompletionRecipe, DescriptionRecipe
from metrics.associations.answers_csv import (
    CheckedTable,
    RowNumbers,
    TextRow,
    WordsRow,
    check_texts,
    check_words,
)
from metrics.associations.askings import Descriptor, Modality, Setting, asking_key
from metrics.associations.descriptors import DIMENSIONS, DescriptorList
from metrics.associations.groups import KnownGroups, key
from metrics.associations.planning import groups_of_run
from metrics.associations.services.descriptors import ensure_groups
from metrics.core.purposes import ASSOCIATIONS


def import_associations(
    *,
    path: Path,
    setting: Setting,
    model: str,
    name: str = "",
    listed: DescriptorList | None = None,
    settings: Mapping[str, Any] | None = None,
    by: User | None = None,
    progress: Progress = lambda step, done, total: None,
) -> ImportedAnswers:
    """Store the answers of a file in the authors' layout as a finished run, called `name`, of `model`.

    `name` "": of the setting and the model. `listed`: says on which dimensions the names of a table of texts
    stand, if the file does not; else the catalogue's groups say it. `settings`: of the recipe, as far as they
    are known. The same file again changes nothing.

    Raises FileUnusable for a file with errors, PlanRefused for the name of another run, RecipeRefused for a
    setting; nothing is stored then.
    """
    is_words = setting.modality == Modality.T2T
    recipe_kind = CompletionRecipe if is_words else DescriptionRecipe
    name = name or default_run_name(recipe_kind(model=model), setting)
    design: dict[str, Any] = {
        "purpose": ASSOCIATIONS,
        "settings": [setting.value],
        "answers": "words" if is_words else "text",
        "file": digest(path),
    }

    def wanted(groups: list[int]) -> ImportedRun:
        return ImportedRun(
            name=name,
            kind=recipe_kind.kind,
            recipe=known_recipe(
                recipe_kind.kind,
                model,
                {**design, **({"groups": groups} if groups else {})},
                settings or {},
            ),
            file=path.name,
            by=by,
        )

    if (existing := wanted(groups_of_run(name)).existing()) is not None:
        return ImportedAnswers(existing, 0, existing.jobs.count())
    if is_words:
        words = check_words(path)
        run, added = wanted([]).store(
            lambda: _word_rows(setting, words), number=words.answers, progress=progress
        )
        return ImportedAnswers(run, added, words.answers)
    texts = check_texts(path)
    with transaction.atomic():
        found = _groups_of_names(texts.descriptors, listed)
        several = sorted({pk for groups in found.values() if len(groups) > 1 for pk in groups})
        run, added = wanted(several).store(
            lambda: _text_rows(setting, texts, found), number=texts.answers, progress=progress
        )
    return ImportedAnswers(run, added, texts.answers)


def _word_rows(setting: Setting, table: CheckedTable[WordsRow]) -> Iterator[Row]:
    groups = dict(zip(table.descriptors, ensure_groups(table.descriptors), strict=True))
    rows = RowNumbers()
    for _number, row in table:
        place = rows.number(row)
        for letter, text in row.answers:
            yield (
                Job(
                    key=asking_key(setting, place, letter),
                    prompt=f"{row.descriptor.template} [{letter}__].",
                    number=row.run + 1 - table.first_run,
                    seed=row.seed,
                    group_id=groups[row.descriptor],
                ),
                Answer(text=text),
            )


def _text_rows(
    setting: Setting, table: CheckedTable[TextRow], groups: Mapping[Descriptor, list[int]]
) -> Iterator[Row]:
    for number, row in table:
        if not len(row):
            continue
        yield (
            Job(
                key=asking_key(setting, number),
                number=row.run + 1 - table.first_run,
                seed=row.seed,
                group_id=groups[Descriptor(row.dimension, row.name)][0],
            ),
            Answer(text=row.text, extra={"image": row.image}),
        )


def _groups_of_names(
    names: tuple[Descriptor, ...], listed: DescriptorList | None
) -> dict[Descriptor, list[int]]:
    """The groups of each name, one on each of its dimensions, in their order."""
    in_list: dict[str, list[Descriptor]] = {}
    for one in listed.descriptors if listed else ():
        for each in {key(one.singular), key(one.plural)}:
            in_list.setdefault(each, []).append(one)
    known = KnownGroups(DIMENSIONS)
    needed: dict[Descriptor, list[Descriptor]] = {}
    for name in names:
        there = {one.dimension: one for one in in_list.get(key(name.singular), ())}
        dimensions = [each for each in DIMENSIONS if each in there]
        if name.dimension:
            dimensions = [name.dimension]
        elif not dimensions:
            dimensions = [each for each in DIMENSIONS if known.find(each, name.singular)]
        needed[name] = [
            there.get(each, Descriptor(each, name.singular)) for each in dimensions or [Axis.OTHER.value]
        ]
    every = [one for several in needed.values() for one in several]
    ids = dict(zip(every, ensure_groups(every), strict=True))
    return {name: [ids[one] for one in several] for name, several in needed.items()}
