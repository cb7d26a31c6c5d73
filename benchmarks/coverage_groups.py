"""How often the 95 % intervals of contrasts and of means over groups contain the true value, in simulated
studies.

    python -m benchmarks.coverage_groups [--studies 1000] [--intervals clustered|bootstrap|both]

Answers are simulated as in benchmarks/coverage.py, of nine identity groups in three regions. The stereotypes
of each group are likelier or less likely by a constant of its own, those of a region by one more; the groups
and regions are given, and the truth is that of all images and annotators there could be, by Gauss-Hermite
quadrature. The same people judge all groups, but for two designs. Beside the images stand those of a second
model, judged by the same people; and the first ones are judged by a second group of annotators too. The
stereotypes are less likely of the second model, and to the second annotators.

Written to benchmarks/results/coverage-groups.json; docs/coverage.md has the table.
"""

from __future__ import annotations

import numpy as np

from benchmarks import coverage_tables, simulated
from benchmarks.coverage import influences_of
from benchmarks.coverage_tables import Estimate, Table
from benchmarks.simulated import SHIFT, STEREO, Design
from metrics.core.stats import bootstrap, differences, percentiles, spread
from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.differences import AnswerSet
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import SHARE
from metrics.depiction import stats, tendencies
from metrics.depiction.likelihood_influences import SumInfluences
from metrics.depiction.tendencies import GroupTendency
from metrics.planning.simulation import judged

REGIONS = np.repeat(np.arange(3), 3)
LIKELIER = np.array([-0.6, 0.0, 0.6])[REGIONS] + np.tile([-0.4, 0.0, 0.4], 3)
MUCH = "people differ much"
OF_REGIONS, OF_GROUPS = f"{MUCH}, others in each region", f"{MUCH}, others for each group"
DESIGNS = {**simulated.DESIGNS, **dict.fromkeys((OF_REGIONS, OF_GROUPS), simulated.DESIGNS[MUCH])}
JUDGED = {OF_REGIONS: REGIONS, OF_GROUPS: np.arange(len(REGIONS))}
"""Which people judge each group; the same in all other designs."""
CONTRASTS = {
    "group against the rest": [np.arange(len(REGIONS)) == group for group in range(len(REGIONS))],
    "region against the rest": [region == REGIONS for region in np.unique(REGIONS)],
}
"""Which groups are compared with all others."""


