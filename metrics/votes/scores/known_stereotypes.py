"""How many associations are known stereotypes, by pool and threshold (PROTOCOL §3)."""

from collections.abc import Callable, Sequence

import numpy as np

from metrics.core.stats import bootstrap, clustered, passing_shares
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.influence import Influences
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import SHARE
from metrics.score_runs.rows import Inputs, ScoreRow, intervals_or_none, score_row
from metrics.votes import stats
from metrics.votes.data.own_answers import read_prevalence
from metrics.votes.data.source import AssociationVotes, read_votes
from metrics.votes.scores.subsets import Subset, pool_part, subsets

_POOLED = 6  # columns of the answers of both pools
_POOL_COLUMNS = (range(3), range(3, 6), range(_POOLED))  # of each of stats.POOLS


def stereotypes_scores(inputs: Inputs) -> list[ScoreRow]:
    """Scores from the source's votes. Intervals are of associations: the source does not say who voted."""
    frame = read_votes(inputs.study)
    table = stats.stereotype_table(frame.in_region, frame.out_region)

    def resample(subset: Subset) -> Floats:
        return stats.resampled_shares(
            table.passed[subset.rows],
            table.counted[subset.rows],
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, subset.seed_name),
        )

    def influences(subset: Subset) -> list[Influences]:
        return passing_shares.influences_of_each(
            table.passed[subset.rows], table.counted[subset.rows], clusters=subset.rows
        )

    return _threshold_rows(inputs, frame, table, resample, influences)


def prevalence_scores(inputs: Inputs) -> list[ScoreRow]:
    """Scores from the study's answers. Intervals are of associations and annotators."""
    frame = read_prevalence(inputs.study)
    table = stats.stereotype_table(frame.in_region, frame.out_region)

    def answers(subset: Subset, columns: range) -> tuple[Ints, Ints, Ints]:
        """Which association of the subset, column and annotator, of the answers in these columns."""
        position = np.full(len(frame.pairs), -1)
        position[subset.rows] = np.arange(len(subset.rows))
        here = np.isin(frame.columns, columns) & (position[frame.pair_of] >= 0)
        return position[frame.pair_of[here]], frame.columns[here], frame.annotators[here]

    def resample(subset: Subset) -> Floats:
        # annotators in neither pool count for no threshold
        return passing_shares.resampled_shares(
            *answers(subset, range(_POOLED)),
            items=np.arange(len(subset.rows)),
            number=_POOLED,
            rule=lambda votes: stats.stereotype_table(votes[:, :3], votes[:, 3:]),
            resamples=inputs.resamples,
            rng=bootstrap.generator(inputs.seed, subset.seed_name),
        )

    def influences(subset: Subset) -> list[Influences]:
        found: list[Influences] = []
        # only annotators of its own pool contribute to a share, those of both to the overlap
        for number, columns in enumerate(_POOL_COLUMNS):
            chosen = answers(subset, columns)
            found += passing_shares.share_influences(
                *chosen,
                items=np.arange(len(subset.rows)),
                number=_POOLED,
                rule=_rule_of_pool(number),
                alike=np.arange(_POOLED) // 3,
            )
        return found

    return _threshold_rows(inputs, frame, table, resample, influences) + _answer_rows(frame)


def _rule_of_pool(number: int) -> passing_shares.Rule:
    """The columns of `stats.CELLS` of one of `stats.POOLS`."""
    columns = slice(number * len(stats.THRESHOLDS), (number + 1) * len(stats.THRESHOLDS))

    def rule(votes: Ints) -> tuple[Bools, Bools]:
        found = stats.stereotype_table(votes[:, :3], votes[:, 3:])
        return found.passed[:, columns], found.counted[:, columns]

    return rule


def _threshold_rows(
    inputs: Inputs,
    frame: AssociationVotes,
    table: stats.StereotypeTable,
    resample: Callable[[Subset], Floats],
    influences: Callable[[Subset], list[Influences]],
) -> list[ScoreRow]:
    """Number and share of stereotypes, overall, by region and by group; `resample` gives the shares (B, 9)
    of a subset, `influences` those on each of them."""
    rows = []
    for subset in subsets(frame.pairs):
        passed, counted = table.passed[subset.rows], table.counted[subset.rows]
        k, n = passed.sum(axis=0).tolist(), counted.sum(axis=0).tolist()
        shares = [number / of if of else float("nan") for number, of in zip(k, n, strict=True)]
        intervals: Sequence[Interval | None]
        if inputs.clustered:
            intervals = clustered.separate_intervals(shares, influences(subset), SHARE)
        else:
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
