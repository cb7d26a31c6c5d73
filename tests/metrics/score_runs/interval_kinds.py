"""Metrics with both kinds of intervals, and with one, for tests of the method of intervals."""

from dataclasses import replace

from metrics.score_runs import registry
from metrics.score_runs import services as score_runs
from metrics.score_runs.rows import ScoreRow

WANTED = {"metric": "tendency", "variant": "corrected"}
METRICS = ("tendency", "likelihood")
DRAWN = 100


def scores(inputs):
    """A score as a metric gives it: with a clustered interval there are no resamples to count."""
    counts = {"infinite": 0, "undefined": 0} if inputs.resamples else {}
    bounds = {"low": 0.1, "high": 0.9} if inputs.with_intervals else {}
    return [
        ScoreRow("l_stereo", 0.5, 2, **bounds, **counts),
        # from a single image
        ScoreRow("l_random", 0.5, 2),
        ScoreRow("theta", 1.0, 2),
    ]


def replaced(monkeypatch, name, **changes):
    monkeypatch.setitem(registry._registered, name, replace(registry.get(name), **changes))


def both_kinds(monkeypatch, settings):
    """A metric with both kinds of intervals, and one with bootstrap intervals only."""
    settings.BOOTSTRAP_RESAMPLES = DRAWN
    replaced(monkeypatch, "tendency", clustering="images and annotators", compute=scores)
    replaced(monkeypatch, "likelihood", clustering="", compute=scores)


def computed(study, **asked):
    return score_runs.compute(run_id=score_runs.request(study=study, **WANTED | asked).pk)
