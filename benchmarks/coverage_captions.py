"""How often the intervals of what captions say hold the truth of simulated studies, and how wide they are.

    python -m benchmarks.coverage_captions [--studies 1000] [--intervals clustered|bootstrap|both]

Four groups have images, and each image captions. Whether a caption names an attribute is a coin whose logit
is the attribute's own in that group plus a normal effect of the image for that attribute; a caption that
names it names it twice in one case of five. Three of the people see each image, and whether they select the
attribute hangs on the same effect of the image, and on their own.

The truth of a share of captions and of salience is that of all images there could be, by Gauss-Hermite
quadrature: in endless captions nothing is left of smoothing. Agreement of captions with people asks what was
named and selected at least once, which depends on the number of images: its truth is the mean of many
simulated studies of that size.

Written to benchmarks/results/coverage-captions.json; docs/coverage.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks import coverage_tables
from benchmarks.coverage_tables import Estimate, Study, Table
from metrics.captions.stats import caption_influences, caption_pairs, salience
from metrics.core.stats import bootstrap, percentiles, spread
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.percentiles import Interval
from metrics.core.stats.scales import RATIO, SHARE

GROUPS = 4
LOGITS = np.array([-1.0, -3.0, -5.0])
"""Of a common, a rarer and a rare attribute in the first group; in group g each is rarer by LESS times g."""
LESS = 0.3
KINDS = ("common", "rarer", "rare")
ATTRIBUTES = 30  # ten of each kind
TWICE = 0.2
ALIKE = 0.5  # how far what people see hangs on what makes a captioner name it
EACH = 3


@dataclass(frozen=True)
class Design:
    """So many images a group with so many captions each, seen by `each` of `people`, of whom one sees all if
    there is a `heavy` one; standard deviations of the effects in logits."""

    images: int = 15
    captions: int = 50
    people: int = 12
    of_images: float = 1.0
    of_people: float = 0.5
    identified: bool = True
    each: int = EACH
    heavy: bool = False


DESIGNS = {
    "as ViSAGe: 15 images, 50 captions each": Design(),
    "60 images, 30 people": Design(images=60, people=30),
    "15 images, 5 captions each": Design(captions=5),
    "images differ much": Design(of_images=2.5),
    "images do not differ": Design(of_images=0.0),
    "people differ much": Design(of_people=1.5),
    "people not identified, differ much": Design(of_people=1.5, identified=False),
}
FURTHER = {
    "5 images": Design(images=5),
    "5 people": Design(people=5),
    "one person has half of all answers": Design(each=2, heavy=True),
    "one person an image": Design(each=1),
}


@dataclass(frozen=True)
class Group:
    """How often captions of each image name each attribute and how many of them do, (I, A) both; and of each
    response its image, its person and what it selected, (R,), (R,) and (R, A)."""

    matches: Ints
    holding: Ints
    images: Ints
    people: Ints
    selected: Ints


def logits(group: int) -> Floats:
    """Of each attribute in captions of that group, shape (A,)."""
    return np.asarray(np.repeat(LOGITS, ATTRIBUTES // len(LOGITS)) - LESS * group)


def truth(design: Design) -> dict[str, float]:
    """What an endless study of `design` would find of each kind of attribute in the first group."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(201)
    mass = mass / mass.sum()
    every = np.array([logits(group) for group in range(GROUPS)])
    held = (1 / (1 + np.exp(-every[..., None] - design.of_images * nodes))) @ mass
    found = held[0]
    tf = found / found.sum()
    saliences = tf * (1 - np.log(held.mean(axis=0)))
    places = [KINDS.index(kind) * ATTRIBUTES // len(KINDS) for kind in KINDS]
    values: dict[str, float] = {}
    for name, of in (("found", found), ("salience", saliences)):
        values |= {f"{name}, {kind}": float(of[place]) for kind, place in zip(KINDS, places, strict=True)}
    return values


def study(design: Design, rng: np.random.Generator) -> list[Group]:
    """The groups of one simulated study."""
    eyes = design.of_people * rng.normal(size=design.people)
    groups = []
    for group in range(GROUPS):
        effects = design.of_images * rng.normal(size=(design.images, ATTRIBUTES))
        odds = logits(group) + effects
        holding = rng.binomial(design.captions, 1 / (1 + np.exp(-odds)))
        seen_by = np.argsort(rng.random((design.images, design.people)), axis=1)[:, : design.each]
        if design.heavy:
            seen_by = np.argsort(rng.random((design.images, design.people - 1)), axis=1)[:, : design.each] + 1
            seen_by[:, 0] = 0
        who = seen_by.ravel()
        image = np.repeat(np.arange(design.images), design.each)
        seen = logits(group) - 1 + ALIKE * effects[image] + eyes[who][:, None]
        groups.append(
            Group(
                matches=holding + rng.binomial(holding, TWICE),
                holding=holding,
                images=image,
                people=who if design.identified else -1 - np.arange(len(who)),
                selected=(rng.random(seen.shape) < 1 / (1 + np.exp(-seen))).astype(np.int64),
            )
        )
    return groups


def of_captions(
    groups: list[Group], captions: int, *, resamples: int, rng: np.random.Generator, method: str = "bootstrap"
) -> dict[str, list[tuple[float, Interval]]]:
    """Those of the attributes of each kind that captions of the first group name, with their values, as
    metrics/captions/scores/findings.py makes them: every group's images are drawn, and with them the
    documents of all."""
    first = groups[0]
    numbers = [np.full(len(one.holding), captions) for one in groups]
    documents = sum(int(each.sum()) for each in numbers)
    held = sum(one.holding.sum(axis=0) for one in groups)
    points = (
        first.holding.sum(axis=0) / numbers[0].sum(),
        salience.salience(first.matches.sum(axis=0), held, documents),
    )
    there = first.matches.any(axis=0)
    spreads: list[spread.Spread]
    if method == "clustered":
        of_others = [
            caption_influences.document_squares(one.holding, each, np.arange(len(held)), attributes=len(held))
            for one, each in zip(groups[1:], numbers[1:], strict=True)
        ]
        spreads = [
            caption_influences.of_findings(first.holding, numbers[0]),
            caption_influences.of_salience(
                first.matches, first.holding, numbers[0], held, documents, np.sum(of_others, axis=0)
            ),
        ]
    else:
        weights = [bootstrap.cluster_weights(len(one.holding), resamples, rng) for one in groups]
        drawn = sum(each @ number for each, number in zip(weights, numbers, strict=True))
        drawn_held = sum(each @ one.holding for each, one in zip(weights, groups, strict=True))
        spreads = [
            weights[0] @ first.holding / (weights[0] @ numbers[0])[:, None],
            salience.salience(weights[0] @ first.matches, drawn_held, drawn),
        ]
    found: dict[str, list[tuple[float, Interval]]] = {}
    for name, values, of, scale in zip(("found", "salience"), points, spreads, (SHARE, RATIO), strict=True):
        each = spread.intervals(of, values, scale)
        for number, kind in enumerate(KINDS):
            places = np.arange(ATTRIBUTES // len(KINDS)) + number * (ATTRIBUTES // len(KINDS))
            found[f"{name}, {kind}"] = [
                (float(values[place]), interval)
                for place in places
                for interval in [each[place]]
                if there[place] and interval is not None
            ]
    return found


def clustered_agreement(groups: list[Group]) -> dict[str, Interval]:
    """Those of the agreement with people of the first group and of all."""
    judged = [
        caption_pairs.JudgedPairs(
            one.matches > 0, one.selected > 0, np.ones_like(one.selected) > 0, one.images, one.people
        )
        for one in groups
    ]
    found = {}
    for name, some in (("agreement, a group", 1), ("agreement, all", len(groups))):
        influences = caption_pairs.agreement_influences(judged[:some])
        (interval,) = spread.intervals(influences, [share(groups[:some])], SHARE)
        assert interval is not None
        found[name] = interval
    return found


def of_agreement(groups: list[Group], *, resamples: int, rng: np.random.Generator) -> dict[str, Interval]:
    """Those of the agreement with people of the first group, whose annotators are drawn for it alone, and of
    the whole, for which they are drawn once, as metrics/captions/scores/caption_agreement.py makes them."""
    known = int(max(one.people.max() for one in groups)) + 1
    everybody = bootstrap.cluster_weights(known, resamples, rng) if known > 0 else None
    alone = np.zeros((2, resamples))
    whole = np.zeros((2, resamples))
    for place, one in enumerate(groups):
        by_image = bootstrap.cluster_weights(len(one.matches), resamples, rng)
        own = bootstrap.sums_over_annotators(
            *(one.selected, np.ones_like(one.selected), np.arange(len(one.images)), one.images, one.people),
            image_weights=by_image,
            rng=rng,
        )
        together = own
        if everybody is not None:
            together = bootstrap.weighted_sums(
                *(one.selected, np.ones_like(one.selected), one.images, one.people),
                image_weights=by_image,
                annotator_weights=everybody,
            )
        counted = [
            np.stack(caption_pairs.resampled(one.matches, *sums, image_weights=by_image)).sum(axis=2)
            for sums in (own, together)
        ]
        alone = counted[0] if place == 0 else alone
        whole = whole + counted[1]
    found = {}
    for name, drawn, some in (("agreement, a group", alone, groups[:1]), ("agreement, all", whole, groups)):
        point = share(some)
        samples = percentiles.recentred(drawn[0] / np.where(drawn[1] > 0, drawn[1], np.nan), point)
        found[name] = percentiles.percentile_intervals(samples[:, None], [point])[0]
    return found


def share(groups: list[Group]) -> float:
    """Of what captions name the share that people selected; pairs of all groups pooled."""
    found = [
        caption_pairs.agreement(
            one.matches.sum(axis=0), one.selected.sum(axis=0), np.full(ATTRIBUTES, len(one.images))
        )
        for one in groups
    ]
    number = sum(one.n for one in found)
    return sum(one.k for one in found) / number if number else float("nan")


@cache
def truth_of_agreement(design: Design, studies: int) -> dict[str, float]:
    """The mean over a population of so many studies."""
    population = [study(design, rng) for rng in np.random.default_rng(studies).spawn(studies)]
    return {
        "agreement, a group": float(np.nanmean([share(groups[:1]) for groups in population])),
        "agreement, all": float(np.nanmean([share(groups) for groups in population])),
    }


def measured(
    design: Design,
    *,
    studies: int,
    method: str = "clustered",
    resamples: int = 0,
    population: int = 4000,
    seed: int = 0,
) -> Table:
    """Of each score, of the attributes that were found; `population`: studies for the truth of agreement."""

    def simulated() -> Iterator[Study]:
        for rng in np.random.default_rng([seed, design.images, design.people]).spawn(studies):
            groups = study(design, rng)
            found = of_captions(groups, design.captions, resamples=resamples, rng=rng, method=method)
            if method == "clustered":
                agreed = clustered_agreement(groups)
            else:
                agreed = of_agreement(groups, resamples=resamples, rng=rng)
            values = {"agreement, a group": share(groups[:1]), "agreement, all": share(groups)}
            yield {name: [Estimate(*each) for each in several] for name, several in found.items()} | {
                name: [Estimate(values[name], each)] for name, each in agreed.items()
            }

    return coverage_tables.summaries(truth(design) | truth_of_agreement(design, population), simulated())


def coverage(
    design: Design, *, studies: int, resamples: int, population: int = 4000, seed: int = 0
) -> dict[str, float]:
    """Score -> share of bootstrap intervals that hold the truth."""
    size = {"studies": studies, "resamples": resamples, "population": population, "seed": seed}
    return coverage_tables.shares(measured(design, method="bootstrap", **size))


def main() -> None:
    coverage_tables.run(__doc__, measured, over=DESIGNS | FURTHER, results="coverage-captions.json")


if __name__ == "__main__":
    main()
