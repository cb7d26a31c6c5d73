"""A study's own ratings of how offensive attributes and associations are (PROTOCOL §4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.models import IdentityGroup, Study, TaskKind
from metrics.core.answers import counted_judgements, stereotypes
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.votes.data.source import Pair, associations, sorted_pairs


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


@dataclass(frozen=True)
class OffensivenessRatings:
    """`ratings`: every rating once. `group_ratings`: the ratings by group. A rating of a pair counts for its
    group, a rating of an attribute alone for each group that the study's source associates with it."""

    ratings: RatingRows
    group_ratings: RatingRows


def read_rated_offensiveness(study: Study) -> OffensivenessRatings:
    """The ratings in the order of unit and slot, the same in every database. Four queries."""
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
    return OffensivenessRatings(
        ratings=_rows(ratings, stereotypical), group_ratings=_rows(group_ratings, stereotypical)
    )


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
