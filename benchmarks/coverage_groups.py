"""How often the 95 % intervals of contrasts and of means over groups contain the true value, in simulated
studies.

    python -m benchmarks.coverage_groups [--studies 400] [--resamples 300]

Answers are simulated as in benchmarks/coverage.py, of nine identity groups in three regions. The stereotypes
of each group are likelier or less likely by a constant of its own, those of a region by one more; the groups
and regions are given, and the truth is that of all images and annotators there could be, by Gauss-Hermite
quadrature. The same people judge all groups, but for two designs. Beside the images stand those of a second
model, judged by the same people; and the first ones are judged by a second group of annotators too. The
stereotypes are less likely of the second model, and to the second annotators.

Written to benchmarks/results/coverage-groups.json; docs/statistics.md has the table.
"""

from __future__ import annotations

import numpy as np

from benchmarks import coverage as one_group
from benchmarks.coverage import LOGITS, SHIFT, STEREO, Design, judged, simulate
from metrics.core.stats import bootstrap, differences, percentiles
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.differences import AnswerSet
from metrics.core.stats.percentiles import Interval
from metrics.depiction import stats

REGIONS = np.repeat(np.arange(3), 3)
LIKELIER = np.array([-0.6, 0.0, 0.6])[REGIONS] + np.tile([-0.4, 0.0, 0.4], 3)
MUCH = "people differ much"
OF_REGIONS, OF_GROUPS = f"{MUCH}, others in each region", f"{MUCH}, others for each group"
DESIGNS = {**one_group.DESIGNS, **dict.fromkeys((OF_REGIONS, OF_GROUPS), one_group.DESIGNS[MUCH])}
JUDGED = {OF_REGIONS: REGIONS, OF_GROUPS: np.arange(len(REGIONS))}
"""Which people judge each group; the same in all other designs."""
SCORES = (
    "group against the rest",
    "region against the rest",
    "mean of l_stereo",
    "theta of the means",
    "two models, mean",
    "annotators, one group",
    "annotators, mean",
)


def truth(design: Design) -> dict[str, Floats]:
    """What an endless study of `design` would find; of each group or region, or of the one whole."""
    of = [one_group.truth(design, LOGITS + more * STEREO) for more in LIKELIER]
    stereo = np.array([each["l_stereo"] for each in of])
    less = np.array(
        [one_group.truth(design, LOGITS + (more - SHIFT) * STEREO)["l_stereo"] for more in LIKELIER]
    )
    mean, random = stereo.mean(), np.mean([each["l_random"] for each in of])
    return {
        "group against the rest": stereo - (stereo.sum() - stereo) / (len(stereo) - 1),
        "region against the rest": np.array(
            [stereo[one == REGIONS].mean() - stereo[one != REGIONS].mean() for one in np.unique(REGIONS)]
        ),
        "mean of l_stereo": np.array([mean]),
        "theta of the means": np.array([mean / random]),
        "two models, mean": np.array([mean - less.mean()]),
        "annotators, one group": stereo - less,
        "annotators, mean": np.array([mean - less.mean()]),
    }


def study(
    design: Design, rng: np.random.Generator, judges: Ints
) -> list[tuple[AnswerSet, AnswerSet, AnswerSet]]:
    """Of each group: the answers about the one model, about the other, and the second annotators' about the
    one. `judges` (G,): groups with the same number are judged by the same people."""
    found = []
    people = design.of_people * rng.normal(size=(int(judges.max()) + 1, 2, design.people))
    for more, whose in zip(LIKELIER, judges.tolist(), strict=True):
        effects, first = people[whose], whose * design.people
        images = design.of_images * rng.normal(size=(2, design.images, len(LOGITS)))
        seen = LOGITS + more * STEREO + images
        found.append(
            (
                judged(design, rng, seen[0], people=effects[0], first_person=first),
                judged(
                    *(design, rng, seen[1] - SHIFT * STEREO),
                    people=effects[0],
                    first_image=10_000,
                    first_person=first,
                ),
                judged(
                    *(design, rng, seen[0] - SHIFT * STEREO),
                    people=effects[1],
                    first_person=100_000 + first,
                ),
            )
        )
    return found


