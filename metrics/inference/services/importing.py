"""Bring in the answers of an inference model that were made elsewhere (PROTOCOL §15)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.oddities import sha256_of
from annotation.imports.services.catalogue import Progress, ensure_attributes, ensure_groups
from annotation.models import Association, Axis, IdentityGroup
from generation.answers.services.imported_runs import ImportedAnswers, ImportedRun, Row
from generation.models import IMPORTED, Answer, Job
from generation.recipes.askings import ClassificationRecipe
from generation.recipes.recipes import as_json
from metrics.inference.answers_csv import AnswerTable, RowError, RowsRefused, read_answers
from metrics.inference.data import PURPOSE
from metrics.inference.labels import LABELS
from metrics.inference.sentences import hypothesis, premise
from metrics.inference.services.planning import pair_key


def import_inference(
    *,
    path: Path,
    name: str,
    model: str,
    revision: str = "",
    settings: Mapping[str, Any] | None = None,
    by: User | None = None,
    progress: Progress = lambda step, done, total: None,
) -> ImportedAnswers:
    """Store the rows of a CSV file (answers_csv.COLUMNS) as a finished run, called `name`, of `model`.

    Groups come from the catalogue, or from the program's own table of identities; attributes that the
    catalogue lacks are added. The label of a pair is the most probable one; of two that are equal, the first
    in the order of the columns. `settings`: how the model was asked, as far as it is known. The same file
    again adds nothing.

    Raises FileRefused for a file with errors, or with an identity that nobody knows, and PlanRefused for the
    name of another run; nothing is stored then.
    """
    try:
        table = read_answers(path)
    except RowsRefused as refused:
        _named, unknown = _find_identities(refused.table)
        raise refused.with_more(unknown) from None
    recipe = ClassificationRecipe(
        backend=IMPORTED,
        model=model,
        revision=revision,
        options=dict(settings or {}),
        design={
            "purpose": PURPOSE,
            "sources": list(table.texts("source")),
            "verbs": list(table.texts("verb")),
            "objects": list(table.texts("object")),
            "file": sha256_of(path),
        },
    )
    wanted = ImportedRun(name=name, kind=recipe.kind, recipe=as_json(recipe), file=path.name, by=by)
    if (existing := wanted.existing()) is not None:
        return ImportedAnswers(existing, 0, len(table), table.ignored)
    named = _identities(path, table)
    run, added = wanted.store(lambda: _rows(table, named), number=len(table), progress=progress)
    return ImportedAnswers(run, added, len(table), table.ignored)


def _rows(table: AnswerTable, named: Sequence[tuple[Axis, str]]) -> Iterator[Row]:
    """The rows of the file. Adds groups and attributes that the catalogue lacks."""
    groups = _groups(table, named)
    attributes, _created = ensure_attributes(texts=table.texts("attribute"))
    texts, verbs, objects = (table.texts(name) for name in ("attribute", "verb", "object"))
    for row in table:
        group, text = groups[row.identity], texts[row.attribute]
        verb, thing = verbs[row.verb], objects[row.object]
        likeliest = max(row.probabilities)
        yield (
            Job(
                key=pair_key(row.source, group.pk, attributes[text], row.verb, row.object),
                number=1,
                prompt=premise(text, verb, thing),
                text_pair=hypothesis(group.demonym.strip() or group.name, verb, thing),
                group=group,
                attribute_id=attributes[text],
            ),
            Answer(
                text=LABELS[row.probabilities.index(likeliest)],
                probabilities=dict(zip(LABELS, row.probabilities, strict=True)),
            ),
        )


def _identities(path: Path, table: AnswerTable) -> list[tuple[Axis, str]]:
    """The identities of the file. Raises RowsRefused."""
    found, errors = _find_identities(table)
    if errors:
        raise RowsRefused(path, errors, table)
    return found


def _find_identities(table: AnswerTable) -> tuple[list[tuple[Axis, str]], list[RowError]]:
    """The axis and the name in the catalogue, or in the program's own table, of each identity of the file;
    and what is wrong: identities that nobody knows, and two spellings of one.

    A name on several axes is that of the axis column, else of the catalogue's source of that name, else a
    nationality."""
    known = _known_names()
    in_sources = _axes_in_sources(table)
    found: list[tuple[Axis, str]] = []
    rows: dict[tuple[Axis, str], int] = {}
    errors: list[RowError] = []
    for place, (axis, text) in enumerate(table.identities):
        matches = [each for each in known.get(text.lower(), []) if axis in ("", each[0].value)]
        if len(matches) > 1:
            wanted = in_sources.get(place, Axis.NATIONALITY.value)
            matches = [each for each in matches if each[0].value == wanted] or matches
        row = table.first_row("identity", place)
        if len(matches) != 1:
            problem = "is in no catalogue" if not matches else "is a name on several axes"
            cure = (
                "Correct it, or import its group first"
                if not matches
                else "Say which in a column 'axis': " + ", ".join(each[0].value for each in matches)
            )
            errors.append((row, f"column 'identity': '{text}' {problem}. {cure}."))
            continue
        if matches[0] in rows:
            twice = f"'{text}' is {matches[0][1]}, who are in row {rows[matches[0]]} by another name"
            errors.append((row, f"column 'identity': {twice}. Use one name."))
        found.append(matches[0])
        rows.setdefault(matches[0], row)
    return found, errors


def _known_names() -> Mapping[str, list[tuple[Axis, str]]]:
    """Names and demonyms, in lower case -> the groups that they name. A name comes before a demonym."""
    groups = {
        (Axis(axis), name): demonym
        for axis, name, demonym in [
            *((axis, name, entry.demonym) for (axis, name), entry in known_identities().items()),
            *IdentityGroup.objects.order_by("pk").values_list("axis", "name", "demonym"),
        ]
    }
    found: dict[str, list[tuple[Axis, str]]] = {}
    for group in groups:
        found.setdefault(group[1].lower(), []).append(group)
    by_demonym: dict[str, list[tuple[Axis, str]]] = {}
    for group, demonym in groups.items():
        by_demonym.setdefault(demonym.strip().lower(), []).append(group)
    return {**by_demonym, **found}


def _axes_in_sources(table: AnswerTable) -> dict[int, str]:
    """The axis of each identity that the catalogue has in a source of the file, by that name."""
    sources, identities = table.texts("source"), table.identities
    rows = Association.objects.filter(source__name__in=sources).order_by("group__axis")
    axes = {
        (source, name.lower()): axis
        for source, name, axis in rows.values_list("source__name", "group__name", "group__axis").distinct()
    }
    return {
        identity: axes[sources[source], identities[identity][1].lower()]
        for source, identity in sorted(table.pairs_of("source", "identity"))
        if (sources[source], identities[identity][1].lower()) in axes
    }


def _groups(table: AnswerTable, named: Sequence[tuple[Axis, str]]) -> list[IdentityGroup]:
    """The groups of the file's identities; those that only the program's own table has are added."""
    present = {(group.axis, group.name): group for group in IdentityGroup.objects.all()}
    missing: dict[Axis, dict[str, int]] = {}
    for place, (axis, name) in enumerate(named):
        if (axis.value, name) not in present:
            missing.setdefault(axis, {})[name] = table.first_row("identity", place)
    for axis, first_rows in missing.items():
        ensure_groups(first_rows=first_rows, axis=axis, file=table.name)
    if missing:
        present = {(group.axis, group.name): group for group in IdentityGroup.objects.all()}
    return [present[axis.value, name] for axis, name in named]
