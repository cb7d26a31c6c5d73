"""Read the associations of a source, and what inference models answered (PROTOCOL §15)."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.db.models import Count, FloatField, IntegerField, Q, QuerySet, Sum, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Left, StrIndex

from annotation.models import Association, Pool, Source
from generation.models import Answer, Run, RunKind, RunState
from metrics.inference.drawing import GroupName
from metrics.inference.labels import LabelNames, recognise

PURPOSE = "inference"
"""`design["purpose"]` of a run that asks an inference model."""
_CACHE_SECONDS = 24 * 3600
_DIGITS = 12


@dataclass(frozen=True)
class GroupRef:
    """An identity group. `identity`: the word in its sentences."""

    pk: int
    name: str
    identity: str
    region: str


@dataclass
class SourceAssociations:
    """The associations of a source. `stereotypes`: those that pass the threshold; `associated`: all, whatever
    their votes. `attributes`: text -> id."""

    groups: dict[GroupName, GroupRef] = field(default_factory=dict)
    attributes: dict[str, int] = field(default_factory=dict)
    stereotypes: dict[GroupName, list[str]] = field(default_factory=lambda: defaultdict(list))
    associated: dict[GroupName, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True)
class AnsweredGroup:
    """What was answered about one attribute of one group. `source`: its place in the run's sources."""

    source: int
    group_id: int
    attribute_id: int
    pairs: int
    entailed: int
    entailed_sum: float
    sum: float


def read_associations(source: Source, *, threshold: int, pool: str) -> SourceAssociations:
    """The associations of `source`. With a threshold of 0 all are stereotypes, also those without votes."""
    votes = "in_stereotypical" if pool == Pool.IN_REGION else "out_stereotypical"
    rows = Association.objects.filter(source=source).order_by("pk")
    fields = ("group_id", "group__axis", "group__name", "group__demonym", "group__region")
    found = SourceAssociations()
    for pk, axis, name, demonym, region, attribute_id, text, number in rows.values_list(
        *fields, "attribute_id", "attribute__text", votes
    ):
        group = GroupName(axis, name)
        found.groups[group] = GroupRef(pk, name, demonym.strip() or name, region)
        found.attributes[text] = attribute_id
        found.associated[group].append(text)
        if not threshold or (number or 0) >= threshold:
            found.stereotypes[group].append(text)
    return found


def inference_runs() -> QuerySet[Run]:
    """The runs that ask inference models, newest first."""
    return Run.objects.filter(kind=RunKind.CLASSIFICATIONS, recipe__design__purpose=PURPOSE)


def design_of(run: Run) -> Mapping[str, Any]:
    found: Mapping[str, Any] = run.recipe["design"]
    return found


def label_names(run: Run) -> LabelNames | None:
    """The labels of the model, as its first answer has them; None before there is one. Raises LabelsRefused
    if none of them is entailment."""
    first = Answer.objects.filter(run=run).order_by("job").values_list("probabilities", flat=True).first()
    return None if first is None else recognise(first)


def answered_pairs(run: Run, labels: LabelNames) -> QuerySet[Any]:
    """The answers of a run, each with its `place` among the run's sources, and `p`, its probability of
    entailment."""
    dot = StrIndex("job__key", Value("."))
    return Answer.objects.filter(run=run).annotate(
        place=Cast(Left("job__key", dot - 1), IntegerField()),
        p=Cast(KeyTextTransform(labels.entailment, "probabilities"), FloatField()),
    )


def read_groups(run: Run, labels: LabelNames) -> list[AnsweredGroup]:
    """The answers of a run, counted for each attribute of a group, by source, group and attribute. One query,
    a row for each hundred answers. Cached once the run is done."""
    key = f"inference-groups-1:{run.pk}:{run.finished_at.timestamp() if run.finished_at else 0}"
    counted = cache.get(key) if run.state == RunState.DONE else None
    if counted is None:
        counted = _count(run, labels)
        if run.state == RunState.DONE:
            cache.set(key, counted, _CACHE_SECONDS)
    return [AnsweredGroup(*row) for row in counted]


def _count(run: Run, labels: LabelNames) -> list[tuple[Any, ...]]:
    entailed = Q(text=labels.entailment)
    rows = (
        answered_pairs(run, labels)
        .order_by()
        .values_list("place", "job__group", "job__attribute")
        .annotate(
            pairs=Count("pk"),
            entailed=Count("pk", filter=entailed),
            entailed_sum=Sum("p", filter=entailed, default=0.0),
            sum=Sum("p", default=0.0),
        )
    )
    # The last bits of a sum depend on the order in which the database adds.
    return sorted((*row[:-2], round(row[-2], _DIGITS), round(row[-1], _DIGITS)) for row in rows)
