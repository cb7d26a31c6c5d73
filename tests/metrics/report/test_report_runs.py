"""Which runs, totals and results a report shows, from what too few people answered about. No database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from annotation.models import Study
from metrics.dashboards.queries.levels import Levels
from metrics.dashboards.queries.results import Offensiveness, Results
from metrics.models import ScoreRun
from metrics.report.figures import _why_not as why_not_drawn
from metrics.report.queries import runs
from metrics.report.queries.few import Few
from metrics.report.queries.people import Answers
from metrics.report.queries.runs import LeftOut, Runs, StoredRun
from metrics.report.results import shown_results
from metrics.score_runs import registry

STUDY = Study()
HIDES = Few(frozenset({2}))
SHOWN = (
    *("tendency", "consensus", "visual_rules", "prevalence", "rated_offensiveness", "offensiveness"),
    *("agreement", "pull", "bias_levels"),
)


def stored(metric: str, **fields) -> StoredRun:
    return StoredRun(ScoreRun(variant="corrected"), registry.get(metric), **fields)


def row(**fields) -> SimpleNamespace:
    return SimpleNamespace(**fields)


def results() -> Results:
    groups = tuple(row(group=row(pk=pk)) for pk in (1, 2))
    pairs = ((3, 1, 4), (2, 1, 4), (9, 1, 5))
    return Results(
        study=STUDY,
        metrics=(),
        simulated=False,
        ranking=groups,
        consensus=("most",),
        rules=("rule",),
        rated=3,
        prevalence=tuple(row(pool=pool) for pool in ("in-region", "out-region")),
        offensiveness=Offensiveness("mean", "of stereotypes", groups, groups),
        agreement=tuple(row(part=f"task: {kind}; reading: nominal") for kind in ("depiction", "association")),
        pull="pull",
        levels=Levels(None, (), tuple(row(n=n, group_id=g, attribute_id=a) for n, g, a in pairs), 3, 0),
        runs={},
        missing=(),
    )


def test_nothing_is_shown_of_runs_that_are_left_out():
    found = shown_results(results(), Runs((), ()))
    assert (found.ranking, found.consensus, found.rules, found.prevalence, found.agreement) == ((),) * 5
    assert (found.pull, found.levels) == (None, None)
    assert found.offensiveness == Offensiveness(None, None, (), ())


def test_all_but_pairs_of_few_answers_is_shown_of_runs_that_hide_nothing():
    found = shown_results(results(), Runs(tuple(map(stored, SHOWN)), ()))
    assert found == replace(results(), levels=found.levels)
    assert [pair.n for pair in found.levels.pairs] == [3, 9]
    without = replace(results(), levels=None, offensiveness=None)
    assert shown_results(without, Runs(tuple(map(stored, SHOWN)), ())) == without


def test_totals_that_hold_a_hidden_group_are_not_shown():
    found = shown_results(results(), Runs(tuple(stored(name, few=HIDES) for name in SHOWN), ()))
    assert (found.consensus, found.rules, found.prevalence, found.agreement) == ((),) * 4
    assert found.levels is None
    assert [one.group.pk for one in found.ranking] == [1]
    rated = found.offensiveness
    assert (rated.mean_attribute, rated.mean_stereotypes) == (None, None)
    assert [one.group.pk for one in (*rated.rated_groups, *rated.depicted_groups)] == [1, 1]


def test_a_hidden_attribute_or_part_hides_what_is_of_it():
    few = Few(attributes={1: frozenset({5})})
    shown = (
        stored("bias_levels", few=few),
        stored("prevalence", few_parts=(("pool: out-region", HIDES), ("pool: in-region", few))),
        stored("agreement", few_tasks=frozenset({"depiction"})),
    )
    found = shown_results(results(), Runs(shown, ()))
    assert [pair.attribute_id for pair in found.levels.pairs] == [4]
    assert [one.pool for one in found.prevalence] == ["in-region"]
    assert [one.part for one in found.agreement] == ["task: association; reading: nominal"]
    assert [one.lacks_totals for one in shown] == [False, True, False]
    assert stored("bias_levels", few=HIDES).lacks_totals


@pytest.mark.parametrize(
    ("metric", "reads"),
    [("tendency", True), ("agreement", True), ("caption_agreement", True), ("pull", False)],
)
def test_only_runs_that_read_answers_are_left_out_for_the_people(metric, reads):
    few, enough = Answers(9, 2, 0), Answers(9, 3, 0)
    assert stored(metric).reads_answers == reads
    alone = runs._why_not(stored(metric), {"depiction": few})
    assert alone == ("few" if reads else "")
    assert runs._why_not(stored(metric), {}) == ""
    assert runs._why_not(stored(metric), {"depiction": enough, "association": few}) == ""


def test_the_newest_run_is_the_one_that_ended_last_and_the_outdated_are_counted_alone():
    ended = [datetime(2026, 1, day, tzinfo=UTC) for day in (2, 1)]
    shown = [
        StoredRun(ScoreRun(pk=pk, finished_at=at), registry.get("pull"))
        for pk, at in enumerate(ended, start=1)
    ]
    left_out = tuple(LeftOut(registry.get("pull"), reason) for reason in ("few", "outdated"))
    found = Runs(tuple(shown), left_out)
    assert (found.newest.pk, found.outdated) == (1, left_out[1:])


def test_a_figure_is_left_out_if_scores_are_missing_or_some_are_of_few(monkeypatch):
    whole, part = stored("pull"), stored("pull")
    for one, n_left_out in ((whole, 0), (part, 1)):
        vars(one)["n_left_out"] = n_left_out
    assert [why_not_drawn(each) for each in ([whole], [whole, None], [part, whole], [part, None])] == [
        *("", "outdated", "few", "outdated")
    ]
