"""What benchmarks of coverage measure, and small editions of those of ranks and of the sensitivity line."""

import json
import sys

import numpy as np
import pytest

from benchmarks import coverage_ranks, coverage_sensitivity, coverage_tables
from benchmarks.coverage_tables import Estimate, as_tables, summaries
from benchmarks.simulated import Design, truth
from metrics.core.stats.percentiles import Interval
from metrics.planning.simulation import STEREO, expit


def test_widths_of_ratios_are_those_of_logarithms_and_groups_have_an_oracle_each():
    studies = [
        {
            "theta": [
                Estimate(value, Interval(value / 2, 2 * value)),
                Estimate(9 * value, Interval(1, np.inf)),
            ],
            "of one study": [Estimate(value, Interval(value - 1, value + 1), true=value + 0.5)],
        }
        for value in (1.0, np.e)
    ]
    found = summaries({"theta": [1.2, 10.0], "of one study": 0.0}, studies, logarithmic=["theta"])
    assert found["theta"]["coverage"] == 0.75
    # of the second there is no width
    assert found["theta"]["width"] == pytest.approx(2 * np.log(2) / (2 * 1.96 * np.sqrt(0.5)), rel=1e-4)
    assert found["of one study"] == {"coverage": 1.0, "none": 0.0}


def test_a_run_keeps_what_it_was_not_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(coverage_tables, "RESULTS", tmp_path)
    before = {"bootstrap": {"one": {"scores": {"alpha": {"coverage": 0.9, "none": 0.0}}}}}
    (tmp_path / "found.json").write_text(json.dumps(before))
    monkeypatch.setattr(sys, "argv", ["bench", "--studies", "3", "--designs", "one"])
    asked = []

    def measured(design, **size):
        asked.append((design, size))
        return {"alpha": {"coverage": 2 / 3, "none": 0.0, "found": 0.04, "power": 0.5}}

    coverage_tables.run("About.", measured, over={"one": 1, "two": 2}, results="found.json")
    assert asked == [(1, {"studies": 3, "seed": 1, "resamples": 0, "method": "clustered"})]
    kept = json.loads((tmp_path / "found.json").read_text())
    assert kept["bootstrap"] == before["bootstrap"]
    told = capsys.readouterr().out
    assert told.strip() == as_tables(kept)
    assert "| one | 66.7 (90.0) |" in told
    assert "| one | 4.0 / 50.0 |" in told
    assert "without" not in told


def test_equal_groups_are_rarely_told_apart_and_places_hold_the_true_ones():
    """Of 60 studies 5 % and three standard errors are 13 %."""
    found = coverage_ranks.measured(coverage_ranks.Groups(5, Design(images=20)), studies=60)
    assert found["all equal"]["found"] < 0.14
    assert min(row["coverage"] for row in found.values()) > 0.86
    assert found["apart"]["found"] == 1
    assert found["apart"]["places"] < 3.5 < 4.8 < found["all equal"]["places"]


def test_intervals_widened_by_the_true_deviation_hold_the_truth():
    design = coverage_sensitivity.DESIGNS["60 images, 12 people who differ much"]
    found = coverage_sensitivity.measured(design, studies=100)
    assert found["l_stereo"]["coverage"] < 0.7
    assert found["l_stereo, widened"]["coverage"] > 0.88
    assert found["l_stereo, widened"]["width"] == pytest.approx(1, abs=0.25)


def test_the_true_deviation_is_that_of_many_people():
    design = Design(of_people=1.0)
    rng = np.random.default_rng(2)
    images = rng.normal(size=4000)
    people = rng.normal(size=1500)
    logit = design.logits[STEREO, None, None] + images[:, None] + people
    each = np.mean([expit(one).mean(axis=0) for one in logit], axis=0)
    p = truth(design)["l_stereo"]
    assert each.std() / (p * (1 - p)) == pytest.approx(coverage_sensitivity.deviation(design), rel=0.06)
