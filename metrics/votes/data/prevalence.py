"""A study's own answers about which associations are known stereotypes (PROTOCOL §3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.models import Study, TaskKind
from metrics.core.annotator_groups import group_labeller
from metrics.core.answers import counted_judgements
from metrics.core.stats import passing_shares
from metrics.core.stats.checks import Ints
from metrics.votes.data.source import AssociationVotes, Pair, sorted_pairs

_COLUMN = {1: 0, 0: 1, -1: 2}  # Stereotypical, Non-stereotypical, Unsure
_POOLS = ("in-region", "out-region")


@dataclass(frozen=True)
class AssociationAnswers(AssociationVotes):
    """The votes with every answer behind them, in the order of units and slots within each pair, which is the
    same in every database. `pair_of` (R,): index into `pairs`. `columns` (R,): 0 to 8, the column in the
    tables of in-region, out-region and others side by side. `annotators` (R,): a cluster of its own for each
    response if annotators are not identified."""

    pair_of: Ints
    columns: Ints
    annotators: Ints


def read_prevalence(study: Study) -> AssociationAnswers:
    """The votes of the associations that were judged at least once. Two queries.

    Pools are those of `annotator_groups.grouping`; annotators in neither pool, or without a statement, are
    among the `others`. An association with several units has the votes of all of them.
    """
    pool_of = group_labeller(study, "pool")
    association = "response__unit__association"
    judgements = (
        counted_judgements(study, TaskKind.PREVALENCE)
        .filter(response__unit__association__isnull=False)
        .order_by()
        .values_list(
            f"{association}__group_id",
            f"{association}__group__name",
            f"{association}__group__region",
            f"{association}__attribute_id",
            f"{association}__attribute__text",
            "response__unit__position",
            "response__slot__index",
            "response_id",
            "response__annotator_id",
            "response__slot__stratum",
            "value",
        )
    )
    answers: dict[Pair, list[tuple[int, int, int, int, int]]] = {}
    for *key, position, slot, response, annotator, stratum, value in judgements:
        pair = Pair(*key)
        pool = pool_of([annotator, stratum, pair.region])
        column = 3 * (_POOLS.index(pool) if pool in _POOLS else len(_POOLS)) + _COLUMN[value]
        rater = -response if annotator is None else annotator
        answers.setdefault(pair, []).append((position, slot, response, column, rater))
    pairs = sorted_pairs(answers)
    rows = np.array(
        [(place, *row[3:]) for place, pair in enumerate(pairs) for row in sorted(answers[pair])],
        dtype=np.int64,
    ).reshape(-1, 3)
    table = passing_shares.count_labels(rows[:, 0], rows[:, 1], shape=(len(pairs), 9)).reshape(-1, 3, 3)
    return AssociationAnswers(
        pairs=tuple(pairs),
        in_region=table[:, 0],
        out_region=table[:, 1],
        others=table[:, 2],
        pair_of=rows[:, 0],
        columns=rows[:, 1],
        annotators=rows[:, 2],
    )
