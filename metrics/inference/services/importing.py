"""Bring in the answers of an inference model that were made elsewhere (PROTOCOL §15)."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.core.leases import JobState
from annotation.imports.readers.identities import known_identities
from annotation.imports.readers.oddities import sha256_of
from annotation.imports.services.catalogue import Progress, ensure_attributes, ensure_groups
from annotation.models import Association, AuditEvent, Axis, IdentityGroup
from generation.models import IMPORTED, Answer, Job, Run, RunState
from generation.plans.errors import PlanRefused
from generation.plans.queries.runs import check_run_name, check_same_recipe
from generation.recipes.askings import ClassificationRecipe
from generation.recipes.recipes import as_json, digest
from metrics.inference.answers_csv import MOST_ERRORS, AnswerTable, PairRow, RowsRefused, read_answers
from metrics.inference.data import PURPOSE
from metrics.inference.labels import LABELS
from metrics.inference.sentences import hypothesis, premise
from metrics.inference.services.planning import pair_key

logger = logging.getLogger(__name__)

_ROWS_PER_TRANSACTION = 2000
_INTERRUPTED = "The import was interrupted. Give the same command again: it goes on where it stopped."


@dataclass(frozen=True)
class ImportedAnswers:
    """`added`: answers that are new; `total`: all of the run; `ignored`: columns that were not read."""

    run: Run
    added: int
    total: int
    ignored: tuple[str, ...]

    def summary(self) -> list[str]:
        """The result, in sentences."""
        if self.added:
            done = _("Run %(run)s, '%(name)s': %(added)s answers added.")
        else:
            done = _("Nothing to do: run %(run)s, '%(name)s', has all %(total)s answers of this file.")
        words = {
            "run": self.run.pk,
            "name": self.run.name,
            "added": f"{self.added:,}",
            "total": f"{self.total:,}",
        }
        ignored = _("Columns that were not read: %(columns)s.") % {"columns": ", ".join(self.ignored)}
        return [done % words, *([ignored] if self.ignored else [])]


def import_inference(
    *,
    path: Path,
    name: str,
    model: str,
    revision: str = "",
    by: User | None = None,
    progress: Progress | None = None,
) -> ImportedAnswers:
    """Store the rows of a CSV file (answers_csv.COLUMNS) as a finished run, called `name`, of `model`.

    Groups come from the catalogue, or from the program's own table of identities; attributes that the
    catalogue lacks are added. The label of a pair is the most probable one; of two that are equal, the first
    in the order of the columns. The same file again adds nothing, and completes an interrupted import.

    Raises FileRefused for a file with errors, or with an identity that nobody knows, and PlanRefused for the
    name of another run; nothing is stored then.
    """
    check_run_name(name)
    table = read_answers(path)
    recipe = ClassificationRecipe(
        backend=IMPORTED,
        model=model,
        revision=revision,
        design={
            "purpose": PURPOSE,
            "sources": list(table.texts("source")),
            "verbs": list(table.texts("verb")),
            "objects": list(table.texts("object")),
            "file": sha256_of(path),
        },
    )
    recipe_hash = digest(recipe, image_set="", name=name)
    check_same_recipe(name, recipe_hash, recipe)
    named = _identities(path, table)
    now = timezone.now()
    with transaction.atomic():
        groups = _groups(table, named)
        attributes, _created = ensure_attributes(texts=table.texts("attribute"))
        run, created = Run.objects.get_or_create(
            recipe_hash=recipe_hash,
            defaults={
                "kind": recipe.kind,
                "name": name,
                "backend": IMPORTED,
                "recipe": as_json(recipe),
                # until all rows are stored
                "state": RunState.PAUSED,
                "error": _INTERRUPTED,
                "started_at": now,
                "created_by": by,
            },
        )
        if created:
            details = {"run": run.pk, "name": name, "model": model, "rows": len(table)}
            AuditEvent.objects.create(what="answers imported", by=by, details=details)
    writer = _Writer(run, table, groups, [attributes[text] for text in table.texts("attribute")])
    added = writer.write(progress)
    run.refresh_from_db()
    logger.info("%s answers imported into run %s", added, run.pk)
    return ImportedAnswers(run, added, len(table), table.ignored)


@dataclass(frozen=True)
class _Writer:
    """Stores the rows of a table in order, so that the number of jobs says which rows are stored."""

    run: Run
    table: AnswerTable
    groups: Sequence[IdentityGroup]
    attributes: Sequence[int]

    def write(self, progress: Progress | None) -> int:
        if self.run.state == RunState.DONE:
            return 0
        stored = already = self.run.jobs.count()
        rows = islice(self.table, already, None)
        while part := list(islice(rows, _ROWS_PER_TRANSACTION)):
            with transaction.atomic():
                Run.objects.select_for_update(no_key=True).get(pk=self.run.pk)
                if self.run.jobs.filter(key=self._key(part[0])).exists():
                    raise PlanRefused(_("Somebody else imports this file right now. Wait until it is done."))
                jobs = Job.objects.bulk_create(self._jobs(part))
                Answer.objects.bulk_create(self._answers(jobs, part))
            stored += len(part)
            if progress is not None:
                progress(_("answers"), stored, len(self.table))
        Run.objects.filter(pk=self.run.pk).update(state=RunState.DONE, error="", finished_at=timezone.now())
        return stored - already

    def _key(self, row: PairRow) -> str:
        group, attribute = self.groups[row.identity], self.attributes[row.attribute]
        return pair_key(row.source, group.pk, attribute, row.verb, row.object)

    def _jobs(self, rows: Sequence[PairRow]) -> Iterator[Job]:
        texts, verbs, objects = (self.table.texts(name) for name in ("attribute", "verb", "object"))
        now = timezone.now()
        for row in rows:
            group, attribute = self.groups[row.identity], self.attributes[row.attribute]
            verb, thing = verbs[row.verb], objects[row.object]
            yield Job(
                run=self.run,
                key=self._key(row),
                number=1,
                prompt=premise(texts[row.attribute], verb, thing),
                text_pair=hypothesis(group.demonym.strip() or group.name, verb, thing),
                group=group,
                attribute_id=attribute,
                state=JobState.DONE,
                finished_at=now,
            )

    def _answers(self, jobs: Sequence[Job], rows: Sequence[PairRow]) -> Iterator[Answer]:
        for job, row in zip(jobs, rows, strict=True):
            likeliest = max(row.probabilities)
            yield Answer(
                job=job,
                run=self.run,
                text=LABELS[row.probabilities.index(likeliest)],
                probabilities=dict(zip(LABELS, row.probabilities, strict=True)),
            )


def _identities(path: Path, table: AnswerTable) -> list[tuple[Axis, str]]:
    """The axis and the name in the catalogue, or in the program's own table, of each identity of the file.

    A name on several axes is that of the axis column, else of the catalogue's source of that name, else a
    nationality. Raises RowsRefused for identities that nobody knows, and for two spellings of one."""
    known = _known_names()
    in_sources = _axes_in_sources(table)
    found: list[tuple[Axis, str]] = []
    errors = []
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
            errors.append(f"row {row}: column 'identity': '{text}' {problem}. {cure}.")
            continue
        if matches[0] in found:
            errors.append(
                f"row {row}: column 'identity': '{text}' is {matches[0][1]}, who are in row "
                f"{table.first_row('identity', found.index(matches[0]))} by another name. Use one name."
            )
        found.append(matches[0])
    if errors:
        raise RowsRefused(path, errors[:MOST_ERRORS], len(errors))
    return found


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
