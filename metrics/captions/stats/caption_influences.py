"""Influences of images on what captions mention, and on salience (PROTOCOL §8, §10)."""

from dataclasses import replace

import numpy as np

from metrics.captions.stats import salience
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.influence import Clusters, Influences, influences


def document_squares(containing: Ints, captions: Ints, columns: Ints, *, attributes: int) -> Floats:
    """How much the documents of one group's images differ (3, `attributes`), to be added up over groups: the
    sums of squares of the number of captions and of those that contain each attribute, less their means, and
    of the products of both, times I / (I - 1).

    `containing` (I, A) and `captions` (I,) as in `of_findings`; `columns` (A,): which of the attributes these
    are, no caption contains the others. A group with a single image does not show how much images differ.

    Examples
    --------
    >>> document_squares(np.array([[2], [0]]), np.array([2, 4]), np.array([0]), attributes=1)[:, 0].tolist()
    [4.0, 4.0, -4.0]
    """
    images = max(len(captions), 1)
    correction = images / (images - 1) if images > 1 else 0.0
    number = captions - captions.sum() / images
    contained = containing - containing.sum(axis=0) / images
    found = np.zeros((3, attributes))
    found[0] = correction * (number**2).sum()
    found[1, columns] = correction * (contained**2).sum(axis=0)
    found[2, columns] = correction * (number @ contained)
    return found


def of_findings(containing: Ints, captions: Ints) -> Influences:
    r"""Of the share of captions that contain each attribute, :math:`d_i = (k_i - s n_i) / N`.

    `containing` (I, A), `captions` (I,). Captions of one image are alike: where all or no captions contain an
    attribute, an image counts as one.

    Examples
    --------
    >>> of_findings(np.array([[2], [0]]), np.array([2, 2])).images.change.round(3).tolist()
    [[0.354], [-0.354]]
    """
    number = captions.sum()
    shares = containing.sum(axis=0) / number
    varies = (shares > 0) & (shares < 1)
    return influences(
        (containing - shares * captions[:, None]) / number,
        images=np.arange(len(captions)),
        annotators=np.full(len(captions), -1),
        mass=captions,
        step=np.where(varies, 1 / number, 1 / len(captions)),
    )


def of_salience(
    matches: Ints,
    containing: Ints,
    captions: Ints,
    document_frequency: Ints,
    documents: int,
    others: Floats | None = None,
    *,
    smoothing: float = salience.SMOOTHING,
    absent: int = 0,
) -> Influences:
    r"""Of `salience.salience` of each attribute for a group: of the group's images, and of those of all
    others through the document frequency.

    .. math:: d_i = S \left(\frac{k_i}{k + a} - \frac{n_i}{n + a A}\right)
              + tf \left(\frac{C_i}{1 + |C|} - \frac{df_i}{1 + df}\right)

    less its mean over the images of the same group, of which there is always the same number; the first term
    is 0 for images of other groups. `matches` (I, A): how often the captions of each image mention each
    attribute; each at least once. `containing` (I, A) and `captions` (I,) as in `of_findings`;
    `document_frequency` (A,) and `documents` as in `salience.salience`. `others` (3, A): the
    `document_squares` of all other groups, the images of which make one change, the square of which is the
    sum of theirs. The degrees of freedom are those of the group's own images.

    Examples
    --------
    >>> own, one, captions = np.array([[2], [1]]), np.array([[1], [1]]), np.array([2, 2])
    >>> found = of_salience(own, one, captions, one.sum(axis=0), 4, absent=1)
    >>> found.images.change.round(3).tolist()
    [[0.043], [-0.043]]
    """
    k, of_images = matches.sum(axis=0), matches.sum(axis=1)
    tf = salience.term_frequency(k, smoothing=smoothing, absent=absent)
    idf = salience.inverse_document_frequency(document_frequency, documents)
    total = k.sum() + smoothing * (len(k) + absent)
    terms = tf * idf * (matches / (k + smoothing) - of_images[:, None] / total)
    own = terms + tf * (captions[:, None] / (1 + documents) - containing / (1 + document_frequency))
    nobody = np.full(len(own), -1)
    found = influences(
        own - own.mean(axis=0), images=np.arange(len(own)), annotators=nobody, step=idf / total
    )
    if others is None:
        return found
    of_number, of_containing = 1 / (1 + documents), 1 / (1 + document_frequency)
    squares = others[0] * of_number**2 + others[1] * of_containing**2
    squares -= 2 * others[2] * of_number * of_containing
    # rounding can leave less than nothing
    change = tf * np.sqrt(np.maximum(squares, 0.0))
    return replace(
        found,
        images=Clusters(
            labels=np.arange(len(own) + 1),
            mass=np.append(found.images.mass, 0.0),
            change=np.concatenate([found.images.change, change[None]]),
        ),
    )
