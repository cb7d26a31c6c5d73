"""Influences of prompts and their images on stereotypical pull (PROTOCOL §9, §10)."""

from collections.abc import Sequence

import numpy as np

from metrics.core.stats import influence
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import COEFFICIENT, Scale
from metrics.pull.stats.paired import ImageVectors
from metrics.pull.stats.pull import COLUMNS, VectorSet, check_vectors

SCALES = tuple(Scale(-2.0, 2.0) if name == "x" else COEFFICIENT for name in COLUMNS)
"""The scales of COLUMNS: x is a difference of two similarities."""
NAMES = ("default", "stereotypical", "non_stereotypical")
_S_MEAN, _X, _WITHIN = COLUMNS.index("s_mean"), COLUMNS.index("x"), COLUMNS.index("s_d_d")
# The place in COLUMNS of the similarity of two different sets.
_BETWEEN = {(0, 1): 0, (0, 2): 1, (1, 2): 2}
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
    doi:10.1214/aoms/1177730196). `name` makes the labels of clusters and strata: equal names and labels are
    the same prompts or images. Sets of a single image have no influences, nor have scores that need them.
    Raises ValueError as `pull`, and for an empty set.

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
    units = [_units(each) for each in vectors]
    means = [each.mean(axis=0) for each in units]
    parts = []
    for place, (label, each) in enumerate(zip(NAMES, sets, strict=True)):
        clusters = each.prompts if len(np.unique(each.prompts)) > 1 else each.images
        labels, cluster_of = np.unique(clusters, return_inverse=True)
        stratum = f"{name}: {label}"
        of_images = _derivatives(place, units, means)
        d = influence.add_up(of_images, cluster_of, len(labels))
        d[:, _WITHIN + place] = _within(units[place], cluster_of, len(labels))
        uses = (np.arange(len(COLUMNS)) == _WITHIN + place) | (of_images != 0).any(axis=0)
        found = influence.influences(
            d,
            images=np.array([f"{stratum}: {one}" for one in labels.tolist()]),
            annotators=np.full(len(labels), -1),
            mass=np.bincount(cluster_of),
            step=_step(d, len(cluster_of)),
            stratum=stratum,
        )
        parts.append((uses.astype(np.float64), found))
    return influence.total(parts)


def mean_influences(labels: Sequence[str], values: Floats) -> Influences:
    """The influences of G groups, which are drawn with all their images, on the means of their `values`
    (G, K); `labels` name the groups. A single group has no interval."""
    d = (values - values.mean(axis=0)) / len(values)
    return influence.influences(
        d,
        images=np.array([f"group {label}" for label in labels]),
        annotators=np.full(len(d), -1),
        step=_step(d, len(d)),
        stratum=f"groups like {min(labels)}",  # groups that are compared with others are another sample
    )


def _units(images: VectorSet) -> Floats:
    return images.vectors / images.lengths[:, None]


def _derivatives(place: int, units: Sequence[Floats], means: Sequence[Floats]) -> Floats:
    """Of COLUMNS, (n, K), with respect to the weight of each image of a set; without S within the set."""
    found = np.zeros((len(units[place]), len(COLUMNS)))
    for pair, column in _BETWEEN.items():
        if place in pair:
            other = means[pair[0] if pair[1] == place else pair[1]]
            found[:, column] = (units[place] - means[place]) @ other / len(units[place])
    found[:, _S_MEAN] = found[:, :3].mean(axis=1)
    found[:, _X] = found[:, 0] - found[:, 1]
    return found


def _within(units: Floats, cluster_of: Ints, clusters: int) -> Floats:
    """The influence of each cluster on S within a set; NaN for a single image."""
    n, sizes = len(units), np.bincount(cluster_of, minlength=clusters)
    sums = influence.add_up(units, cluster_of, clusters)
    own = (sums**2).sum(axis=1)
    across, pairs_across = sums @ sums.sum(axis=0) - own, sizes * (n - sizes)
    inside, pairs_inside = own - sizes, sizes * (sizes - 1)
    centred = 2 * (across - pairs_across * _ratio(across, pairs_across))
    centred += inside - pairs_inside * _ratio(inside, pairs_inside)
    return centred / (n * (n - 1)) if n > 1 else np.full(clusters, np.nan)


def _ratio(top: Floats, bottom: Ints) -> float:
    return float(top.sum() / bottom.sum()) if bottom.sum() else 0.0


def _step(d: Floats, number: int) -> Floats:
    """By how much a single image or group can change scores. Where all are equal, nothing else says how much
    others would vary; elsewhere their own variation does."""
    return np.where((np.abs(d) <= _RESOLUTION / number).all(axis=0), 1 / number, _RESOLUTION)
