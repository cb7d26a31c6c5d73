"""Which runs, totals and results a report shows, from what too few people answered about. No database."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from annotation.models import Study
from metrics.core.figure_sources import NothingToDraw
from metrics.dashboards.queries.levels import Levels
from metrics.dashboards.queries.results import Offensiveness, Results
from metrics.models import ScoreRun
from metrics.report import figures, services
from metrics.report.figures import _why_not as why_not_drawn
from metrics.report.queries import runs
from metrics.report.queries.few import Few
from metrics.report.queries.people import Answers
from metrics.report.queries.runs import LeftOut, Runs, StoredRun
from metrics.report.refused import ReportRefused
from metrics.report.results import shown_results
from metrics.report.services import check_runs
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


def test_of_runs_that_ended_together_the_later_one_is_the_newest():
    at = datetime(2026, 1, 1, tzinfo=UTC)
    shown = [StoredRun(ScoreRun(pk=pk, finished_at=at), registry.get("pull")) for pk in (1, 3, 2)]
    assert Runs(tuple(shown), ()).newest.pk == 3


def test_a_run_is_called_by_its_metric_and_by_its_variant_if_that_is_the_published_one():
    run = StoredRun(ScoreRun(variant="published"), registry.get("tendency"))
    assert (run.slug, stored("tendency").slug) == ("tendency-published", "tendency")


@pytest.mark.parametrize(
    ("reasons", "reason", "message"),
    [
        ([], "no scores", "Study 'small' has no stored scores yet"),
        (["few"], "few", "Fewer than three people have answered in study 'small'"),
        (["few", "outdated"], "outdated", "The stored scores of study 'small' are not those"),
    ],
)
def test_why_there_is_no_report_is_said_with_the_study(reasons, reason, message):
    left_out = tuple(LeftOut(registry.get("pull"), each) for each in reasons)
    with pytest.raises(ReportRefused, match=message) as refused:
        check_runs(Study(name="small"), Runs((), left_out))
    assert refused.value.reason == reason
    check_runs(Study(name="small"), Runs((stored("pull"),), left_out))


def test_scores_that_cannot_be_computed_are_not_requested(monkeypatch):
    def request(*, metric: str, **wanted: object) -> str:
        if metric == "pull":
            raise ValueError("there is no embedding")
        return f"run of {metric}"

    wanted = [(metric, "corrected", {}) for metric in ("pull", "tendency")]
    monkeypatch.setattr(services, "wanted_scores", lambda study: wanted)
    monkeypatch.setattr(services.score_runs, "request", request)
    assert services.request_scores(STUDY) == ["run of tendency"]


def test_a_program_without_its_style_says_so(monkeypatch):
    monkeypatch.setattr("django.contrib.staticfiles.finders.find", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"lacks its file metrics/report\.css"):
        services._style()


def drawn_with(monkeypatch, *, has: set[str], shown: set[str]) -> tuple[list[str], list[str]]:
    """The files that are drawn, and the reasons of figures that are not, of a study that can have some scores
    and shows some."""

    def draw(study, name, options):
        if name == "pools":
            raise NothingToDraw("there are none")
        return name

    monkeypatch.setattr(figures, "applies", lambda study, name: name in has)
    monkeypatch.setattr(figures, "draw_figure", draw)
    found = [stored(name) for name in sorted(shown)]
    for one in found:
        vars(one)["n_left_out"] = 0
    drawn, not_drawn = figures.draw_figures(STUDY, Runs(tuple(found), ()))
    return [one.file.removeprefix("figures/") for one in drawn], [one.reason for one in not_drawn]


def test_a_figure_draws_the_first_scores_that_the_study_can_have(monkeypatch):
    own = {"prevalence", "rated_offensiveness", "likelihood"}
    votes = {"stereotypes", "attribute_offensiveness"}
    of_own = ["thresholds.svg", "offensiveness-regions.svg", "offensive-groups.svg"]
    alone = ["map-stereotypes.svg", "top-attributes.svg"]
    found = drawn_with(monkeypatch, has={*own, "tendency"}, shown=own)
    assert found == ([*alone, *of_own], ["outdated"]), "the map of what is likely needs the tendency"
    assert drawn_with(monkeypatch, has=own | votes, shown=own) == (["map-likely.svg", *alone], [])
    assert drawn_with(monkeypatch, has=own | votes, shown=votes) == (of_own, [])


@pytest.mark.parametrize(
    ("metric", "needed_by"),
    [
        ("likelihood", {"map-likely", "map-stereotypes", "top-attributes"}),
        ("visual_nature", {"map-likely", "map-stereotypes"}),
        ("tendency", {"map-likely"}),
        ("salience", {"top-attributes"}),
        ("offensiveness", {"map-offensiveness"}),
        ("consensus", {"consensus"}),
        ("visual_rules", {"visual-rules"}),
        ("pull", {"pull"}),
        ("salience_seegull", {"salient", "salience-regions"}),
    ],
)
def test_a_figure_is_not_drawn_without_each_of_its_scores(metric, needed_by, monkeypatch):
    has = {name for wanted in figures.WANTED for needs in wanted.needs for name in needs}
    whole, _ = drawn_with(monkeypatch, has=has, shown=has)
    less, _ = drawn_with(monkeypatch, has=has, shown=has - {metric})
    assert len(whole) == len(figures.WANTED) - 1, "all but that of pools"
    assert set(whole) - set(less) == {f"{name}.svg" for name in needed_by}


def test_a_figure_is_left_out_if_scores_are_missing_or_some_are_of_few(monkeypatch):
    whole, part = stored("pull"), stored("pull")
    for one, n_left_out in ((whole, 0), (part, 1)):
        vars(one)["n_left_out"] = n_left_out
    assert [why_not_drawn(each) for each in ([whole], [whole, None], [part, whole], [part, None])] == [
        *("", "outdated", "few", "outdated")
    ]
