"""The candidates in the answers of a run (PROTOCOL §14), computed from the database. Writes nothing."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Max

from annotation.models import Axis, IdentityGroup
from generation.models import Answer, Run, RunKind
from metrics.candidates.extraction import Extracted, Extraction, whole_text
from metrics.candidates.identity_forms import Group, IdentityForms
from metrics.candidates.selection import MOST_PER_REGION, Candidate, select

PURPOSE = "candidates"
"""The `purpose` in the design of a run that asks for candidates."""
_VERSION = 1  # of the rules: a list that another version made is found again
_AT_ONCE = 10_000


class CandidatesRefused(ValueError):
    """A run, seeds or a list that cannot be used. The message says why and what to do."""


@dataclass(frozen=True)
class Evaluated:
    """`candidates`: all of them, by region, group and salience. `groups`: by id."""

    extracted: Extracted
    candidates: list[Candidate]
    groups: dict[int, Group]


def check_run(run: Run) -> None:
    """Raises CandidatesRefused for a run that completes no texts, or that judges a study's items."""
    if run.kind != RunKind.COMPLETIONS or (run.recipe.get("design") or {}).get("study"):
        raise CandidatesRefused(
            f"Run {run.pk} makes {run.get_kind_display().lower()}: candidates are found in the answers of "
            "runs of completions that are about no study."
        )


def axis_of(run: Run) -> str:
    """The axis that the run's askings were planned for; nationality if they were planned for something else
    or made elsewhere."""
    axis = (run.recipe.get("design") or {}).get("axis")
    return axis if axis in Axis.values else Axis.NATIONALITY.value


def groups_of(axis: str) -> list[Group]:
    """The catalogue's groups of an axis, by id."""
    fields = ("pk", "axis", "name", "demonym", "country", "region")
    return [
        Group(*row) for row in IdentityGroup.objects.filter(axis=axis).order_by("pk").values_list(*fields)
    ]


def digest(run: Run, *, axis: str, per_region: int) -> str:
    """Changes with the answers of the run, which are only ever added or deleted, the groups of the axis, and
    the rules."""
    answers = Answer.objects.filter(run=run).order_by().aggregate(number=Count("pk"), last=Max("pk"))
    inputs = [
        *(_VERSION, axis, per_region, answers["number"], answers["last"]),
        *([group.pk, group.name, group.demonym, group.country, group.region] for group in groups_of(axis)),
    ]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def evaluate(run: Run, *, axis: str, per_region: int = MOST_PER_REGION) -> Evaluated:
    """Read all answers of the run and find its candidates; memory does not grow with the answers.

    Raises CandidatesRefused if the axis has no groups.
    """
    check_run(run)
    forms = IdentityForms(groups_of(axis))
    if not forms.groups:
        raise CandidatesRefused(
            f"The catalogue has no identity groups of the axis '{axis}': import associations first "
            "(manage.py import_seegull), or choose another axis."
        )
    reading = Extraction(forms)
    reading.add(_texts(run))
    extracted = reading.result()
    candidates = select(extracted.counts, forms.groups, per_region=per_region)
    return Evaluated(extracted, candidates, forms.groups)


def _texts(run: Run) -> Iterator[str]:
    rows = Answer.objects.filter(run=run).order_by().values_list("job__prompt", "text")
    for prompt, text in rows.iterator(chunk_size=_AT_ONCE):
        yield whole_text(prompt, text)
