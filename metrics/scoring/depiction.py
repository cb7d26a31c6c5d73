"""Scores of what images depict (PROTOCOL §6, §7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import Study
from metrics import frames, registry
from metrics.scoring.rows import Compute, Inputs, ScoreRow, defined
from metrics.stats import bootstrap, offensiveness, percentiles, tendency
from metrics.stats.checks import Floats, Ints


@dataclass(frozen=True)
class Drawn:
    """One group: its frame, k and n, and (B, A) likelihoods and selections of the resamples, if any."""

    frame: frames.GroupFrame
    k: Ints
    n: Ints
    likelihoods: Floats | None
    selections: Floats | None


@dataclass(frozen=True)
class _Shared:
    """What one read of the answers gave: the resamples of each group, and the ratings of its images, which
    are few where nobody knows who gave them; else None."""

    drawn: list[Drawn]
    tallies: list[frames.Tally] | None


_kept: ContextVar[dict[tuple[str, int, int], _Shared] | None] = ContextVar("kept", default=None)


def drawn_groups(inputs: Inputs, *, none_of_above_selected: bool = True) -> Iterator[Drawn]:
    """Each group's frame and resamples. Variant published keeps the column of 'none of the above', by
    `none_of_above_selected` with the selections it got or, as the published tables have it, with k = 0.
    All variants and metrics of a study are of the same resamples."""
    for drawn in _every_group(inputs):
        yield as_variant(drawn, inputs.variant, none_of_above_selected=none_of_above_selected)


@contextmanager
def sharing_resamples() -> Iterator[None]:
    """Within, metrics of the same answers, seed and number of resamples draw them once, and agreement after
    them reads no answers that they have read.

    For a worker with several metrics of a study to compute: reading and drawing is nearly all that each of
    them does. What was drawn last is kept, without the responses it was drawn from.
    """
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def _every_group(inputs: Inputs) -> Iterator[Drawn]:
    kept = _kept.get()
    if kept is None or not inputs.resamples:
        yield from _draw(inputs)
        return
    key = (_digest(inputs.study), inputs.seed, inputs.resamples)
    if key not in kept:
        kept.clear()
        drawn, tallies = [], []
        for one in _draw(inputs):
            drawn.append(replace(one, frame=one.frame.only(np.zeros(len(one.frame.answers), dtype=np.bool_))))
            known = bool((one.frame.annotators >= 0).any())
            tallies.append(None if known else frames.together(one.frame))
        whole = [tally for tally in tallies if tally is not None]
        kept[key] = _Shared(drawn, whole if len(whole) == len(tallies) else None)
    yield from kept[key].drawn


def shared_tallies(study: Study) -> list[frames.Tally] | None:
    """The ratings of the images of `study`, if a metric of the same answers has read them."""
    kept = _kept.get()
    if not kept:
        return None
    digest = _digest(study)
    return next((shared.tallies for (read, *_), shared in kept.items() if read == digest), None)


def _digest(study: Study) -> str:
    # tendency_contrast reads the most of what hangs on a frame: answers, associations and regions
    return frames.inputs_digest(study, registry.get("tendency_contrast"))


def _draw(inputs: Inputs) -> Iterator[Drawn]:
    for found in frames.depiction(inputs.study, by_response=inputs.resamples > 0):
        k, n = found.sums()
        likelihoods = selections = None
        if inputs.resamples:
            likelihoods, selections = bootstrap.resampled_likelihoods(
                found.k,
                found.n,
                found.images,
                found.annotators,
                answers=found.answers,
                resamples=inputs.resamples,
                rng=bootstrap.generator(inputs.seed, found.group),
            )
        yield Drawn(found, k, n, likelihoods, selections)


def as_variant(group: Drawn, variant: str, *, none_of_above_selected: bool) -> Drawn:
    """The numbers that a variant is of: corrected, without the column of 'none of the above'; published, with
    it and the selections it got, or with none."""
    real = np.array([attribute is not None for attribute in group.frame.attribute_ids], dtype=np.bool_)
    likelihoods, selections = group.likelihoods, group.selections
    if variant != "published":
        return Drawn(
            group.frame.without_none_of_above(),
            group.k[real],
            group.n[real],
            None if likelihoods is None else likelihoods[:, real],
            None if selections is None else selections[:, real],
        )
    if none_of_above_selected:
        return group
    if likelihoods is not None and selections is not None:
        likelihoods = np.where(~real & ~np.isnan(likelihoods), 0.0, likelihoods)
        selections = np.where(real, selections, 0.0)
    return Drawn(group.frame, np.where(real, group.k, 0), group.n, likelihoods, selections)


def _tendency(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for group in drawn_groups(inputs, none_of_above_selected=False):
        stereotypical = group.frame.stereotypical
        point = tendency.tendency(group.k, group.n, stereotypical)
        if point.n_stereotypical < 2:
            continue
        values = [point.l_stereo, point.l_random, point.theta]
        numbers = [point.n_stereotypical, point.n_random, point.n_stereotypical + point.n_random]
        intervals: list[percentiles.Interval | None] = [None] * 3
        if group.likelihoods is not None:
            stereo = tendency.mean_over(group.likelihoods, stereotypical)
            random = tendency.mean_over(group.likelihoods, ~stereotypical)
            samples = np.column_stack([stereo, random, tendency.ratio(stereo, random)])
            intervals = [*percentiles.percentile_intervals(samples, values)]
        for name, value, number, interval in zip(
            ("l_stereo", "l_random", "theta"), values, numbers, intervals, strict=True
        ):
            rows.append(_row(name, value, interval, n=number, frame=group.frame))
    return rows


def _likelihood(inputs: Inputs) -> list[ScoreRow]:
    rows = []
    for group in drawn_groups(inputs):
        frame = group.frame
        values = tendency.likelihood(group.k, group.n)
        intervals: list[percentiles.Interval | None] = [None] * len(values)
        if group.likelihoods is not None:
            intervals = [*percentiles.percentile_intervals(group.likelihoods, values)]
        for place, attribute in enumerate(frame.attributes):
            rows.append(
                _row(
                    "none_of_above" if attribute is None else "likelihood",
                    float(values[place]),
                    intervals[place],
                    n=int(group.n[place]),
                    k=int(group.k[place]),
                    frame=frame,
                    place=place,
                )
            )
    return rows


def _offensiveness(inputs: Inputs) -> list[ScoreRow]:
    known = frames.offensiveness_ratings(inputs.study)
    scored: list[tuple[Drawn, offensiveness.Offensiveness, percentiles.Interval | None]] = []
    for group in drawn_groups(inputs):
        frame = group.frame
        chosen = frame.stereotypical
        if not chosen.any():
            continue
        ratings = [
            _rating(*known[frame.group_id, attribute or 0], published=inputs.variant == "published")
            for attribute in np.array(frame.attribute_ids, dtype=object)[chosen].tolist()
        ]
        l_stereo = tendency.tendency(group.k, group.n, chosen).l_stereo
        point = offensiveness.offensiveness(l_stereo, group.k[chosen], ratings)
        interval = None
        if group.likelihoods is not None and group.selections is not None:
            samples = offensiveness.resampled(
                tendency.mean_over(group.likelihoods, chosen), group.selections[:, chosen], ratings
            )
            interval = percentiles.percentile_intervals(samples[:, None], [point.value])[0]
        scored.append((group, point, interval))
    rows = []
    scaled = offensiveness.scaled([point.value for _, point, _ in scored])
    for (group, point, interval), for_map in zip(scored, scaled.tolist(), strict=True):
        if point.n:
            rows.append(_row("o", point.value, interval, n=point.n, frame=group.frame))
            rows.append(_row("o_scaled", for_map, None, n=point.n, frame=group.frame))
        if point.n + point.unrated:
            rows.append(_row("unrated", point.unrated, None, n=point.n + point.unrated, frame=group.frame))
    return rows


def _rating(printed: float | None, single: list[float], *, published: bool) -> float:
    """O(attr, id): as printed, or the mean of the single ratings; NaN where nobody rated."""
    if published:
        return float("nan") if printed is None else printed
    return float(np.mean(single)) if single else float("nan")


def _row(
    name: str,
    value: float,
    interval: percentiles.Interval | None,
    *,
    n: int,
    frame: frames.GroupFrame,
    k: int | None = None,
    place: int | None = None,
) -> ScoreRow:
    """A row of a group, or of its attribute at `place`. 'None of the above' has no attribute."""
    attribute = None if place is None else frame.attribute_ids[place]
    text = None if place is None else frame.attributes[place]
    return ScoreRow(
        name=name,
        value=defined(value),
        n=n,
        k=k,
        group_id=frame.group_id,
        group=frame.group,
        attribute_id=attribute,
        attribute=text or "",
        stereotypical=None if place is None else bool(frame.stereotypical[place]),
        low=None if interval is None else defined(interval.low),
        high=None if interval is None else defined(interval.high),
        infinite=None if interval is None else interval.infinite,
        undefined=None if interval is None else interval.undefined,
    )


COMPUTE: dict[str, Compute] = {
    "tendency": _tendency,
    "likelihood": _likelihood,
    "offensiveness": _offensiveness,
}
