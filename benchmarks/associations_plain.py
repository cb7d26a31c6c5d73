"""The numbers of `benchmarks.associations` by a straightforward program: pandas reads the rows and counts
them, as the authors' scripts do, and resamples descriptors by joining their rows."""

from __future__ import annotations

import re
import sqlite3
import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control, norm

ROWS = """
SELECT r.name AS setting, g.name AS descriptor, j."key" AS key, j.number AS run, a.text
FROM generation_answer a
JOIN generation_job j ON j.id = a.job_id
JOIN generation_run r ON r.id = a.run_id
JOIN annotation_identitygroup g ON g.id = j.group_id
"""


def word(text: str) -> str:
    found = re.search(r"\[(.*?)\]", text)
    return (found.group(1) if found else text).lower().replace(" ", "")


def pairs(rows: pd.DataFrame, n: float) -> pd.DataFrame:
    """tf, df and tf x idf of the distinct pairs."""
    documents = rows["document"].nunique()
    found = rows.groupby(["descriptor", "word"]).size().reset_index(name="tf")
    df = rows.groupby("word")["document"].nunique().rename("df")
    found = found.merge(df, on="word")
    return found.assign(score=found.tf * np.log(n * documents / found.df))


def published(rows: pd.DataFrame) -> pd.DataFrame:
    found = pairs(rows, 26)
    found["p"] = norm.sf(found.score, loc=found.score.mean(), scale=found.score.std())
    return found.assign(significant=found.p < 0.05)


def corrected(rows: pd.DataFrame) -> pd.DataFrame:
    valid = [
        text.isalpha() and text[0] == letter for text, letter in zip(rows.word, rows.letter, strict=True)
    ]
    found = pairs(rows[valid], 1)
    of_word = found.groupby("word").tf.transform("sum")
    of_descriptor = found.groupby("descriptor").tf.transform("sum")
    total = found.tf.sum()
    prior = 500 * of_word / total
    here, there = found.tf + prior, of_word - found.tf + prior
    delta = np.log(here / (of_descriptor + 500 - here))
    delta -= np.log(there / (total - of_descriptor + 500 - there))
    found["z"] = delta / np.sqrt(1 / here + 1 / there)
    found["q"] = false_discovery_control(norm.sf(found.z))
    return found.assign(significant=found.q < 0.05)


def resampled(found: pd.DataFrame, random: np.random.Generator) -> float:
    names = found.descriptor.unique()
    drawn = pd.DataFrame({"descriptor": random.choice(names, len(names))})
    return float(drawn.merge(found, on="descriptor").significant.mean())


def run(database: str, resamples: int) -> dict[str, Any]:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        rows = pd.read_sql(ROWS, connection)
    rows["word"] = rows.text.apply(word)
    parts = rows.key.str.split("/", expand=True)
    rows["letter"] = parts[2]
    rows["document"] = parts[1] + "-" + rows.run.astype(str)
    random = np.random.default_rng(0)
    found: dict[str, Any] = {"pairs": 0, "significant": 0}
    seconds = cpu = 0.0
    for _, of_setting in rows.groupby("setting"):
        for one in (published(of_setting), corrected(of_setting)):
            found["pairs"] += len(one)
            found["significant"] += int(one.significant.sum())
            began, used = time.perf_counter(), time.process_time()
            for _ in range(resamples):
                resampled(one, random)
            seconds += time.perf_counter() - began
            cpu += time.process_time() - used
    return {
        **found,
        "resamples": resamples,
        "resamples_cpu": round(cpu, 2),
        "resample_seconds": seconds / resamples,
        "resample_cpu": cpu / resamples,
    }
