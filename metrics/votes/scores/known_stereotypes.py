"""How many associations are known stereotypes, by pool and threshold (PROTOCOL §3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metrics.core.stats import bootstrap, passing_shares, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.score_runs.rows import Inputs, ScoreRow
from metrics.votes import stats
from metrics.votes.data.prevalence import read_prevalence
from metrics.votes.data.source import AssociationVotes, read_votes
from metrics.votes.scores.sections import Section, pool_part, sections

_POOLED = 6  # columns of the answers of both pools


_Draw = Callable[[Section], Floats]


def stereotypes_scores(inputs: Inputs) -> list[ScoreRow]:
    """A source keeps how many voted, not who: associations alone are drawn."""
    frame = read_votes(inputs.study)
    found = stats.passing(frame.in_region, frame.out_region)

    def drawn(section: Section) -> Floats:
        return stats.resampled_shares(
            found.passed[section.rows],
            found.counted[section.rows],
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, section.draws),
        )

    return _thresholds(inputs, frame, found, drawn)


def prevalence_scores(inputs: Inputs) -> list[ScoreRow]:
    """Associations and annotators are drawn."""
    frame = read_prevalence(inputs.study)
    found = stats.passing(frame.in_region, frame.out_region)
    # who is in neither pool counts in no threshold
    pooled = frame.columns < _POOLED

    def drawn(section: Section) -> Floats:
        place = np.full(len(frame.pairs), -1)
        place[section.rows] = np.arange(len(section.rows))
        here = pooled & (place[frame.pair_of] >= 0)
        return passing_shares.resampled_shares(
            place[frame.pair_of[here]],
            frame.columns[here],
            frame.annotators[here],
            items=np.arange(len(section.rows)),
            number=_POOLED,
            rule=_passing,
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, section.draws),
        )

    return _thresholds(inputs, frame, found, drawn) + _said(frame)


def _passing(table: Ints) -> tuple[Bools, Bools]:
    found = stats.passing(table[:, :3], table[:, 3:])
    return found.passed, found.counted


def _thresholds(
    inputs: Inputs, frame: AssociationVotes, found: stats.Passing, drawn: _Draw
) -> list[ScoreRow]:
    """Number and share of stereotypes of the whole, each region and each group; `drawn`: the shares (B, 9)
    of a section's resamples."""
    rows = []
    for section in sections(frame.pairs):
        passed, counted = found.passed[section.rows], found.counted[section.rows]
        k, n = passed.sum(axis=0).tolist(), counted.sum(axis=0).tolist()
        shares = [number / of if of else float("nan") for number, of in zip(k, n, strict=True)]
        intervals: list[percentiles.Interval | None] = [None] * len(stats.CELLS)
        if inputs.resamples and any(n):
            intervals = [*percentiles.percentile_intervals(drawn(section), shares)]
        for place, (pool, threshold) in enumerate(stats.CELLS):
            # A pool in which nobody voted has no number of stereotypes, which is not the number 0.
            if n[place]:
                part = section.part(pool_part(pool, threshold))
                rows.append(section.row("stereotypes", k[place], n[place], k[place], part=part))
                rows.append(
                    section.row(
                        "share", shares[place], n[place], k[place], part=part, interval=intervals[place]
                    )
                )
    return rows


def _said(frame: AssociationVotes) -> list[ScoreRow]:
    """How many annotators of each pool said what of each association."""
    pools = (("in-region", frame.in_region), ("out-region", frame.out_region), ("neither", frame.others))
    return [
        ScoreRow(
            name=name,
            value=float(number),
            n=sum(said),
            k=number,
            group_id=pair.group_id,
            group=pair.group,
            attribute_id=pair.attribute_id,
            attribute=pair.attribute,
            part=f"pool: {pool}",
        )
        for place, pair in enumerate(frame.pairs)
        for pool, table in pools
        for said in [table[place].tolist()]
        if any(said)
        for name, number in zip(("stereotypical", "non_stereotypical", "unsure"), said, strict=True)
    ]
