"""Scores and significance of associations (PROTOCOL §11; BiasDora, Raj et al. 2024, and Monroe, Colaresi and
Quinn 2008, Fightin' Words, equations 15 to 22). Pure: arrays in, arrays out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LEVEL = 0.05
ALPHA_0 = 500.0
"""The weight of the prior, in words."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PairCounts:
    """The distinct pairs of one setting and variant, P of them. `descriptor`, `word` (P,): their numbers.
    `tf` (P,): occurrences of the word in all answers about the descriptor. `df` (P,): documents of the
    setting that hold the word. `documents`: all of the setting."""

    descriptor: Ints
    word: Ints
    tf: Ints
    df: Ints
    documents: int

    def __len__(self) -> int:
        return len(self.tf)


@dataclass(frozen=True)
class Scores:
    """tf x idf of each pair, and the upper normal tail `p` among them; `p` is nan with fewer than two pairs
    or equal scores."""

    score: Floats
    p: Floats
    significant: Bools


@dataclass(frozen=True)
class LogOdds:
    """z of the log-odds ratio, its one-sided q (Benjamini and Hochberg) within the setting; nan where it is
    undefined, because nothing else was said of anybody. `significant`: see `log_odds`."""

    z: Floats
    q: Floats
    significant: Bools


def idf(df: npt.ArrayLike, n: float) -> Floats:
    r"""ln(N / df)."""
    return np.log(n / np.asarray(df, dtype=np.float64))


def published_significance(counts: PairCounts, *, n: float) -> Scores:
    r"""score = tf · ln(N / df); p = upper tail of a normal distribution with the mean and the standard
    deviation (divisor n - 1) of the scores of all distinct pairs; significant if p < 0.05.

    `n`: N of idf, 26 x documents for completed words as published, else the documents.

    Examples
    --------
    >>> one = PairCounts(*(np.array(c) for c in ([0, 0, 1], [0, 1, 1], [9, 1, 1], [9, 2, 2])), documents=10)
    >>> published_significance(one, n=10).score.round(3).tolist()
    [0.948, 1.609, 1.609]
    """
    # imported here because it takes 0.6 s
    from scipy import stats as scipy_stats

    score = counts.tf * idf(counts.df, n)
    if len(score) < 2 or not np.ptp(score) > 0:
        p = np.full(len(score), np.nan)
    else:
        p = scipy_stats.norm.sf((score - score.mean()) / score.std(ddof=1))
    return Scores(score, p, p < LEVEL)


def log_odds(counts: PairCounts, *, alpha_0: float = ALPHA_0) -> LogOdds:
    r"""Log-odds ratio of w in d against all other descriptors, with an informative Dirichlet prior.

    .. math:: \delta = \ln\frac{y_{dw} + \alpha_w}{n_d + \alpha_0 - y_{dw} - \alpha_w}
              - \ln\frac{y_{-dw} + \alpha_w}{n_{-d} + \alpha_0 - y_{-dw} - \alpha_w}, \qquad
              z = \delta \Big/ \sqrt{\tfrac{1}{y_{dw} + \alpha_w} + \tfrac{1}{y_{-dw} + \alpha_w}}

    y: counts in the answers about d, and about all others (-d); n: their sums; \alpha_w: \alpha_0 times the
    share of w in the whole setting. p is one-sided; q is Benjamini's and Hochberg's over all pairs.

    Significant if q < 0.05 and `exact_q` < 0.05. The second, because z is no normal variable where a word is
    rare: of words that everybody says equally often, but rarely, up to a fifth would have q < 0.05.

    Raises ValueError unless `alpha_0` is positive.
    """
    # imported here because it takes 0.6 s
    from scipy import stats as scipy_stats

    if not alpha_0 > 0:
        raise ValueError(f"alpha_0 is {alpha_0}: choose a positive number.")
    if not len(counts):
        nothing = np.zeros(0)
        return LogOdds(nothing, nothing, nothing < 0)
    y = counts.tf.astype(np.float64)
    of_word = np.bincount(counts.word, weights=y)[counts.word]
    of_descriptor = np.bincount(counts.descriptor, weights=y)[counts.descriptor]
    total = y.sum()
    prior = alpha_0 * of_word / total
    here, there = y + prior, of_word - y + prior
    with np.errstate(divide="ignore", invalid="ignore"):
        delta = np.log(here / (of_descriptor + alpha_0 - here)) - np.log(
            there / (total - of_descriptor + alpha_0 - there)
        )
        z = delta / np.sqrt(1 / here + 1 / there)
    z[~np.isfinite(z)] = np.nan
    q = np.full(len(z), np.nan)
    known = ~np.isnan(z)
    if known.any():
        q[known] = scipy_stats.false_discovery_control(scipy_stats.norm.sf(z[known]))
    return LogOdds(z, q, (q < LEVEL) & (exact_q(counts) < LEVEL))


def exact_q(counts: PairCounts) -> Floats:
    r"""Benjamini's and Hochberg's q of :math:`P(Y \ge y_{dw} \mid Y \ge 1)`, where Y is binomial: each of the
    word's occurrences in the setting is in an answer about d with probability n_d / n. Given Y >= 1, because
    only pairs that occur are tested; so a word that was said once of d is never significant.

    Examples
    --------
    >>> one = PairCounts(*(np.array(c) for c in ([0, 0, 1], [0, 1, 1], [9, 1, 9], [9, 2, 2])), documents=10)
    >>> exact_q(one).round(3).tolist()
    [0.009, 1.0, 0.01]
    """
    # imported here because it takes 0.6 s
    from scipy import stats as scipy_stats

    y = counts.tf
    of_word = np.bincount(counts.word, weights=y)[counts.word]
    share = np.bincount(counts.descriptor, weights=y)[counts.descriptor] / y.sum()
    at_least_one = -np.expm1(of_word * np.log1p(-np.minimum(share, 1 - 1e-12)))
    p = np.minimum(1.0, scipy_stats.binom.sf(y - 1, of_word, share) / at_least_one)
    found: Floats = scipy_stats.false_discovery_control(p)
    return found
