"""How many associations are known stereotypes, by pool and threshold (PROTOCOL §3)."""

from __future__ import annotations

from metrics import frames
from metrics.scoring.parts import pool_part, sections
from metrics.scoring.rows import Compute, Inputs, ScoreRow
from metrics.stats import bootstrap, percentiles, votes


def _stereotypes(inputs: Inputs) -> list[ScoreRow]:
    return _thresholds(inputs, frames.votes(inputs.study))


def _prevalence(inputs: Inputs) -> list[ScoreRow]:
    frame = frames.prevalence(inputs.study)
    return _thresholds(inputs, frame) + _said(frame)


def _thresholds(inputs: Inputs, frame: frames.AssociationVotes) -> list[ScoreRow]:
    """Number and share of stereotypes of the whole, each region and each group."""
    found = votes.passing(frame.in_region, frame.out_region)
    rows = []
    for section in sections(frame.pairs):
        passed, counted = found.passed[section.rows], found.counted[section.rows]
        k, n = passed.sum(axis=0).tolist(), counted.sum(axis=0).tolist()
        shares = [number / of if of else float("nan") for number, of in zip(k, n, strict=True)]
        intervals: list[percentiles.Interval | None] = [None] * len(votes.CELLS)
        if inputs.resamples:
            drawn = votes.resampled_shares(
                passed,
                counted,
                resamples=inputs.resamples,
                rng=bootstrap.generator(inputs.seed, section.draws),
            )
            intervals = [*percentiles.percentile_intervals(drawn, shares)]
        for place, (pool, threshold) in enumerate(votes.CELLS):
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


def _said(frame: frames.AssociationVotes) -> list[ScoreRow]:
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


COMPUTE: dict[str, Compute] = {"stereotypes": _stereotypes, "prevalence": _prevalence}
