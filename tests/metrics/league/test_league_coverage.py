"""Leagues of simulated models and studies: equal ones are seldom told apart, and places hold. Small editions
of benchmarks/coverage_league.py and coverage_league_answers.py."""

import pytest

from benchmarks import coverage_league, coverage_league_answers
from benchmarks.coverage_league import Models
from benchmarks.coverage_league_answers import Studies
from benchmarks.simulated import Design

LEAGUES = 60


@pytest.mark.parametrize(
    "models",
    [Models(3, Design(images=8)), Models(3, Design(images=8), same_people=False)],
    ids=["same", "others"],
)
def test_equal_models_are_seldom_told_apart_and_others_are(models):
    found = coverage_league.measured(models, studies=LEAGUES, seed=1)
    for score in coverage_league.SCORES:
        # 5 % and three standard errors of 60 leagues
        assert found[f"{score}, all equal"]["found"] <= 0.134
        assert found[f"{score}, all equal"]["coverage"] >= 0.866
        assert found[f"{score}, apart"]["coverage"] >= 0.866
    assert found["l_stereo, apart"]["found"] == 1.0
    assert found["l_stereo, apart"]["places"] < found["l_stereo, all equal"]["places"] - 1


def test_equal_studies_are_seldom_told_apart_and_others_are():
    design = Studies(3, items=8, same_people=False)
    found = coverage_league_answers.measured(design, studies=25, seed=1)
    for score in ("share", "mean rating", "mean over attributes"):
        # 5 % and three standard errors of 25 leagues
        assert found[f"{score}, all equal"]["found"] <= 0.18
        assert found[f"{score}, all equal"]["coverage"] >= 0.82
        assert found[f"{score}, apart"]["coverage"] >= 0.82
    assert found["one attribute, all equal"]["found"] <= 0.18
    assert found["mean rating, apart"]["found"] > 0.5
