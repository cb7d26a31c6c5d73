"""Agreement across two groups of annotators, from the cells of `rated_pairs.between` (PROTOCOL §10)."""

from collections.abc import Sequence

import numpy as np

from metrics.agreement.stats import coincidences
from metrics.agreement.stats.cell_influences import LEAST, Side, coefficient_step
from metrics.agreement.stats.coincidences import Level, ratio
from metrics.agreement.stats.rated_pairs import Cells
from metrics.core.stats.checks import Floats


def share_and_kappa(sums: Floats, values: Sequence[float], *, level: Level) -> Floats:
    """The share of agreeing pairs and the cross-replication reliability (`coincidences.cross_kappa`),
    (..., 2), of sums (..., V·V + 2 V).

    Examples
    --------
    >>> share_and_kappa(np.array([1.0, 0, 0, 1, 1, 1, 1, 1]), [0, 1], level="nominal").tolist()
    [1.0, 1.0]
    """
    square, x, y = _parts(sums, len(values))
    share = ratio(np.trace(square, axis1=-2, axis2=-1), square.sum(axis=(-2, -1)))
    return np.stack([share, coincidences.cross_kappa(square, x, y, values, level=level)], axis=-1)


def scope(cells: Cells, values: Sequence[float], *, level: Level) -> tuple[Floats, Floats, Floats]:
    """`mass`, `step` and `least` of both, as `cell_influences` takes them."""
    v = len(values)
    _, x, y = _parts(cells.total, v)
    step = np.array([1 / max(min(x.sum(), y.sum()), 1.0), coefficient_step(x, y, values, level=level)])
    return cells.sums[:, : v * v].sum(axis=1), step, step * np.array([1, LEAST])


def side_of(cells: Cells, values: Sequence[float], *, level: Level) -> Side:
    """Both, with what their influences need."""
    return Side(
        cells,
        lambda sums: share_and_kappa(sums, values, level=level),
        *scope(cells, values, level=level),
    )


def _parts(sums: Floats, v: int) -> tuple[Floats, Floats, Floats]:
    """Pairs (..., V, V), and the ratings of either group, (..., V) each."""
    square = sums[..., : v * v].reshape(*sums.shape[:-1], v, v)
    return square, sums[..., v * v : v * v + v], sums[..., v * v + v :]
