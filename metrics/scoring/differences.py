"""Tendencies of two studies, image sets or groups of annotators, groups, regions compared (PROTOCOL §10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.models import ImageSet, Study
from metrics import frames
from metrics.scoring.depiction import Drawn, as_variant, drawn_groups
from metrics.scoring.rows import Compute, Inputs, ScoreRow, bounds, defined
from metrics.stats import bootstrap, differences, tendency
from metrics.stats.checks import Bools, Floats
from metrics.stats.differences import Difference, Side
from metrics.stats.percentiles import Interval

IMAGE_SET = "image_set"
NAMES = ("l_stereo", "l_random", "log_theta")
_Pair = tuple[frames.GroupFrame, frames.GroupFrame]


@dataclass(frozen=True)
class _Scored:
    """Tendency of one side of one group, with its resamples (B,), None where there are none."""

    point: tendency.Tendency
    stereo: Floats | None
    random: Floats | None


def _tendency_difference(inputs: Inputs) -> list[ScoreRow]:
    found: list[tuple[frames.GroupFrame, int, list[Difference]]] = []
    scored: list[tuple[_Scored, _Scored]] = []
    for pair in _pairs(inputs):
        sides = _drawn(pair, inputs)
        first, second = (_scored(one) for one in sides)
        if min(first.point.n_stereotypical, second.point.n_stereotypical) < 2:
            continue
        number = first.point.n_stereotypical + first.point.n_random
        found.append((pair[0], number, _compared(first, second)))
        scored.append((first, second))
    rows = [
        row
        for place, name in enumerate(NAMES)
        for row in _with_q(name, [(frame, "", number, each[place]) for frame, number, each in found], inputs)
    ]
    if scored:
        for place, each in enumerate(_compared(*(_mean([pair[side] for pair in scored]) for side in (0, 1)))):
            rows += _with_q(NAMES[place], [(None, "", len(scored), each)], inputs)
    return rows


def _tendency_contrast(inputs: Inputs) -> list[ScoreRow]:
    groups: list[frames.GroupFrame] = []
    scored: list[_Scored] = []
    for group in drawn_groups(inputs, none_of_above_selected=False):
        one = _scored(group)
        if one.point.n_stereotypical >= 2:
            groups.append(group.frame)
            scored.append(one)
    regions = np.array([frame.region for frame in groups])
    rows: list[ScoreRow] = []
    if len(groups) > 1:
        each = [
            (frame, "", len(groups), _against_the_rest(scored, np.arange(len(groups)) == place))
            for place, frame in enumerate(groups)
        ]
        rows += _with_q("l_stereo", each, inputs)
    several = sorted(set(regions.tolist()) - {""}) if len(set(regions.tolist())) > 1 else []
    whole = [
        (
            None,
            f"region: {region}",
            int((regions == region).sum()),
            _against_the_rest(scored, regions == region),
        )
        for region in several
    ]
    return rows + _with_q("l_stereo", whole, inputs)


def _pairs(inputs: Inputs) -> Iterator[_Pair]:
    """What is compared, group by group; only groups that both sides have."""
    chosen = inputs.parameters
    if bool(chosen["against"]) == bool(chosen["by"]):
        raise ValueError(
            "Say what to compare: against=STUDY, or by=gender, origin, pool or image_set with first=... and "
            "second=...; one of the two."
        )
    if chosen["against"]:
        other = Study.objects.filter(name=chosen["against"]).select_related("stereotype_source").first()
        if other is None:
            raise ValueError(f"There is no study '{chosen['against']}' to compare with.")
        return _of_studies(inputs.study, other)
    if chosen["by"] not in (*frames.BY, IMAGE_SET):
        known = ", ".join((*frames.BY, IMAGE_SET))
        raise ValueError(f"Answers can be compared by {known}; not by '{chosen['by']}'.")
    if not chosen["first"] or not chosen["second"] or chosen["first"] == chosen["second"]:
        raise ValueError(f"Say which two to compare by {chosen['by']}: first=... and second=...")
    return _of_answers(inputs.study, chosen["by"], (chosen["first"], chosen["second"]))


def _of_studies(study: Study, other: Study) -> Iterator[_Pair]:
    others = frames.depiction(other, by_response=True)
    second = next(others, None)
    for first in frames.depiction(study, by_response=True):
        while second is not None and (second.group, second.group_id) < (first.group, first.group_id):
            second = next(others, None)
        if second is not None and second.group_id == first.group_id:
            yield first, second


def _of_answers(study: Study, by: str, wanted: tuple[str, str]) -> Iterator[_Pair]:
    sets = dict(ImageSet.objects.values_list("pk", "name")) if by == IMAGE_SET else {}
    group_of = None if by == IMAGE_SET else frames.grouping(study, by)
    for frame in frames.depiction(study, by_response=True):
        if group_of is None:
            kinds, which = np.unique(frame.image_sets, return_inverse=True)
            names = [sets[kind] for kind in kinds.tolist()]
        else:
            people = np.column_stack([np.maximum(frame.annotators, -1), frame.stratum_of])
            kinds, which = np.unique(people, axis=0, return_inverse=True)
            names = [
                group_of([None if person < 0 else person, frame.strata[stratum], frame.region])
                for person, stratum in kinds.tolist()
            ]
        sides = [_named(names, name)[which.ravel()] for name in wanted]
        if all(side.any() for side in sides):
            yield frame.only(sides[0]), frame.only(sides[1])


def _named(names: list[str], wanted: str) -> Bools:
    return np.array([name.lower() == wanted.strip().lower() for name in names], dtype=np.bool_)


def _drawn(pair: _Pair, inputs: Inputs) -> list[Drawn]:
    values: list[tuple[Floats | None, Floats | None]] = [(None, None)] * 2
    if inputs.resamples:
        sides = [Side(one.k, one.n, one.answers, one.images, one.annotators) for one in pair]
        rng = bootstrap.generator(inputs.seed, pair[0].group)
        values = [*differences.paired_likelihoods(*sides, resamples=inputs.resamples, rng=rng)]
    return [
        as_variant(
            Drawn(frame, *frame.sums(), likelihoods, selections),
            inputs.variant,
            none_of_above_selected=False,
        )
        for frame, (likelihoods, selections) in zip(pair, values, strict=True)
    ]


def _scored(group: Drawn) -> _Scored:
    chosen = group.frame.stereotypical
    point = tendency.tendency(group.k, group.n, chosen)
    if group.likelihoods is None:
        return _Scored(point, None, None)
    stereo, random = (tendency.mean_over(group.likelihoods, which) for which in (chosen, ~chosen))
    return _Scored(point, stereo, random)


def _mean(scored: list[_Scored]) -> _Scored:
    """Unweighted means over groups, undefined ones left out; theta is the ratio of the means."""

    def over(samples: list[Floats | None]) -> Floats | None:
        table = [each for each in samples if each is not None]
        if not table:
            return None
        return tendency.mean_over(np.column_stack(table), np.ones(len(table), dtype=np.bool_))

    def of(values: list[float]) -> float:
        return float(tendency.mean_over(np.array([values]), np.ones(len(values), dtype=np.bool_))[0])

    stereo, random = (of([getattr(one.point, name) for one in scored]) for name in ("l_stereo", "l_random"))
    theta = float(tendency.ratio(stereo, random))
    return _Scored(
        replace(scored[0].point, l_stereo=stereo, l_random=random, theta=theta),
        over([one.stereo for one in scored]),
        over([one.random for one in scored]),
    )


def _compared(first: _Scored, second: _Scored) -> list[Difference]:
    """The differences of l_stereo and l_random and the logarithm of the ratio of theta."""
    none = np.empty(0)
    a, b = ([none if each is None else each for each in (one.stereo, one.random)] for one in (first, second))
    return [
        differences.difference(
            first.point.l_stereo, second.point.l_stereo, first_samples=a[0], second_samples=b[0]
        ),
        differences.difference(
            first.point.l_random, second.point.l_random, first_samples=a[1], second_samples=b[1]
        ),
        differences.log_ratio(
            first.point.theta,
            second.point.theta,
            first_samples=tendency.ratio(*a),
            second_samples=tendency.ratio(*b),
        ),
    ]


def _against_the_rest(scored: list[_Scored], chosen: Bools) -> Difference:
    """The mean l_stereo of the groups chosen less that of all others."""
    first, second = (_mean([scored[place] for place in np.flatnonzero(which)]) for which in (chosen, ~chosen))
    return _compared(first, second)[0]


def _with_q(
    name: str,
    found: Sequence[tuple[frames.GroupFrame | None, str, int, Difference]],
    inputs: Inputs,
) -> list[ScoreRow]:
    """The rows of differences that are looked at together: each with its p, and its q among them."""
    rows = []
    q = differences.false_discovery([each.p for *_, each in found])
    for (frame, part, number, each), adjusted in zip(found, q.tolist(), strict=True):
        numbers: list[tuple[str, float, Interval | None]] = [(name, each.value, None)]
        if inputs.resamples:
            numbers = [
                (name, each.value, each.interval),
                (f"{name}_p", each.p, None),
                (f"{name}_q", adjusted, None),
            ]
        rows += [
            ScoreRow(
                name=label,
                value=defined(value),
                n=number,
                group_id=None if frame is None else frame.group_id,
                group="" if frame is None else frame.group,
                part=part,
                **bounds(interval),
            )
            for label, value, interval in numbers
        ]
    return rows


COMPUTE: dict[str, Compute] = {
    "tendency_difference": _tendency_difference,
    "tendency_contrast": _tendency_contrast,
}
