"""Which rows a score is computed from, and a digest of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import Count, Exists, F, OuterRef, QuerySet, Sum
from django.db.models.functions import Mod

from annotation.core import snapshots
from annotation.models import (
    Annotator,
    Association,
    IdentityGroup,
    Judgement,
    Pool,
    ProfileAnswer,
    ProfileField,
    Response,
    Study,
    TaskKind,
)
from generation.models import Embedding, Run
from metrics import registry
from metrics.frames import texts
from metrics.frames.embeddings import embedding_run, groups_embedded, runs_compared
from metrics.frames.votes import votes_fingerprint
from metrics.registry import Metric

# A prime below 2^31, so that the square of a remainder still fits in a signed 64-bit integer.
_PRIME = 2_147_483_647
# What compares two sides of depictions, or groups and regions of them: what hangs on those is read too.
_COMPARES = (
    "tendency_difference",
    "tendency_contrast",
    "offensiveness_difference",
    "offensiveness_contrast",
)
_RATED = ("offensiveness", "offensiveness_difference", "offensiveness_contrast")
# Fingerprints that were taken of the state which a snapshot sees.
_known: ContextVar[dict[str, list[int]] | None] = ContextVar("known", default=None)


def counted_responses(study: Study, task: str) -> QuerySet[Response]:
    """The responses that count in every score of `study`."""
    return Response.objects.filter(
        unit__task__study=study,
        unit__task__kind=task,
        current=True,
        withdrawn_at__isnull=True,
        slot__isnull=False,
    )


def counted_judgements(study: Study, task: str) -> QuerySet[Judgement]:
    """Their judgements."""
    return Judgement.objects.filter(
        response__unit__task__study=study,
        response__unit__task__kind=task,
        response__current=True,
        response__withdrawn_at__isnull=True,
        response__slot__isnull=False,
    )


def stereotypes(study: Study) -> QuerySet[Association]:
    """The associations that are stereotypes by the study's rule (PROTOCOL §3); none without a source."""
    if study.stereotype_source_id is None:
        return Association.objects.none()
    votes = "in_stereotypical" if study.stereotype_pool == Pool.IN_REGION else "out_stereotypical"
    return Association.objects.filter(
        source=study.stereotype_source_id, **{f"{votes}__gte": study.stereotype_threshold}
    )


def rule_in_words(study: Study) -> str:
    """The study's rule for stereotypes, as it stands beside every score that depends on it."""
    if study.stereotype_source is None:
        return "no stereotype source is set: no attribute counts as stereotypical"
    return (
        f"stereotypical: at least {study.stereotype_threshold} stereotypical "
        f"{Pool(study.stereotype_pool).label} votes in {study.stereotype_source.name}"
    )


def _in_words(rows: QuerySet[Any]) -> str:
    """The query, or nothing where Django sees that there can be no rows."""
    try:
        return str(rows.order_by().query)
    except EmptyResultSet:
        return ""


def _fingerprint(rows: QuerySet[Any]) -> list[int]:
    """Three numbers that change with the set of rows: count, sum of ids, sum of squared ids mod p.

    Answers are append-only, so a set of ids says all: a new answer or revision is a new id, a withdrawn or
    replaced one is gone. The squares tell apart sets of the same size and sum.
    """
    remainder = Mod(F("pk"), _PRIME)
    known = _known.get()
    query = "" if known is None else _in_words(rows)
    if known and query in known:
        return known[query]
    found = rows.order_by().aggregate(
        count=Count("pk"), total=Sum("pk"), squares=Sum(Mod(remainder * remainder, _PRIME))
    )
    numbers = [int(found["count"]), int(found["total"] or 0), int(found["squares"] or 0)]
    if known is not None and query:
        known[query] = numbers
    return numbers


