"""The numbers of `benchmarks.score` by a straightforward program: pandas reads the rows, numpy resamples.

Every judgement is a row of one table. A resample draws images and responses of each group, weighs every row
and adds up. Nothing is collapsed, shared or cached; agreement is α of the study and of each group alone.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

ROWS = """
SELECT i.group_id, u.image_id, r.id AS response_id, COALESCE(o.attribute_id, 0) AS attribute_id, j.value
FROM annotation_judgement j
JOIN annotation_response r ON r.id = j.response_id
JOIN annotation_option o ON o.id = j.option_id
JOIN annotation_unit u ON u.id = r.unit_id
JOIN annotation_image i ON i.id = u.image_id
WHERE r."current" AND r.slot_id IS NOT NULL AND r.withdrawn_at IS NULL
"""
STEREOTYPES = """
SELECT group_id, attribute_id, offensiveness_mean FROM annotation_association a
JOIN annotation_study s ON s.stereotype_source_id = a.source_id
WHERE s.name = 'visage' AND a.out_stereotypical >= 2
"""


def read(database: str) -> pd.DataFrame:
    """All judgements; a million at a time, or pandas would hold every row as Python objects."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        pieces = pd.read_sql(ROWS, connection, chunksize=1_000_000)
        rows = pd.concat(pieces, ignore_index=True)
        rows = rows[rows.attribute_id > 0].reset_index(drop=True)
        known = pd.read_sql(STEREOTYPES, connection)
    return rows.merge(known.assign(stereo=True), how="left", on=["group_id", "attribute_id"])


def scores(
    rows: pd.DataFrame, cell: NDArray[Any], cells: pd.DataFrame, weights: NDArray[Any]
) -> pd.DataFrame:
    """l_stereo, l_random, theta and O of every group under one weighting of the rows."""
    k = np.bincount(cell, weights=weights * rows.value.to_numpy(), minlength=len(cells))
    n = np.bincount(cell, weights=weights, minlength=len(cells))
    with np.errstate(divide="ignore", invalid="ignore"):
        table = cells.assign(k=k, likelihood=k / n)
        means = table.groupby(["group_id", "stereo"]).likelihood.mean().unstack("stereo")
        found = pd.DataFrame({"l_stereo": means[True], "l_random": means[False]})
        found["theta"] = found.l_stereo / found.l_random
        present = table[table.stereo & (table.k > 0)]
        found["o"] = found.l_stereo * present.groupby("group_id").offensiveness_mean.mean()
    return found


def alpha(table: NDArray[Any], weights: NDArray[Any]) -> float:
    """Krippendorff's nominal α of (units, 2) counts, units weighing `weights`."""
    total = table.sum(axis=1)
    kept = total >= 2
    table, total, weights = table[kept], total[kept], weights[kept]
    scale = weights / (total - 1)
    apart = 2 * (scale * table[:, 0] * table[:, 1]).sum()
    marginal = (table * weights[:, None]).sum(axis=0)
    everything = marginal.sum()
    return float(1 - (everything - 1) * apart / (2 * marginal[0] * marginal[1]))


class Clock:
    """Wall-clock and processor seconds of the steps of a program."""

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, float]] = {}
        self._since = (time.perf_counter(), time.process_time())

    def step(self, name: str, times: int = 1) -> None:
        """All since the last step was `name`, done so many times."""
        now = (time.perf_counter(), time.process_time())
        taken = [(after - before) / times for before, after in zip(self._since, now, strict=True)]
        self.steps[name] = dict(zip(("seconds", "cpu"), taken, strict=True))
        self._since = now


def run(database: str, resamples: int) -> dict[str, dict[str, float]]:
    """Seconds of reading, of one resample of each kind, and of all that is done once."""
    rng, clock = np.random.default_rng(0), Clock()
    rows = read(database)
    clock.step("read")
    rows["stereo"] = rows.stereo.eq(True)
    cells = rows.groupby(["group_id", "attribute_id", "stereo"], as_index=False).offensiveness_mean.first()
    cell = rows.groupby(["group_id", "attribute_id", "stereo"]).ngroup().to_numpy()
    groups = []
    for _, part in rows.groupby("group_id"):
        image, images = pd.factorize(part.image_id)
        response, responses = pd.factorize(part.response_id)
        groups.append((part.index.to_numpy(), image, len(images), response, len(responses)))
    scores(rows, cell, cells, np.ones(len(rows)))
    clock.step("once")
    for _ in range(resamples):
        weights = np.empty(len(rows))
        for index, image, images, response, responses in groups:
            by_image = np.bincount(rng.integers(0, images, images), minlength=images)
            by_response = np.bincount(rng.integers(0, responses, responses), minlength=responses)
            weights[index] = by_image[image] * by_response[response]
        scores(rows, cell, cells, weights)
    clock.step("resample", resamples)
    units = rows.groupby(["group_id", "image_id", "attribute_id"]).value.agg(["sum", "count"])
    table = np.column_stack([units["count"] - units["sum"], units["sum"]]).astype(np.float64)
    image, images = pd.factorize(units.index.get_level_values("image_id"))
    of_group = [np.flatnonzero(part) for part in pd.get_dummies(units.index.get_level_values(0)).to_numpy().T]
    clock.step("agreement once")
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(resamples):
            weights = np.bincount(rng.integers(0, len(images), len(images)), minlength=len(images))[image]
            alpha(table, weights)
            for part in of_group:
                alpha(table[part], weights[part])
    clock.step("agreement resample", resamples)
    return clock.steps


__all__ = ["run"]
