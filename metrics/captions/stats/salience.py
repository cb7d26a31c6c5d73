"""Salience: how much an attribute stands out for one group among others (PROTOCOL §8)."""

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats import checks
from metrics.core.stats.checks import Floats

SMOOTHING = 1.0


def term_frequency(matches: ArrayLike, *, smoothing: float = SMOOTHING, absent: int = 0) -> Floats:
    r"""tf of `salience`, shape (..., M). Rows sum to 1 if no attribute is absent.

    Examples
    --------
    >>> term_frequency([3, 0, 0, 1]).tolist()
    [0.5, 0.125, 0.125, 0.25]
    """
    array = np.asarray(matches)
    k = checks.counts("matches", array, ndim=max(1, array.ndim))
    if not 0 <= smoothing < float("inf"):
        raise ValueError(f"smoothing is {smoothing}; a constant of at least 0 is needed.")
    if absent < 0:
        raise ValueError(f"absent is {absent}; a number of attributes is at least 0.")
    top = k + smoothing
    total = k.sum(axis=-1, keepdims=True) + smoothing * (k.shape[-1] + absent)
    bottom = np.broadcast_to(total, top.shape)
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def inverse_document_frequency(document_frequency: ArrayLike, documents: ArrayLike) -> Floats:
    """idf of `salience`, shape (..., M), never below 1.

    Examples
    --------
    >>> inverse_document_frequency([3, 0], 3).round(3).tolist()
    [1.0, 2.386]
    """
    array, of = np.asarray(document_frequency), np.asarray(documents)
    df = checks.counts("document_frequency", array, ndim=max(1, array.ndim))
    number = checks.counts("documents", of, ndim=of.ndim)
    size = number[..., None] if number.ndim else number
    if bool((df > size).any()):
        raise ValueError(f"An attribute is in {df.max()} of {number.max()} documents: more than there are.")
    return np.asarray(np.log((1.0 + size) / (1.0 + df)) + 1.0)


def salience(
    matches: ArrayLike,
    document_frequency: ArrayLike,
    documents: ArrayLike,
    *,
    smoothing: float = SMOOTHING,
    absent: int = 0,
) -> Floats:
    r"""Salience of each attribute for a group, shape (..., M).

    .. math:: S(attr, id) = tf \cdot idf, \qquad
              tf = \frac{k_{attr} + a}{\sum_{attr'} k_{attr'} + a A}, \qquad
              idf = \ln \frac{1 + |C|}{1 + df_{attr}} + 1

    ViSAGe's arguments [1]_: matches of attributes in the captions of a group's images; the documents are the
    captions of all groups. SeeGULL's arguments [2]_: votes that call an attribute a stereotype of a group;
    the documents are the groups of its region, each with its associated attributes. The smoothed idf is that
    of scikit-learn [3]_.

    Parameters
    ----------
    matches : array_like of int, shape (..., M)
        k: how often each attribute occurs for a group. Each row of the last axis is one group (or one
        resample of a group).
    document_frequency : array_like of int, shape (M,) or (..., M)
        df: number of documents in which each attribute occurs, at most `documents`.
    documents : array_like of int, shape () or (...)
        |C|: number of documents; one number for all rows, or one for each row.
    smoothing : float
        The constant a of additive smoothing (Laplace's for 1, the default). With it, salience is above 0
        even for an attribute that never occurs: report only those that do. With 0, a row without matches is
        NaN (missing).
    absent : int
        Number of further attributes that were searched for but never occur: A = M + absent. They take
        their share of the smoothing without a column.

    Raises ValueError if a value is not a count, the shapes do not match, or df exceeds the documents.

    .. [1] Jha et al. (2024), ViSAGe, ACL 2024. doi:10.18653/v1/2024.acl-long.667
    .. [2] Jha et al. (2023), SeeGULL, ACL 2023. doi:10.18653/v1/2023.acl-long.548
    .. [3] Pedregosa et al. (2011), Scikit-learn, JMLR 12, 2825-2830: TfidfTransformer, smooth_idf.

    Examples
    --------
    >>> salience([3, 0, 0, 1], [3, 0, 1, 1], 10).round(3).tolist()
    [1.006, 0.425, 0.338, 0.676]
    """
    tf = term_frequency(matches, smoothing=smoothing, absent=absent)
    idf = inverse_document_frequency(document_frequency, documents)
    if tf.shape[-1] != idf.shape[-1]:
        raise ValueError(
            f"matches has {tf.shape[-1]} columns and document_frequency {idf.shape[-1]}; as many are needed."
        )
    return np.asarray(tf * idf)