def inputs_digest(study: Study, metric: Metric, parameters: Mapping[str, str] | None = None) -> str:
    """SHA-256 of what the metric is computed from: the answers, the rule, the associations that pass it.

    Costs a few aggregates, not a read of the answers. The ratings of stereotypes are read row by row for
    offensiveness and its comparisons, where their values matter and not only which associations there are;
    they are part of the catalogue and do not grow with the study.
    """
    parts: list[object] = [
        study.pk,
        metric.name,
        metric.task,
        study.stereotype_source_id,
        study.stereotype_pool,
        study.stereotype_threshold,
        study.visual_rule,
        registry.parameters(metric, parameters),
        _fingerprint(counted_responses(study, metric.task)),
    ]
    if study.visual_mean is not None:  # runs of studies without one keep the digest they were stored with
        parts.append({"visual_mean": study.visual_mean})
    if metric.task == "depiction":
        parts.append(_fingerprint(stereotypes(study)))
    if metric.name in _RATED:
        parts.append(_offensiveness_fingerprint(study))
    if metric.source == "votes" or metric.task == TaskKind.OFFENSIVENESS:
        parts.append(votes_fingerprint(study, ratings=metric.name == "attribute_offensiveness"))
    if metric.task in (TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS):
        parts.append(_regions_fingerprint(study, metric.task))
    if metric.task == TaskKind.PREVALENCE:
        parts.append(_pools_fingerprint(study))
    if metric.source == "ratings":
        parts += _ratings_fingerprint(study, registry.parameters(metric, parameters)["by"])
    if metric.source == "captions":
        read = texts.captions_read(study, registry.parameters(metric, parameters))
        parts += [_fingerprint(rows) for rows in (read, texts.vocabulary(study))]
        parts.append(_fingerprint(counted_responses(study, "visual_nature")))
    if metric.source == "embeddings":
        parts.append(_embeddings_fingerprint(study, registry.parameters(metric, parameters)))
    if metric.name in _COMPARES:
        parts += _compared_fingerprint(
            study, registry.parameters(metric, parameters), rated=metric.name in _RATED
        )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _offensiveness_fingerprint(study: Study) -> list[list[object]]:
    ratings = stereotypes(study).order_by("pk")
    return [list(row) for row in ratings.values_list("pk", "offensiveness", "offensiveness_mean")]


def _compared_fingerprint(study: Study, parameters: Mapping[str, str], *, rated: bool) -> list[object]:
    """The other study and its rule, the regions of the groups, and what annotators say of themselves."""
    found: list[object] = [sorted(map(list, IdentityGroup.objects.values_list("pk", "region")))]
    other = Study.objects.filter(name=parameters.get("against", "")).first()
    if other is not None:
        answers = counted_responses(other, TaskKind.DEPICTION)
        found += [other.pk, rule_in_words(other), _fingerprint(answers), _fingerprint(stereotypes(other))]
        if rated:
            found.append(_offensiveness_fingerprint(other))
    if parameters.get("by"):
        said = ProfileAnswer.objects.filter(annotator__responses__unit__task__study=study).distinct()
        found.append(sorted(map(list, said.order_by().values_list("annotator_id", "field", "value"))))
    return found


def _regions_fingerprint(study: Study, task: str) -> list[list[object]]:
    """What changes when a group that was judged moves to another region."""
    answers = counted_responses(study, task).filter(unit__association__isnull=False).order_by()
    regions = answers.values_list(
        "unit__association__group_id", "unit__association__group__region"
    ).distinct()
    return sorted(map(list, regions))


def _pools_fingerprint(study: Study) -> list[list[object]]:
    """What changes when somebody who answered tells something else of where they live or belong: the pools
    of PROTOCOL §3 hang on it."""
    answers = counted_responses(study, TaskKind.PREVALENCE).order_by()
    said = ProfileAnswer.objects.filter(
        annotator__in=answers.values("annotator"),
        field__in=(ProfileField.RESIDENCE, ProfileField.IDENTITY_REGION),
    ).values_list("annotator_id", "field", "value")
    return sorted(map(list, said.order_by()))


def _ratings_fingerprint(study: Study, by: str) -> list[object]:
    """The answers to tasks of every kind, and whatever sorts those who gave them into groups."""
    found: list[object] = [_fingerprint(counted_responses(study, kind)) for kind in TaskKind.values]
    if by != "none":
        said = ProfileAnswer.objects.filter(annotator__responses__unit__task__study=study).distinct()
        found.append(sorted(map(list, said.order_by().values_list("annotator_id", "field", "value"))))
    if by == "pool":
        found.append(sorted(map(list, IdentityGroup.objects.values_list("pk", "region"))))
    return found


def _embeddings_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """The embeddings of a run, or of the two that are compared, and the groups and regions that their images
    are of."""
    if "run" not in parameters:
        return [part for run in runs_compared(study, parameters) for part in _of_run(run)]
    chosen = embedding_run(study, parameters["run"])
    return [] if chosen is None else _of_run(chosen)


def _of_run(run: Run) -> list[object]:
    groups = groups_embedded(run).order_by("pk")
    return [
        run.pk,
        run.recipe_hash,
        _fingerprint(Embedding.objects.filter(run=run)),
        [list(row) for row in groups.values_list("pk", "name", "region")],
    ]


@contextmanager
def snapshot() -> Iterator[None]:
    """Several reads that see one state of the database, so that a digest fits the rows it stands for. Only
    for reading: what was counted within it is not counted again.
    """
    with snapshots.snapshot():
        token = _known.set({}) if _known.get() is None else None
        try:
            yield
        finally:
            if token is not None:
                _known.reset(token)


def holds_simulated(study: Study) -> bool:
    """Whether any of the answers was made by a program: such numbers must say so."""
    if study.simulated:
        return True
    # From the programs that ever answered, of which there are few, and not from the study's many answers.
    answers = Response.objects.filter(annotator=OuterRef("pk"), unit__task__study=study).order_by()
    return Annotator.objects.filter(Exists(answers), simulated=True).exists()
