"""Identity groups ranked by stereotypical likelihood and offensiveness (PROTOCOL §10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics.core.stats import joint, spread
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE, Scale
from metrics.depiction.data import rated_inputs_fingerprint, read_depiction
from metrics.depiction.scores.measures import (
    MeasuredGroup,
    Ratings,
    group_offensiveness,
    measured,
    read_ratings,
    tendency_of,
)
from metrics.score_runs.metric import VISAGE, Metric, stereotype_rule
from metrics.score_runs.rows import Inputs, ScoreRow, score_row


@dataclass(frozen=True)
class _Group:
    group_id: int | None
    group: str


@dataclass(frozen=True)
class _Ranked:
    """A score of a group; n is how many attributes it is a mean of."""

    group: _Group
    value: float
    n: int
    influences: Influences
    scale: Scale


def tendency_ranking_scores(inputs: Inputs) -> list[ScoreRow]:
    ratings = read_ratings(inputs.study, inputs.variant)
    tendencies: list[_Ranked] = []
    offensive: list[_Ranked] = []
    for read in read_depiction(inputs.study, by_response=True):
        group = measured(read)
        found = _l_stereo(group)
        if found is not None:
            tendencies.append(found)
        o = _offensiveness(group, ratings)
        if o is not None:
            offensive.append(o)
    rows = _rows(("l_stereo", "rank", "p"), tendencies, inputs)
    return rows + _rows(("o", "o_rank", "o_p"), offensive, inputs)


def _l_stereo(group: MeasuredGroup) -> _Ranked | None:
    """None if it is not reported (PROTOCOL §6)."""
    found = tendency_of(group)
    number, influences = found.point.n_stereotypical, found.stereo_spread
    if number < 2 or not isinstance(influences, Influences):
        return None
    return _Ranked(_group(group), found.point.l_stereo, number, influences, SHARE)


def _offensiveness(group: MeasuredGroup, ratings: Ratings) -> _Ranked | None:
    """None if it has no score. Ratings are taken as given."""
    found = group_offensiveness(group, ratings)
    if found is None:
        return None
    point, influences, scale = found
    if not point.n or not isinstance(influences, Influences):
        return None
    return _Ranked(_group(group), point.value, point.n, influences, scale)


def _group(group: MeasuredGroup) -> _Group:
    return _Group(group.frame.group_id, group.frame.group)


def _rows(names: tuple[str, str, str], ranked: Sequence[_Ranked], inputs: Inputs) -> list[ScoreRow]:
    """Rows of the score and the place of each, and of the p of all being equal. `names` of the three. Without
    intervals only the first two, without bounds."""
    if not ranked:
        return []
    score, place, p = names
    values, influences = [one.value for one in ranked], [one.influences for one in ranked]
    found = joint.places(values, influences)
    number = int(np.isfinite(found.place).sum())
    rows = []
    for one, rank, low, high in zip(
        ranked, found.place.tolist(), found.low.tolist(), found.high.tolist(), strict=True
    ):
        interval, can_have = None, None
        if inputs.with_intervals:
            (interval,) = spread.intervals(one.influences, [one.value], one.scale)
            can_have = Interval(low, high)
        rows.append(score_row(score, one.value, one.n, interval, group=one.group))
        rows.append(score_row(place, rank, number, can_have, group=one.group))
    if inputs.with_intervals:
        rows.append(score_row(p, joint.equal_p(values, influences), number))
    return rows


METRICS: tuple[Metric, ...] = (
    Metric(
        name="tendency_ranking",
        version=3,
        title="Places of groups by stereotypical likelihood and offensiveness",
        task="depiction",
        unit="place, 1 for the largest (rank, o_rank); share of 0 to 1 (l_stereo); as in offensiveness (o); "
        "p of 0 to 1",
        direction="place 1: its stereotypes are depicted most often, or are the most offensive ones",
        definition=(
            "The place of each group by l_stereo and by O(id), with the places that it can have: with 95 % "
            "confidence, those of all groups hold at once. A group cannot have a place above one that is "
            "larger, by all pairwise differences together. Equal groups can change places. p is that of all "
            "groups having the same score."
        ),
        names=(
            ("l_stereo", "l_stereo of the group; n: attributes"),
            ("rank", "its place; the interval has the places that it can have; n: groups ranked"),
            ("p", "p of all having the same l_stereo; n: groups"),
            ("o", "O(id) of the group; n: attributes marked present and rated"),
            ("o_rank", "its place by O(id)"),
            ("o_p", "p of all having the same O(id)"),
        ),
        variants_differ=True,
        variants_note=(
            "published: O(attr, id) is the mean printed in its source; corrected: the mean of the single "
            "ratings; l_stereo is the same"
        ),
        section="§6, §7, §10",
        reference=(
            f"{VISAGE}; Mogstad, Romano, Shaikh & Wilhelm (2024), doi:10.1093/restud/rdad006; Games & Howell "
            "(1976), doi:10.3102/10769986001002113; Brunner, Dette & Munk (1997), "
            "doi:10.1080/01621459.1997.10473671"
        ),
        resampling="",
        clustering="images and annotators, whatever the study's choice: nothing is resampled",
        caveats=(
            "With few images per group, most groups can have many places: a place alone says little. "
            "A group without an interval, with a single image or annotator, has no place. If annotators are "
            "not identified, the places do not include how one annotator affects several groups. Ratings "
            "are taken as given."
        ),
        compute=tendency_ranking_scores,
        rule=stereotype_rule,
        fingerprint=rated_inputs_fingerprint,
    ),
)