def truth(design: Design) -> dict[str, Floats]:
    """What an endless study of `design` would find; of each group or region, or of the one whole."""
    of = [simulated.truth(design, design.logits + more * STEREO) for more in LIKELIER]
    stereo = np.array([each["l_stereo"] for each in of])
    less = np.array(
        [simulated.truth(design, design.logits + (more - SHIFT) * STEREO)["l_stereo"] for more in LIKELIER]
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
    for group, (more, whose) in enumerate(zip(LIKELIER, judges.tolist(), strict=True)):
        effects, first, image = people[whose], whose * design.people, 1000 * group
        images = design.of_images * rng.normal(size=(2, design.images, len(design.logits)))
        seen = design.logits + more * STEREO + images
        found.append(
            (
                judged(design, rng, seen[0], people=effects[0], first_image=image, first_person=first),
                judged(
                    *(design, rng, seen[1] - SHIFT * STEREO),
                    people=effects[0],
                    first_image=10_000 + image,
                    first_person=first,
                ),
                judged(
                    *(design, rng, seen[0] - SHIFT * STEREO),
                    people=effects[1],
                    first_image=image,
                    first_person=100_000 + first,
                ),
            )
        )
    return found


Groups = list[tuple[AnswerSet, AnswerSet, AnswerSet]]


def intervals(
    groups: Groups, *, resamples: int, rng: np.random.Generator, method: str = "bootstrap"
) -> dict[str, list[Estimate]]:
    """Those of contrasts, of means over groups and of their differences, as the metrics make them."""
    if method == "clustered":
        return _clustered(groups)
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
    found = {name: [_against(stereo, alone, one) for one in chosen] for name, chosen in CONTRASTS.items()}
    for name, place in (("two models", 1), ("annotators", 2)):
        pairs = [(sides[0], sides[place]) for sides in groups]
        people = bootstrap.AnnotatorDraws(resamples, rng)
        samples = _drawn(pairs, resamples=resamples, rng=rng, people=people).mean(axis=0)
        means = points[:, [0, place]].mean(axis=0)
        found[f"{name}, mean"] = [_difference(means[:, 0], samples[:, 0])]
        if name == "two models":
            theta, drawn = float(stats.ratio(*means[0])), stats.ratio(*samples[0])
            of_mean, ratio = percentiles.percentile_intervals(
                np.column_stack([samples[0, 0], drawn]), [means[0, 0], theta]
            )
            found["mean of l_stereo"] = [Estimate(float(means[0, 0]), of_mean)]
            found["theta of the means"] = [Estimate(theta, ratio)]
        else:
            # of each group by itself, people are drawn for it alone
            each = _drawn(pairs, resamples=resamples, rng=rng, people=None)
            found["annotators, one group"] = [
                _difference(points[group, [0, place], 0], each[group, :, 0]) for group in every
            ]
    return found


def _clustered(groups: Groups) -> dict[str, list[Estimate]]:
    sides = [[_tendency(side) for side in of_group] for of_group in groups]
    first, other, theirs = ([of_group[place] for of_group in sides] for place in range(3))
    means = [tendencies.mean(side) for side in (first, other, theirs)]
    stereo, _, theta = means[0].intervals()
    values = np.array([one.point.l_stereo for one in first])
    spreads = [
        one.likelihoods.of([[1.0], [0.0]]) for one in first if isinstance(one.likelihoods, SumInfluences)
    ]
    return {
        **{
            name: [_stereo_against(values, spreads, one) for one in chosen]
            for name, chosen in CONTRASTS.items()
        },
        "mean of l_stereo": [Estimate(means[0].point.l_stereo, stereo)],
        "theta of the means": [Estimate(means[0].point.theta, theta)],
        "two models, mean": [_first(tendencies.differences_of(means[0], means[1]))],
        "annotators, mean": [_first(tendencies.differences_of(means[0], means[2]))],
        "annotators, one group": [
            _first(tendencies.differences_of(*pair)) for pair in zip(first, theirs, strict=True)
        ],
    }


def _tendency(side: AnswerSet) -> GroupTendency:
    return tendencies.compute(side.k.sum(axis=0), side.n.sum(axis=0), STEREO, influences_of(side))


def _first(found: list[differences.Difference]) -> Estimate:
    return Estimate(found[0].value, found[0].interval, found[0].p)


def _stereo_against(values: Floats, spreads: list[Influences], chosen: Bools) -> Estimate:
    """The mean of the chosen groups (G,) less that of all others."""
    sides = [
        spread.mean([spreads[place] for place in np.flatnonzero(which)], np.ones((which.sum(), 1), np.bool_))
        for which in (chosen, ~chosen)
    ]
    means = [values[which].mean(keepdims=True) for which in (chosen, ~chosen)]
    scales = ((SHARE,), (SHARE,))
    return _first(spread.difference(means[0], means[1], (sides[0], sides[1]), scales))


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


def _difference(values: Floats, samples: Floats) -> Estimate:
    """Of two values (2,) and their resamples (2, B)."""
    first, second = values.tolist()
    return _first(
        [differences.difference(first, second, first_samples=samples[0], second_samples=samples[1])]
    )


def _point(side: AnswerSet) -> tuple[float, float]:
    found = stats.tendency(side.k.sum(axis=0), side.n.sum(axis=0), STEREO)
    return found.l_stereo, found.l_random


def _against(values: Floats, samples: Floats, chosen: Bools) -> Estimate:
    """The mean of the chosen groups less that of all others."""
    both = [stats.mean_over(samples, which) for which in (chosen, ~chosen)]
    return _difference(np.array([values[chosen].mean(), values[~chosen].mean()]), np.array(both))


def coverage(name: str, *, studies: int, resamples: int, seed: int = 0) -> dict[str, float]:
    """The share of simulated studies of the design of that name whose bootstrap interval holds the truth, of
    each score; of what there is an interval of each group or region, the share of all of them."""
    return coverage_tables.shares(
        measured(name, studies=studies, resamples=resamples, seed=seed, method="bootstrap")
    )


def measured(name: str, *, studies: int, resamples: int, method: str, seed: int = 0) -> Table:
    """Of all of `intervals` in simulated studies of the design of that name."""
    design = DESIGNS[name]
    judges = JUDGED.get(name, np.zeros(len(REGIONS), dtype=np.int64))
    found = (
        intervals(study(design, rng, judges), resamples=resamples, rng=rng, method=method)
        for rng in np.random.default_rng([seed, design.images, design.people]).spawn(studies)
    )
    return coverage_tables.summaries(truth(design), found, logarithmic=["theta of the means"])


def main() -> None:
    names = {name: name for name in DESIGNS}
    coverage_tables.run(__doc__, measured, over=names, results="coverage-groups.json")


if __name__ == "__main__":
    main()
