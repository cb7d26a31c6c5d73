"""The associations of a study's stereotype source, with their votes and ratings (PROTOCOL §3, §4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, F, QuerySet, Sum

from annotation.models import Association, Pool, Study
from metrics.core.answers import counted_responses
from metrics.core.stats.checks import Bools, Floats, Ints

_VOTES = (
    "in_stereotypical",
    "in_nonstereotypical",
    "in_unsure",
    "out_stereotypical",
    "out_nonstereotypical",
    "out_unsure",
)


@dataclass(frozen=True)
class Pair:
    """An identity group and an attribute. `region` is empty if unknown."""

    group_id: int
    group: str
    region: str
    attribute_id: int
    attribute: str


@dataclass(frozen=True)
class AssociationVotes:
    """Votes for associations, sorted by group and attribute so that a seeded draw is the same in every
    database. `in_region`, `out_region` and `others` (N, 3): how many annotators of the pool, or of neither,
    answered Stereotypical, Non-stereotypical and Unsure."""

    pairs: tuple[Pair, ...]
    in_region: Ints
    out_region: Ints
    others: Ints


@dataclass(frozen=True)
class RatedAssociations:
    """Offensiveness in the source: `published_means` (N,), NaN without ratings, and `ratings`, all ratings of
    each association. `stereotypical` (N,): by the study's rule."""

    votes: AssociationVotes
    stereotypical: Bools
    published_means: Floats
    ratings: tuple[list[float], ...]


def associations(study: Study) -> QuerySet[Association]:
    """All associations of the study's stereotype source; none without a source."""
    if study.stereotype_source_id is None:
        return Association.objects.none()
    return Association.objects.filter(source=study.stereotype_source_id)


def read_votes(study: Study) -> AssociationVotes:
    """The votes of the study's stereotype source (PROTOCOL §3). One query."""
    return _association_votes(_rows(study, *_VOTES))


def read_rated_associations(study: Study) -> RatedAssociations:
    """The votes with the source's offensiveness ratings (PROTOCOL §4). One query."""
    rows = _rows(study, *_VOTES, "offensiveness_mean", "offensiveness")
    frame = _association_votes(rows)
    pool = frame.in_region if study.stereotype_pool == Pool.IN_REGION else frame.out_region
    return RatedAssociations(
        votes=frame,
        stereotypical=pool[:, 0] >= study.stereotype_threshold,
        published_means=np.array([fields[-2] for _, fields in rows], dtype=np.float64),  # None becomes NaN
        ratings=tuple(fields[-1] for _, fields in rows),
    )


def votes_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the votes of the stereotype source."""
    return [_sums(associations(study))]


def ratings_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the votes and the offensiveness ratings of the stereotype source. Ratings are read one by
    one: they belong to the catalogue and do not grow with the study."""
    rows = associations(study)
    rated = rows.order_by("pk").values_list("pk", "offensiveness", "offensiveness_mean")
    return [[*_sums(rows), [list(row) for row in rated]]]


def _sums(rows: QuerySet[Association]) -> list[object]:
    """Sums of the votes, and the regions of the groups."""
    sums = {
        name: Sum(weight)
        for vote in _VOTES
        for name, weight in ((f"all_{vote}", F(vote)), (f"where_{vote}", F(vote) * F("pk")))
    }
    found = rows.order_by().aggregate(number=Count("pk"), ids=Sum("pk"), **sums)
    groups = rows.order_by("group_id").values_list("group_id", "group__region").distinct()
    # PostgreSQL returns sums of integers as decimals
    return [[int(found[name] or 0) for name in sorted(found)], [list(group) for group in groups]]


def regions_fingerprint(study: Study, task: str) -> list[list[object]]:
    """Changes when a group judged in tasks of the kind `task` moves to another region."""
    answers = counted_responses(study, task).filter(unit__association__isnull=False).order_by()
    regions = answers.values_list(
        "unit__association__group_id", "unit__association__group__region"
    ).distinct()
    return sorted(map(list, regions))


def sorted_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """Sorted in Python, because databases sort letters in different orders."""
    return sorted(pairs, key=lambda pair: (pair.group, pair.group_id, pair.attribute))


def _rows(study: Study, *fields: str) -> list[tuple[Pair, tuple[Any, ...]]]:
    found = associations(study).values_list(
        "group_id", "group__name", "group__region", "attribute_id", "attribute__text", *fields
    )
    rows = {Pair(*row[:5]): row[5:] for row in found.order_by()}
    return [(pair, rows[pair]) for pair in sorted_pairs(rows)]


def _association_votes(rows: list[tuple[Pair, tuple[Any, ...]]]) -> AssociationVotes:
    # a file without out-region columns has null there
    votes = [[vote or 0 for vote in fields[: len(_VOTES)]] for _, fields in rows]
    table = np.array(votes, dtype=np.int64).reshape(-1, len(_VOTES))
    return AssociationVotes(
        pairs=tuple(pair for pair, _ in rows),
        in_region=table[:, :3],
        out_region=table[:, 3:],
        others=np.zeros((len(rows), 3), dtype=np.int64),
    )
