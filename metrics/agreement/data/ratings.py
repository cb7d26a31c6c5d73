"""The ratings of a study as arrays for agreement (PROTOCOL §10)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, Case, Count, Q, QuerySet, Value, When
from django.db.models.functions import Cast
from numpy.typing import NDArray

from annotation.core.scales import SCALES
from annotation.models import (
    IdentityGroup,
    Judgement,
    Study,
    TaskKind,
    Unit,
)
from metrics.agreement.stats.rated_pairs import Ratings
from metrics.core.annotator_groups import GROUPINGS, group_labeller
from metrics.core.answers import counted_judgements, counted_responses
from metrics.core.columns import NULL, read_columns
from metrics.core.fingerprints import fingerprint, profiles_fingerprint
from metrics.core.stats.checks import UNKNOWN_ANNOTATOR, Ints
from metrics.depiction.tallies import Tally, tallies

# lookup of the judged identity group, for tasks about one
_GROUP = {
    TaskKind.PREVALENCE: "association__group",
    TaskKind.OFFENSIVENESS: "association__group",
    TaskKind.ASSOCIATION: "association__group",
}


@dataclass(frozen=True)
class RatingFrame:
    """The ratings of one kind of task. A unit of agreement is an attribute of an image (perhaps on several
    pages), an association, or an attribute by itself.

    `table.counts` has a column for each of `values` and a row for each unit and annotator; if annotators are
    not identified, a row for each unit (and group of annotators). For each row (R,): `attributes`,
    `identities` (-1 for tasks without identity groups) and `group_of_row`, the index in `groups` of its
    annotator's group. Without `by` there is one group, named ''.
    """

    kind: str
    values: tuple[int, ...]
    table: Ratings
    attributes: Ints
    identities: Ints
    group_of_row: Ints
    groups: tuple[str, ...]


def has_region(kind: str) -> bool:
    """Whether a task of this kind is about an identity group, so that its annotators have pools."""
    return kind == TaskKind.DEPICTION or kind in _GROUP


def read_ratings(
    study: Study, kind: str, *, by: str | None = None, known_tallies: Sequence[Tally] | None = None
) -> RatingFrame:
    """The ratings of all tasks of `kind`, by groups of annotators.

    `by`: 'gender' and 'origin' are profile fields; 'pool' compares the region of residence and of identity
    with the region of the judged group (PROTOCOL §3). An annotator whom the data do not identify belongs to
    the stratum of the slot, if that names one value of the field. `known_tallies`: the tallies of a depiction
    task, if they were already read; used without `by`. Raises ValueError for another `by`, and for pools of
    a task without identity groups.
    """
    if by is not None and by not in GROUPINGS:
        raise ValueError(f"Annotators can be compared by {', '.join(GROUPINGS)}; not by '{by}'.")
    if by == "pool" and not has_region(kind):
        raise ValueError(f"A {kind} task is about no identity group, so its annotators are in no pool.")
    values = tuple(sorted(label.value for label in SCALES[kind]))
    if kind == TaskKind.DEPICTION:
        rows = _depiction_rows(study, by, known_tallies)
    else:
        rows = _judgement_rows(study, TaskKind(kind), by, values)
    names: tuple[str, ...] = ("",)
    group_of_row = np.zeros(len(rows.raters), dtype=np.int64)
    if by is not None and rows.strata:
        keys = np.column_stack([rows.stratum, rows.identities])
        names, group_of_row = annotator_groups(group_labeller(study, by), rows.raters, rows.strata, keys)
    # attributes are the units of a cluster
    order = np.lexsort((rows.raters, group_of_row, rows.attributes, rows.clusters))
    attributes = rows.attributes[order]
    return RatingFrame(
        kind=kind,
        values=values,
        table=Ratings(rows.counts[order], attributes, rows.clusters[order], rows.raters[order]),
        attributes=attributes,
        identities=rows.identities[order],
        group_of_row=group_of_row[order],
        groups=names,
    )


@dataclass(frozen=True)
class _Rows:
    """Unordered rows, with the sorted `strata` that slots were reserved for; empty if not requested."""

    counts: Ints
    clusters: Ints
    attributes: Ints
    raters: Ints
    identities: Ints
    stratum: Ints
    strata: tuple[str, ...]


def _annotators_known(study: Study, kind: str) -> bool:
    return counted_responses(study, kind).filter(annotator__isnull=False).exists()


def _depiction_rows(study: Study, by: str | None, known_tallies: Sequence[Tally] | None) -> _Rows:
    split = by is not None
    pieces = known_tallies if known_tallies is not None and not split else None
    if pieces is None:
        pieces = tallies(study, one_by_one=_annotators_known(study, TaskKind.DEPICTION), by_stratum=split)
    strata = tuple(sorted({name for piece in pieces for name in piece.strata})) if split else ()
    none = np.zeros(0, dtype=np.int64)
    stratum = [
        np.array([strata.index(name) for name in piece.strata], dtype=np.int64)[piece.stratum]
        for piece in pieces
        if split
    ]
    return _Rows(
        counts=np.concatenate([np.zeros((0, 2), dtype=np.int8), *(piece.counts for piece in pieces)]),
        clusters=np.concatenate([none, *(piece.images for piece in pieces)]),
        attributes=np.concatenate([none, *(piece.attributes for piece in pieces)]),
        raters=np.concatenate([none, *(piece.raters for piece in pieces)]),
        identities=np.repeat([piece.group_id for piece in pieces], [len(piece.images) for piece in pieces]),
        stratum=np.concatenate([none, *stratum]),
        strata=strata,
    )


def _judgement_rows(study: Study, task: TaskKind, by: str | None, values: tuple[int, ...]) -> _Rows:
    judgements = counted_judgements(study, task).order_by()
    reserved = _strata(study, task) if by is not None else ()
    keys = ["response__unit_id", "option__attribute_id"]
    if reserved:
        named = [When(response__slot__stratum=name, then=Value(place)) for place, name in enumerate(reserved)]
        judgements = judgements.annotate(stratum=Case(*named))
        keys.append("stratum")
    individual = _annotators_known(study, task)
    rows, counts = (_individual_rows if individual else _summed_rows)(judgements, keys, values)
    return _Rows(
        counts=counts,
        clusters=rows[:, 0],
        attributes=rows[:, 1],
        raters=rows[:, -1] if individual else np.full(len(rows), UNKNOWN_ANNOTATOR),
        identities=_identities(study, task, rows[:, 0]),
        stratum=rows[:, 2] if reserved else np.zeros(0, dtype=np.int64),
        strata=reserved,
    )


def _individual_rows(
    rows: QuerySet[Judgement], keys: list[str], values: tuple[int, ...]
) -> tuple[Ints, Ints]:
    """A row for each judgement, with its annotator in the last column."""
    rows_read = read_columns(rows, *keys, "value", "response__annotator_id")
    place = np.searchsorted(values, rows_read[:, -2])
    counts: NDArray[Any] = np.zeros((len(rows_read), len(values)), dtype=np.int8)
    counts[np.arange(len(rows_read)), place] = 1
    return np.delete(rows_read, -2, axis=1), counts


def _summed_rows(rows: QuerySet[Judgement], keys: list[str], values: tuple[int, ...]) -> tuple[Ints, Ints]:
    """A row for each unit, summed by SQL."""
    sums = {f"given_{place}": Count("pk", filter=Q(value=value)) for place, value in enumerate(values)}
    # expressions: to group by a column, SQLite would read the answers to all tasks in the order of its index
    by = {f"by_{place}": Cast(key, BigIntegerField()) for place, key in enumerate(keys)}
    rows_read = read_columns(rows.annotate(**by).values(*by).annotate(**sums), *by, *sums)
    return rows_read[:, : len(keys)], rows_read[:, len(keys) :]


def _strata(study: Study, kind: str) -> tuple[str, ...]:
    """The strata of slots with a counted answer, sorted."""
    named = counted_responses(study, kind).order_by().values_list("slot__stratum", flat=True)
    return tuple(sorted(str(name) for name in named.distinct()))


def _identities(study: Study, task: TaskKind, units_of: Ints) -> Ints:
    """The identity group of each row; NULL without one."""
    if task not in _GROUP:
        return np.full(len(units_of), NULL)
    units = Unit.objects.filter(task__study=study, task__kind=task).order_by()
    pairs = read_columns(units, "pk", _GROUP[task])
    pairs = pairs[np.argsort(pairs[:, 0])]
    return np.asarray(pairs[np.searchsorted(pairs[:, 0], units_of), 1])


def annotator_groups(
    group_of: Callable[[list[object]], str], raters: Ints, reserved: tuple[str, ...], keys: Ints
) -> tuple[tuple[str, ...], Ints]:
    """The sorted names of the groups of annotators, and the index of each row's group (R,). `keys` (R, 2):
    index of the row's stratum in `reserved`, and its identity group."""
    regions = dict(IdentityGroup.objects.values_list("pk", "region"))
    kinds, inverse = np.unique(np.column_stack([raters, keys]), axis=0, return_inverse=True)
    names_of_rows = [
        group_of(
            [None if rater == UNKNOWN_ANNOTATOR else rater, reserved[stratum], regions.get(identity, "")]
        )
        for rater, stratum, identity in kinds.tolist()
    ]
    names = tuple(sorted(set(names_of_rows)))
    return names, np.array([names.index(name) for name in names_of_rows], dtype=np.int64)[inverse.ravel()]


def inputs_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the answers to tasks of every kind, and with what sorts annotators into groups."""
    by = parameters["by"]
    parts: list[object] = [
        found
        for kind in TaskKind.values
        # without answers, a kind that came later leaves stored scores up to date
        if any(found := fingerprint(counted_responses(study, kind))) or kind != TaskKind.ASSOCIATION
    ]
    if by != "none":
        parts.append(profiles_fingerprint(study))
    if by == "pool":
        parts.append(sorted(map(list, IdentityGroup.objects.values_list("pk", "region"))))
    return parts


def describe_rule(study: Study, parameters: Mapping[str, str]) -> str:
    """The text stored with agreement scores in place of a rule."""
    return "every rating counts as it was given"
