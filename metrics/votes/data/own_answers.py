"""A study's own answers: known stereotypes, how offensive and how biased they are (PROTOCOL §3, §4, §11)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from annotation.models import IdentityGroup, ProfileAnswer, ProfileField, Study, TaskKind
from metrics.core.annotator_groups import group_labeller
from metrics.core.answers import counted_judgements, counted_responses, stereotypes
from metrics.core.stats import passing_shares
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.votes.data.source import (
    AssociationVotes,
    Pair,
    associations,
    regions_fingerprint,
    sorted_pairs,
    votes_fingerprint,
)

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


def prevalence_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the regions of the judged groups, and with the residence and identity region of the
    annotators who judged them, which decide their pools."""
    answers = counted_responses(study, TaskKind.PREVALENCE).order_by()
    profile_answers = ProfileAnswer.objects.filter(
        annotator__in=answers.values("annotator"),
        field__in=(ProfileField.RESIDENCE, ProfileField.IDENTITY_REGION),
    ).values_list("annotator_id", "field", "value")
    pools = sorted(map(list, profile_answers.order_by()))
    return [regions_fingerprint(study, TaskKind.PREVALENCE), pools]


@dataclass(frozen=True)
class RatingRows:
    """One rating a row: `values` (R,) and `annotators` (R,), a cluster each if they are not identified.

    `pairs`: what was rated; `group_id` is 0 for an attribute without a group. `stereotypical` (R,): whether
    the pair is a stereotype by the study's rule.
    """

    pairs: tuple[Pair, ...]
    values: Floats
    annotators: Ints
    stereotypical: Bools


def read_rated_offensiveness(study: Study) -> tuple[RatingRows, RatingRows]:
    """Every rating once; and the ratings by group: a rating of a pair counts for its group, a rating of an
    attribute alone for each group that the study's source associates with it. Both are in the order of unit
    and slot, the same in every database. Four queries.
    """
    found = counted_judgements(study, TaskKind.OFFENSIVENESS).values_list(
        "response__unit__task_id",
        "response__unit__position",
        "response__slot__index",
        "response_id",
        "response__annotator_id",
        "response__unit__association__group_id",
        "response__unit__association__attribute_id",
        "response__unit__attribute_id",
        "response__unit__association__attribute__text",
        "response__unit__attribute__text",
        "value",
    )
    names = {
        pk: (name, region) for pk, name, region in IdentityGroup.objects.values_list("pk", "name", "region")
    }
    stereotypical = set(stereotypes(study).values_list("group_id", "attribute_id"))
    groups_of: dict[int, list[int]] = {}
    for group, attribute in associations(study).values_list("group_id", "attribute_id"):
        groups_of.setdefault(attribute, []).append(group)
    ratings: list[tuple[Pair, float, int]] = []
    group_ratings: list[tuple[Pair, float, int]] = []
    for _, _, _, response, annotator, group, of_pair, alone, pair_text, text, value in sorted(
        found.order_by(), key=lambda row: row[:4]
    ):
        rater = -response if annotator is None else annotator
        attribute = of_pair or alone
        rated = _pair(group, attribute, pair_text or text, names)
        ratings.append((rated, value, rater))
        pairs = (
            [rated] if group else [_pair(one, attribute, text, names) for one in groups_of.get(attribute, ())]
        )
        group_ratings.extend((pair, value, rater) for pair in sorted_pairs(pairs))
    return _rows(ratings, stereotypical), _rows(group_ratings, stereotypical)


def read_bias_levels(study: Study) -> RatingRows:
    """Every answer on how biased an association is, Unsure as 0; in the order of unit and slot, the same in
    every database. No pair is marked as a stereotype. One query."""
    association = "response__unit__association"
    found = counted_judgements(study, TaskKind.ASSOCIATION).filter(response__unit__association__isnull=False)
    answers = found.order_by().values_list(
        "response__unit__task_id",
        "response__unit__position",
        "response__slot__index",
        "response_id",
        "response__annotator_id",
        "value",
        f"{association}__group_id",
        f"{association}__group__name",
        f"{association}__group__region",
        f"{association}__attribute_id",
        f"{association}__attribute__text",
    )
    ordered = sorted(answers, key=lambda row: row[:4])
    return _rows(
        [
            (Pair(*pair), value, -response if annotator is None else annotator)
            for _, _, _, response, annotator, value, *pair in ordered
        ],
        set(),
    )


def bias_levels_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the regions of the groups that were asked about."""
    return [regions_fingerprint(study, TaskKind.ASSOCIATION)]


def offensiveness_fingerprint(study: Study, parameters: Mapping[str, str]) -> list[object]:
    """Changes with the votes of the source and the regions of the rated groups."""
    return [
        *votes_fingerprint(study, parameters),
        regions_fingerprint(study, TaskKind.OFFENSIVENESS),
    ]


def _pair(group: int | None, attribute: int, text: str, names: dict[int, tuple[str, str]]) -> Pair:
    name, region = names[group] if group else ("", "")
    return Pair(group or 0, name, region, attribute, text)


def _rows(rows: list[tuple[Pair, float, int]], stereotypical: set[tuple[int, int]]) -> RatingRows:
    return RatingRows(
        pairs=tuple(row[0] for row in rows),
        values=np.array([row[1] for row in rows], dtype=np.float64),
        annotators=np.array([row[2] for row in rows], dtype=np.int64),
        stereotypical=np.array(
            [(row[0].group_id, row[0].attribute_id) in stereotypical for row in rows], dtype=np.bool_
        ),
    )