def intervals(
    groups: list[tuple[AnswerSet, AnswerSet, AnswerSet]], *, resamples: int, rng: np.random.Generator
) -> dict[str, list[Interval]]:
    """Those of SCORES, as the metrics make them."""
    points = np.array([[_point(side) for side in sides] for sides in groups])
    stereo, contrasted = points[:, 0, 0], []
    people = bootstrap.AnnotatorDraws(resamples, rng)
    for one, *_ in groups:
        likelihoods, _ = bootstrap.resampled_likelihoods(
            one.k, one.n, one.images, one.annotators, resamples=resamples, rng=rng, annotator_draws=people
        )
        contrasted.append(stats.mean_over(likelihoods, STEREO))
    alone = np.column_stack(contrasted)
    every = np.arange(len(groups))
    found = {
        "group against the rest": [_against(stereo, alone, every == place) for place in every],
        "region against the rest": [_against(stereo, alone, one == REGIONS) for one in np.unique(REGIONS)],
    }
    for name, place in (("two models", 1), ("annotators", 2)):
        pairs = [(sides[0], sides[place]) for sides in groups]
        people = bootstrap.AnnotatorDraws(resamples, rng)
        samples = _drawn(pairs, resamples=resamples, rng=rng, people=people).mean(axis=0)
        means = points[:, [0, place]].mean(axis=0)
        found[f"{name}, mean"] = [_difference(means[:, 0], samples[:, 0])]
        if name == "two models":
            theta, drawn = float(stats.ratio(*means[0])), stats.ratio(*samples[0])
            one, ratio = percentiles.percentile_intervals(
                np.column_stack([samples[0, 0], drawn]), [means[0, 0], theta]
            )
            found |= {"mean of l_stereo": [one], "theta of the means": [ratio]}
        else:
            # of each group by itself, people are drawn for it alone
            each = _drawn(pairs, resamples=resamples, rng=rng, people=None)
            found["annotators, one group"] = [
                _difference(points[group, [0, place], 0], each[group, :, 0]) for group in every
            ]
    return found


def _drawn(
    pairs: list[tuple[AnswerSet, AnswerSet]],
    *,
    resamples: int,
    rng: np.random.Generator,
    people: bootstrap.AnnotatorDraws | None,
) -> Floats:
    """l_stereo and l_random of both sides of each group in each resample, (G, 2, 2, B)."""
    found = []
    for pair in pairs:
        drawn = differences.paired_likelihoods(*pair, resamples=resamples, rng=rng, annotator_draws=people)
        found.append([[stats.mean_over(values, which) for which in (STEREO, ~STEREO)] for values, _ in drawn])
    return np.array(found)


def _difference(values: Floats, samples: Floats) -> Interval:
    """Of two values (2,) and their resamples (2, B)."""
    first, second = values.tolist()
    return differences.difference(first, second, first_samples=samples[0], second_samples=samples[1]).interval


def _point(side: AnswerSet) -> tuple[float, float]:
    found = stats.tendency(side.k.sum(axis=0), side.n.sum(axis=0), STEREO)
    return found.l_stereo, found.l_random


def _against(values: Floats, samples: Floats, chosen: Bools) -> Interval:
    """The mean of the chosen groups less that of all others."""
    both = [stats.mean_over(samples, which) for which in (chosen, ~chosen)]
    return _difference(np.array([values[chosen].mean(), values[~chosen].mean()]), np.array(both))


def coverage(name: str, *, studies: int, resamples: int, seed: int = 0) -> dict[str, float]:
    """The share of simulated studies of the design of that name whose interval holds the truth, of each
    score; of what there is an interval of each group or region, the share of all of them."""
    design = DESIGNS[name]
    true, judges = truth(design), JUDGED.get(name, np.zeros(len(REGIONS), dtype=np.int64))
    held: dict[str, list[bool]] = {score: [] for score in SCORES}
    for rng in np.random.default_rng([seed, design.images, design.people]).spawn(studies):
        found = intervals(study(design, rng, judges), resamples=resamples, rng=rng)
        for score, each in found.items():
            held[score] += [
                one.low <= value <= one.high for one, value in zip(each, true[score].tolist(), strict=True)
            ]
    return {score: float(np.mean(values)) for score, values in held.items()}


def main() -> None:
    simulate(__doc__, coverage, over={name: name for name in DESIGNS}, results="coverage-groups.json")


if __name__ == "__main__":
    main()
