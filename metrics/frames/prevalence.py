"""A study's own answers to whether associations are known stereotypes (PROTOCOL §3)."""

from __future__ import annotations

import numpy as np
from django.db.models import Count

from annotation.models import Study, TaskKind
from metrics.frames.inputs import counted_judgements
from metrics.frames.ratings import grouping
from metrics.frames.votes import AssociationVotes, Pair, sorted_pairs

_COLUMN = {1: 0, 0: 1, -1: 2}  # Stereotypical, Non-stereotypical, Unsure
_POOLS = ("in-region", "out-region")


def prevalence(study: Study) -> AssociationVotes:
    """The votes of the associations that were judged at least once. Two queries.

    Pools are decided as for agreement (`ratings.grouping`); who is in neither, or did not say, is among
    the `others`. An association that was asked more than once has the votes of all its units.
    """
    pool_of = grouping(study, "pool")
    association = "response__unit__association"
    sums = (
        counted_judgements(study, TaskKind.PREVALENCE)
        .filter(response__unit__association__isnull=False)
        .order_by()
        .values_list(
            f"{association}__group_id",
            f"{association}__group__name",
            f"{association}__group__region",
            f"{association}__attribute_id",
            f"{association}__attribute__text",
            "response__annotator_id",
            "response__slot__stratum",
            "value",
        )
        .annotate(number=Count("pk"))
    )
    tables: dict[Pair, list[list[int]]] = {}
    for *key, annotator, stratum, value, number in sums:
        pair = Pair(*key)
        pool = pool_of([annotator, stratum, pair.region])
        place = _POOLS.index(pool) if pool in _POOLS else len(_POOLS)
        tables.setdefault(pair, [[0] * 3 for _ in range(3)])[place][_COLUMN[value]] += number
    pairs = sorted_pairs(tables)
    table = np.array([tables[pair] for pair in pairs], dtype=np.int64).reshape(-1, 3, 3)
    return AssociationVotes(
        pairs=tuple(pairs), in_region=table[:, 0], out_region=table[:, 1], others=table[:, 2]
    )
