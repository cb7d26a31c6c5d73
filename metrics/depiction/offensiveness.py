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
    (B, A) of resamples or influences on the likelihoods, if any. Influences are those on L(stereo) times the
    mean rating of the attributes marked as present, and on that mean, as in `_of_marked`. The scale ends at 0
    and at that mean; where one image or annotator can change it, at the least and the greatest rating.
    """
    l_stereo = stats.tendency(k, n, stereotypical).l_stereo
    point = stats.offensiveness(l_stereo, k[stereotypical], ratings)
    rating = point.value / l_stereo if point.n else 0.0  # of something selected, so that l_stereo is above 0
    scale = Scale(min(rating, 0.0), max(rating, 0.0))
    if isinstance(likelihoods, LikelihoodInfluences):
        weights = tendencies.mean_weights(n, stereotypical)
        marked = np.zeros(len(likelihoods.answers))
        if point.n:
            marked = l_stereo * _of_marked(likelihoods.only(stereotypical), k[stereotypical], ratings)
        if marked.any():
            scale = Scale(min(float(np.nanmin(ratings)), 0.0), max(float(np.nanmax(ratings)), 0.0))
        return point, likelihoods.of(rating * weights[:, None], beside=marked[:, None]), scale
    if likelihoods is None or selections is None:
        return point, np.empty((0, 1)), scale
    drawn = stats.mean_over(likelihoods, stereotypical)
    samples = stats.resampled_offensiveness(drawn, selections[:, stereotypical], ratings)
    return point, samples[:, None], scale


def _of_marked(likelihoods: LikelihoodInfluences, k: Ints, ratings: ArrayLike) -> Floats:
    r"""The influence (R,) of each response on the mean rating of the n attributes that are marked as present
    and rated, through which of them are.

    An attribute that one image or one annotator alone brings in is lost without them, as in the jackknife:
    the responses that mark it share what it changes, :math:`(x - \bar x) / (n - 1)`, with x its rating. A
    single attribute is compared with the mean of all that are rated. `k` and `ratings` (S,) of the
    stereotypes.
    """
    rated = np.asarray(ratings, dtype=np.float64)
    used = np.flatnonzero((k > 0) & ~np.isnan(rated))
    found = np.zeros(len(likelihoods.answers))
    mean = rated[used].mean() if len(used) > 1 else np.nanmean(rated)
    for place in used.tolist():
        rows, left = likelihoods.without_cluster_of(place)
        if len(rows):
            # `influences` divides by what is left, as for means of answers
            found[rows] += left * (rated[place] - mean) / max(len(used) - 1, 1) / len(rows)
    return np.asarray(found - found.mean())
