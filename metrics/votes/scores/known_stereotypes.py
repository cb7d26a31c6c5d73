"""How many associations are known stereotypes, by pool and threshold (PROTOCOL §3)."""

from collections.abc import Callable

import numpy as np

from metrics.core.stats import bootstrap, passing_shares
from metrics.core.stats.checks import Floats
from metrics.score_runs.rows import Inputs, ScoreRow, intervals_or_none, score_row
from metrics.votes import stats
from metrics.votes.data.own_answers import read_prevalence
from metrics.votes.data.source import AssociationVotes, read_votes
from metrics.votes.scores.subsets import Subset, pool_part, subsets

_POOLED = 6  # columns of the answers of both pools


def stereotypes_scores(inputs: Inputs) -> list[ScoreRow]:
    """Scores from the source's votes. Only associations are resampled: the source does not say who voted."""
    frame = read_votes(inputs.study)
    table = stats.stereotype_table(frame.in_region, frame.out_region)

    def resample(subset: Subset) -> Floats:
        return stats.resampled_shares(
            table.passed[subset.rows],
            table.counted[subset.rows],
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, subset.seed_name),
        )

    return _threshold_rows(inputs, frame, table, resample)


def prevalence_scores(inputs: Inputs) -> list[ScoreRow]:
    """Scores from the study's answers. Associations and annotators are resampled."""
    frame = read_prevalence(inputs.study)
    table = stats.stereotype_table(frame.in_region, frame.out_region)
    # annotators in neither pool count for no threshold
    pooled = frame.columns < _POOLED

    def resample(subset: Subset) -> Floats:
        position = np.full(len(frame.pairs), -1)
        position[subset.rows] = np.arange(len(subset.rows))
        here = pooled & (position[frame.pair_of] >= 0)
        return passing_shares.resampled_shares(
            position[frame.pair_of[here]],
            frame.columns[here],
            frame.annotators[here],
            items=np.arange(len(subset.rows)),
            number=_POOLED,
            rule=lambda votes: stats.stereotype_table(votes[:, :3], votes[:, 3:]),
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, subset.seed_name),
        )

    return _threshold_rows(inputs, frame, table, resample) + _answer_rows(frame)


def _threshold_rows(
    inputs: Inputs,
    frame: AssociationVotes,
    table: stats.StereotypeTable,
    resample: Callable[[Subset], Floats],
) -> list[ScoreRow]:
    """Number and share of stereotypes, overall, by region and by group; `resample` gives the shares (B, 9)
    of a subset."""
    rows = []
    for subset in subsets(frame.pairs):
        passed, counted = table.passed[subset.rows], table.counted[subset.rows]
        k, n = passed.sum(axis=0).tolist(), counted.sum(axis=0).tolist()
        shares = [number / of if of else float("nan") for number, of in zip(k, n, strict=True)]
        intervals = intervals_or_none(resample(subset) if inputs.resamples and any(n) else None, shares)
        for cell, passing, of, share, interval in zip(stats.CELLS, k, n, shares, intervals, strict=True):
            # A pool without votes has no number of stereotypes, which is not 0.
            if of:
                part = subset.part(pool_part(*cell))
                rows.append(score_row("stereotypes", passing, of, k=passing, group=subset, part=part))
                rows.append(score_row("share", share, of, interval, k=passing, group=subset, part=part))
    return rows


def _answer_rows(frame: AssociationVotes) -> list[ScoreRow]:
    """How many annotators of each pool gave each answer about each association."""
    pools = (("in-region", frame.in_region), ("out-region", frame.out_region), ("neither", frame.others))
    return [
        ScoreRow(
            name=name,
            value=float(number),
            n=sum(counts),
            k=number,
            group_id=pair.group_id,
            group=pair.group,
            attribute_id=pair.attribute_id,
            attribute=pair.attribute,
            part=f"pool: {pool}",
        )
        for position, pair in enumerate(frame.pairs)
        for pool, votes in pools
        for counts in [votes[position].tolist()]
        if any(counts)
        for name, number in zip(("stereotypical", "non_stereotypical", "unsure"), counts, strict=True)
    ]
