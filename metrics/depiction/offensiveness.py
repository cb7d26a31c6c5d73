"""The offensiveness of one group's depiction with resamples or influences (PROTOCOL §7, §10)."""

import numpy as np
from numpy.typing import ArrayLike

from metrics.core.stats.checks import Bools, Floats, Ints
from metrics.core.stats.scales import Scale
from metrics.core.stats.spread import Spread
from metrics.depiction import stats, tendencies
from metrics.depiction.likelihood_influences import LikelihoodInfluences


def compute(
    k: Ints,
    n: Ints,
    stereotypical: Bools,
    ratings: ArrayLike,
    likelihoods: Floats | LikelihoodInfluences | None,
    selections: Floats | None,
) -> tuple[stats.Offensiveness, Spread, Scale]:
    """O(id), its resamples (B, 1), B = 0 if none were drawn, or influences, and its scale.

    From k, n and `stereotypical` (A,), `ratings` (S,) of the stereotypes, and the likelihoods and selections
    (B, A) of resamples or influences on the likelihoods, if any. Influences and scale are those of L(stereo)
    times the mean rating of the attributes marked as present, which is taken as given.
    """
    l_stereo = stats.tendency(k, n, stereotypical).l_stereo
    point = stats.offensiveness(l_stereo, k[stereotypical], ratings)
    rating = point.value / l_stereo if point.n else 0.0  # of something selected, so that l_stereo is above 0
    scale = Scale(min(rating, 0.0), max(rating, 0.0))
    if isinstance(likelihoods, LikelihoodInfluences):
        weights = tendencies.mean_weights(n, stereotypical)
        return point, likelihoods.of(rating * weights[:, None]), scale
    if likelihoods is None or selections is None:
        return point, np.empty((0, 1)), scale
    drawn = stats.mean_over(likelihoods, stereotypical)
    samples = stats.resampled_offensiveness(drawn, selections[:, stereotypical], ratings)
    return point, samples[:, None], scale
