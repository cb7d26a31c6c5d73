"""Candidates in a million answers of a language model (PROTOCOL §14), against a plain pandas program.

    python -m benchmarks.candidates [--answers 1000000] [--groups 178]

Answers of made-up (identity, attribute) tuples, as models write them: numbered, with quotation marks, some in
the other order, some of three elements, some of no group, with plurals and forms in -ing. Both programs read
the same list of texts in one process, one after the other: extraction, duplicates, salience, selection. The
plain one does what a script would: `str.findall`, `explode`, `str.split`, `groupby`. Both must find the same
counts. Times are processor time, the best of three.

Written to benchmarks/results/candidates.json.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from metrics.candidates import duplicates
from metrics.candidates.extraction import Extraction
from metrics.candidates.identity_forms import Group, IdentityForms
from metrics.candidates.selection import select

RESULT = Path(__file__).resolve().parent / "results" / "candidates.json"
REGIONS = ("Africa", "Asia", "Europe", "Latin America", "Middle East", "North America", "Oceania")
REPEATS = 3
Counts = dict[int, dict[str, int]]


def made_groups(number: int) -> list[Group]:
    names = [f"{first}{last}" for first in _syllables(number) for last in ("ian", "ese")][:number]
    return [
        Group(pk, "nationality", name.title(), "", f"{name[:-3].title()}land", REGIONS[pk % len(REGIONS)])
        for pk, name in enumerate(names, start=1)
    ]


def _syllables(number: int) -> list[str]:
    return [a + b + c for a in "bdgklm" for b in "aeiou" for c in "nrst"][:number]


def made_attributes() -> list[str]:
    stems = [first + last for first in _syllables(120) for last in ("", "ly", "er", "al")]
    return [form for stem in stems for form in (stem, f"{stem}s", f"{stem}ing", f"very {stem}")]


def made_answers(number: int, groups: list[Group]) -> list[str]:
    dice = random.Random(0)
    attributes = made_attributes()
    weights = [1 / rank for rank in range(1, len(attributes) + 1)]
    drawn = dice.choices(attributes, weights, k=3 * number)
    answers = []
    for place in range(0, 3 * number, 3):
        tuples = []
        for one in drawn[place : place + 3]:
            name, kind = dice.choice(groups).name, dice.random()
            if kind < 0.7:
                tuples.append(f"({name}, {one})")
            elif kind < 0.8:
                tuples.append(f"({one}, {name})")
            elif kind < 0.9:
                tuples.append(f'("{name}", "{one}!")')
            elif kind < 0.95:
                tuples.append(f"({name}, {one}, {one})")
            else:
                tuples.append(f"(somebody, {one})")
        answers.append(f"1. {tuples[0]}\n2. {tuples[1]}\n3. {tuples[2]}")
    return answers


def program(answers: list[str], groups: list[Group]) -> tuple[Counts, int]:
    reading = Extraction(IdentityForms(groups))
    reading.add(answers)
    counts = reading.result().counts
    chosen = select(counts, {group.pk: group for group in groups})
    return {group: dict(of_group) for group, of_group in counts.items()}, len(chosen)


def plain(answers: list[str], groups: list[Group]) -> tuple[Counts, int]:
    """As a script of pandas; plurals and -ing by the program's own function."""
    find = IdentityForms(groups).find
    tuples: Any = pd.Series(answers).str.findall(r"\(([^()]*)\)").explode().dropna()
    parts = tuples.str.split(",")
    parts = parts[parts.str.len() == 2]
    frame = pd.DataFrame(parts.tolist(), columns=["first", "second"])
    for column in frame:
        cleaned = frame[column].str.replace(r"[^\w\s-]|[\d_]", "", regex=True)
        frame[column] = cleaned.str.split().str.join(" ").str.strip("- ").str.lower()
    frame = frame[(frame["first"] != "") & (frame["second"] != "")]
    one, other = frame["first"].map(find), frame["second"].map(find)
    frame = frame.assign(
        group=one.fillna(other), attribute=frame["second"].where(one.notna(), frame["first"])
    )
    frame = frame[one.notna() ^ other.notna()]
    found: Any = frame.groupby(["group", "attribute"]).size()
    merged = {
        int(group): duplicates.merge(of_group.droplevel(0).to_dict()).counts
        for group, of_group in found.groupby(level=0)
    }
    table = pd.DataFrame(
        [(group, name, times) for group, names in merged.items() for name, times in names.items()],
        columns=["group", "attribute", "given"],
    )
    table["region"] = table["group"].map({group.pk: group.region for group in groups})
    distinct, regions = table["attribute"].nunique(), table["region"].nunique()
    tf = (table["given"] + 1) / (table.groupby("group")["given"].transform("sum") + distinct)
    having = table.groupby("attribute")["region"].transform("nunique")
    table["salience"] = tf * (((1 + regions) / (1 + having)).map(math.log) + 1)
    table.sort_values(["region", "group", "salience"], ascending=[True, True, False])
    return merged, len(table)


def seconds(function: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    best, result = math.inf, None
    for _ in range(REPEATS):
        began = time.process_time()
        result = function(*given)
        best = min(best, time.process_time() - began)
    return best, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--answers", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=178)
    given = parser.parse_args()
    groups = made_groups(given.groups)
    answers = made_answers(given.answers, groups)
    ours, found = seconds(program, answers, groups)
    theirs, expected = seconds(plain, answers, groups)
    if found != expected:
        raise SystemExit("THE TWO PROGRAMS FOUND DIFFERENT CANDIDATES")
    result = {
        "answers": given.answers,
        "candidates": found[1],
        "program_seconds": round(ours, 2),
        "pandas_seconds": round(theirs, 2),
        "ratio": round(theirs / ours, 1),
    }
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
