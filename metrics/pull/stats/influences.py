"""Influences of prompts and their images on stereotypical pull (PROTOCOL §9, §10)."""

from collections.abc import Sequence

import numpy as np

from metrics.core.stats import grouped_sums, influence
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import COEFFICIENT, NUMBER, Scale
from metrics.pull.stats.paired import ImageVectors
from metrics.pull.stats.pull import COLUMNS, check_vectors

SCALES = tuple(Scale(-2.0, 2.0) if name == "x" else COEFFICIENT for name in COLUMNS)
"""The scales of COLUMNS: x is a difference of two similarities."""
NAMES = ("default", "stereotypical", "non_stereotypical")
_WITHIN = COLUMNS.index("s_d_d")
# By how much each of COLUMNS changes with the similarity of two sets, given by their places in NAMES.
_BETWEEN = {
    (0, 1): np.array([1, 0, 0, 1 / 3, 1, 0, 0, 0]),
    (0, 2): np.array([0, 1, 0, 1 / 3, -1, 0, 0, 0]),
    (1, 2): np.array([0, 0, 1, 1 / 3, 0, 0, 0, 0]),
}
# Vectors are stored in single precision: similarities that differ by less are equal.
_RESOLUTION = 1e-6


def pull_influences(name: str, sets: Sequence[ImageVectors]) -> Influences:
    r"""The influences on COLUMNS of the default, stereotypical and non-stereotypical images of one group.

    With :math:`\bar u` the mean of the n unit vectors of a set, an image x of the first has the influence

    .. math:: (x \cdot \bar v - S(X, Y)) / n

    on S(X, Y). The clusters are prompts, the images of which are alike, or the images themselves of a set
    with one prompt. The sets are strata. S within a set has pairs of images of two prompts, and pairs of one
    prompt; with :math:`A_{pq}` and :math:`B_p` the sums of their similarities less the mean of their kind,

    .. math:: d_p = \frac{2 \sum_{q \ne p} A_{pq} + B_p}{n (n - 1)}

    because a pair of two prompts depends on both and a pair of one prompt on that one (Hoeffding 1948,
    doi:10.1214/aoms/1177730196). What a pair has beyond the effects of its two prompts is in the changes
    without each: all changes are made smaller so that it counts once. `name` makes the labels of clusters and
    strata: equal names and labels are the same prompts or images. A set of one image has no influences, nor
    have scores that need it. Raises ValueError as `pull`, and for an empty set.

    Examples
    --------
    >>> d, s, ns = (ImageVectors(np.eye(2), np.zeros(2), np.arange(2)) for _ in range(3))
    >>> pull_influences("group", (d, s, ns)).images.change[:, 0].tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    vectors = check_vectors(**{label: each.vectors for label, each in zip(NAMES, sets, strict=True)})
    for label, each in zip(NAMES, vectors, strict=True):
        if not len(each):
            raise ValueError(f"{label} holds no image.")
    found = [_Set(each.vectors / each.lengths[:, None], own) for each, own in zip(vectors, sets, strict=True)]
    together = influence.total([_part(place, f"{name}: {label}", found) for place, label in enumerate(NAMES)])
    variance = (together.images.change**2).sum(axis=0)
    twice = np.divide(_twice(found), variance, out=np.zeros_like(variance), where=variance > 0)
    return together.scaled(np.sqrt(1 - np.clip(twice, 0.0, 0.5)))


def mean_influences(labels: Sequence[str], values: Floats, scales: Sequence[Scale] = (NUMBER,)) -> Influences:
    """The influences of G groups, which are drawn with all their images, on the means of their `values`
    (G, K), on `scales`, one for all or K; `labels` name the groups. A single group has no interval."""
    d = (values - values.mean(axis=0)) / len(values)
    return influence.influences(
        d,
        images=np.array([f"group {label}" for label in labels]),
        annotators=np.full(len(d), -1),
        step=_least(d, len(d)) * _widths(scales),
        least=_least(d, len(d)),
        stratum=f"groups like {min(labels)}",  # groups that are compared with others are another sample
    )


class _Set:
    """The unit vectors (n, dim) of a set, their mean, and which of P clusters each is of; `changes` (P, dim)
    of the mean without each cluster, as in `influence.influences`."""

    def __init__(self, units: Floats, images: ImageVectors) -> None:
        clusters = images.prompts if len(np.unique(images.prompts)) > 1 else images.images
        labels, self.cluster_of = np.unique(clusters, return_inverse=True)
        self.labels = labels.tolist()
        self.sizes = np.bincount(self.cluster_of)
        self.units, self.mean = units, units.mean(axis=0)
        self.sums = grouped_sums.add_up(units, self.cluster_of, len(self.labels))

    @property
    def changes(self) -> Floats:
        number, left = len(self.labels), len(self.units) - self.sizes
        if number < 2:
            return np.zeros_like(self.sums)
        centred = self.sums - self.sizes[:, None] * self.mean
        return np.asarray(np.sqrt((number - 1) / number) * centred / left[:, None])


def _part(place: int, stratum: str, sets: Sequence[_Set]) -> tuple[Floats, Influences]:
    """The influences of the clusters of one set, and which of COLUMNS use it."""
    own, n = sets[place], len(sets[place].units)
    clusters, uses = len(own.labels), np.zeros(len(COLUMNS))
    d = np.zeros((clusters, len(COLUMNS)))
    for pair, weights in _BETWEEN.items():
        if place in pair:
            other = sets[pair[0] if pair[1] == place else pair[1]]
            d += np.outer((own.sums - own.sizes[:, None] * own.mean) @ other.mean / n, weights)
            uses[np.flatnonzero(weights)] = 1
    d[:, _WITHIN + place] = _within(own)
    uses[_WITHIN + place] = 1
    found = influence.influences(
        d,
        images=np.array([f"{stratum}: {label}" for label in own.labels]),
        annotators=np.full(clusters, -1),
        mass=own.sizes,
        step=_least(d, n) * _widths(SCALES),
        least=_least(d, n),
        stratum=stratum,
    )
    return uses, found


def _within(own: _Set) -> Floats:
    """The influence of each cluster on S within a set, (P,); NaN for a single image."""
    n, sizes = len(own.units), own.sizes
    inner = (own.sums**2).sum(axis=1)
    across, pairs_across = own.sums @ own.sums.sum(axis=0) - inner, sizes * (n - sizes)
    inside, pairs_inside = inner - sizes, sizes * (sizes - 1)
    centred = 2 * (across - pairs_across * _ratio(across, pairs_across))
    centred += inside - pairs_inside * _ratio(inside, pairs_inside)
    return np.asarray(centred / (n * (n - 1)) if n > 1 else np.full(len(sizes), np.nan))


def _ratio(top: Floats, bottom: Ints) -> float:
    return float(top.sum() / bottom.sum()) if bottom.sum() else 0.0


def _twice(sets: Sequence[_Set]) -> Floats:
    """The variance (K,) of COLUMNS that only pairs of prompts show: the changes without either of them have
    it."""
    found = np.zeros(len(COLUMNS))
    changes = [each.changes for each in sets]
    for (one, other), weights in _BETWEEN.items():
        found += weights**2 * ((changes[one] @ changes[other].T) ** 2).sum()
    for place, own in enumerate(sets):
        found[_WITHIN + place] = _twice_within(own)
    return found


def _twice_within(own: _Set) -> float:
    """Twice the sum of squares of what pairs of prompts have beyond the effects of both prompts."""
    n, number = len(own.units), len(own.labels)
    if number < 4:  # nothing is left
        return 0.0
    pairs = own.sums @ own.sums.T
    shares = np.outer(own.sizes, own.sizes).astype(np.float64)
    np.fill_diagonal(pairs, 0.0)
    np.fill_diagonal(shares, 0.0)
    pairs -= shares * (pairs.sum() / shares.sum())
    effects = pairs.sum(axis=1) / (number - 2)
    rest = pairs - effects[:, None] - effects
    np.fill_diagonal(rest, 0.0)
    return float(2 * (rest**2).sum() / (n * (n - 1)) ** 2)


def _widths(scales: Sequence[Scale]) -> Floats:
    return np.array([scale.width for scale in scales])


def _least(d: Floats, number: int) -> Floats:
    """By how much a single image or group can change scores, as a share of their scales. Where all
    are equal, nothing else says how much others would vary; elsewhere their own variation does."""
    return np.where((np.abs(d) <= _RESOLUTION / number).all(axis=0), 1 / number, _RESOLUTION)
