"""Influences of images on what captions mention, and on salience (PROTOCOL §8, §10)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metrics.captions.stats import salience
from metrics.core.stats.checks import Floats, Ints
from metrics.core.stats.influence import Clusters, Influences, influences

Documents = tuple[Ints, Ints]
"""Of the images of a group: how many captions contain each attribute (I, A), and number of captions (I,)."""


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
    documents: Documents,
    others: Sequence[Documents],
    *,
    smoothing: float = salience.SMOOTHING,
    absent: int = 0,
) -> Influences:
    r"""Of `salience.salience` of each attribute for a group: of the group's images, and of those of all
    `others` through the document frequency.

    .. math:: d_i = S \left(\frac{k_i}{k + a} - \frac{n_i}{n + a A}\right)
              + tf \left(\frac{C_i}{1 + |C|} - \frac{df_i}{1 + df}\right)

    less its mean over the images of the same group, of which there is always the same number; the first term
    is 0 for images of other groups. `matches` (I, A): how often the captions of each image mention each
    attribute; each at least once. The degrees of freedom are those of the group's own images.

    Examples
    --------
    >>> own = np.array([[2], [1]])
    >>> found = of_salience(own, (np.array([[1], [1]]), np.array([2, 2])), [], absent=1)
    >>> found.images.change.round(3).tolist()
    [[0.043], [-0.043]]
    """
    k, of_images = matches.sum(axis=0), matches.sum(axis=1)
    frequency = sum((each.sum(axis=0) for each, _ in others), start=documents[0].sum(axis=0))
    number = sum((int(each.sum()) for _, each in others), start=int(documents[1].sum()))
    tf = salience.term_frequency(k, smoothing=smoothing, absent=absent)
    idf = salience.inverse_document_frequency(frequency, number)
    total = k.sum() + smoothing * (len(k) + absent)

    def of_documents(containing: Ints, captions: Ints) -> Floats:
        return np.asarray(tf * (captions[:, None] / (1 + number) - containing / (1 + frequency)))

    terms = tf * idf * (matches / (k + smoothing) - of_images[:, None] / total)
    own = terms + of_documents(*documents)
    nobody = np.full(len(own), -1)
    found = influences(
        own - own.mean(axis=0), images=np.arange(len(own)), annotators=nobody, step=idf / total
    )
    # a group with a single image does not show how much its images differ
    rest = [of_documents(*each) for each in others if len(each[1]) > 1]
    changes = [(each - each.mean(axis=0)) * np.sqrt(len(each) / (len(each) - 1)) for each in rest]
    images = sum(len(each) for each in rest)
    return replace(
        found,
        images=Clusters(
            labels=np.arange(len(own) + images),
            mass=np.concatenate([found.images.mass, np.zeros(images)]),
            change=np.concatenate([found.images.change, *changes]),
        ),
    )
