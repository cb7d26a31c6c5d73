"""The figures of votes, of offensiveness and of the visual rules: what they show, of whom, and with what."""

import json

import pytest
from django.urls import reverse

from annotation.models import IdentityGroup
from metrics.core.charts.figure import render_figure
from metrics.core.figure_sources import NothingToDraw
from metrics.dashboards.figures import draw_figure
from metrics.score_runs import services as score_runs
from metrics.votes.charts import Dot, Plot, _axis, dot_chart
from tests import factories
from tests.metrics.cast import visual_study
from tests.metrics.votes_cast import prevalence_study, rating_study, votes_study

pytestmark = pytest.mark.django_db
NAMES = ("thresholds", "pools", "offensiveness-regions", "offensive-groups", "visual-rules")
SAID = {
    ("Mexican", "poor"): {"inside": [1, 1, 0], "outside": [1, -1, 0]},
    ("Peruvian", "poor"): {"inside": [1, 1, 1], "outside": [1, 1, -1]},
}


def shown(study, name, **options):
    """{(row, pool, series): (value, k, n)}."""
    options = {key.rstrip("_"): value for key, value in options.items()}
    rows = draw_figure(study, name, options).rows
    return {row[:3]: (row[3], row[6], row[7]) for row in rows}


def data(figure):
    """The data of the specification, which a page can read."""
    found = figure.spec.get("data", {}).get("values")
    return found if found is not None else next(iter(figure.spec["datasets"].values()))


def test_thresholds_stand_by_region_and_pool():
    found = shown(votes_study(), "thresholds")
    assert found["Latin America", "in-region", "at least 1 of its annotators"] == (3, 3, 4)
    assert found["Latin America", "out-region", "at least 3 of its annotators"] == (1, 1, 4)
    assert found["South Asia", "in-region", "at least 2 of its annotators"] == (1, 1, 1)
    # nobody out of the region voted
    assert not [row for row in found if row[:2] == ("South Asia", "out-region")]


def test_a_regions_groups_lead_to_their_pages_and_shares_have_intervals():
    study = votes_study()
    figure = draw_figure(study, "pools", {"region": "Latin America", "show": "share"})
    assert {row[0] for row in figure.rows} == {"Mexican", "Peruvian"}
    mexican = IdentityGroup.objects.get(name="Mexican")
    points = [point for point in data(figure) if point["row"] == "Mexican"]
    assert {point["link"] for point in points} == {reverse("identity", args=[study.name, mexican.pk])}
    assert all(point["low"] <= point["value"] <= point["high"] and point["n"] == 3 for point in points)
    assert [point["counted"] for point in points] == ["2 of 3", "1 of 3", "1 of 3"]
    assert "lines: 95 % intervals, over associations only, not over the annotators who voted" in figure.notes
    assert "link" not in json.dumps(draw_figure(study, "pools").spec)


def test_whoever_reads_ratings_of_a_source_sees_that_its_annotators_were_not_drawn():
    figure = draw_figure(votes_study(), "offensiveness-regions", {"of": "all"})
    said = "lines: 95 % intervals, over attributes only, not over the annotators who rated"
    assert said in figure.notes
    assert said in figure.spec["title"]["subtitle"]


def test_pools_take_the_studys_threshold_or_the_one_that_is_asked_for():
    study = votes_study(stereotype_threshold=3)
    assert shown(study, "pools")["Latin America", "", "in-region"] == (1, 1, 4)
    assert shown(study, "pools", threshold="1")["Latin America", "", "both (overlap)"] == (2, 2, 4)


def test_the_largest_comes_first():
    study = votes_study()
    for name, options in (("offensiveness-regions", {"of": "all"}), ("thresholds", {})):
        rows = [row[0] for row in draw_figure(study, name, options).rows]
        assert list(dict.fromkeys(rows)) == ["Latin America", "South Asia"]


def test_offensiveness_is_of_stereotypes_unless_all_are_asked_for():
    study = votes_study()
    assert shown(study, "offensiveness-regions") == {("Latin America", "", ""): (3, None, 2)}
    assert shown(study, "offensiveness-regions", of="all")["Latin America", "", ""] == (
        pytest.approx(5 / 3),
        None,
        3,
    )
    notes = draw_figure(study, "offensiveness-regions").notes
    rule = "stereotypical: at least 2 stereotypical out-region votes in votes"
    assert rule in notes
    everything = draw_figure(study, "offensiveness-regions", {"of": "all"})
    assert rule not in everything.notes
    assert everything.title == "How offensive associations are"
    assert draw_figure(study, "offensiveness-regions").title == "How offensive stereotypes are"


def test_the_groups_with_most_offensive_stereotypes_are_those_with_enough_of_them():
    study = votes_study()
    assert list(shown(study, "offensive-groups", least="1")) == [
        ("Mexican", "", ""),
        ("Peruvian", "", ""),
        ("Atlantean", "", ""),
    ]
    few = draw_figure(study, "offensive-groups", {"least": "1", "top": "2"})
    assert len(few.rows) == 2
    assert "2 of 3 groups with at least 1 rated" in few.notes
    with pytest.raises(ValueError, match="nothing to draw in 'offensive-groups'"):
        draw_figure(study, "offensive-groups")


def test_answers_are_read_where_there_is_no_source_and_their_intervals_come_with_a_stored_run():
    study = prevalence_study(SAID)
    figure = draw_figure(study, "pools", {"show": "share"})
    assert shown(study, "pools")["Latin America", "", "both (overlap)"] == (1, 1, 2)
    assert all(point["low"] is None for point in data(figure))
    assert not figure.notes
    run = score_runs.request(study=study, metric="prevalence", variant="corrected", resamples=100)
    score_runs.compute(run_id=run.pk)
    figure = draw_figure(study, "pools", {"show": "share"})
    assert all(point["low"] <= point["value"] <= point["high"] for point in data(figure))


def test_a_study_can_draw_its_own_ratings_instead_of_the_sources():
    study = rating_study({"poor": [1, 1, 1]}, {})
    assert shown(study, "offensiveness-regions")["Latin America", "", ""][0] == 3
    assert shown(study, "offensiveness-regions", from_="answers")["Latin America", "", ""] == (1, None, 6)


def test_simulated_answers_are_named_and_the_sources_votes_are_not_called_so():
    study = prevalence_study(SAID, simulated=True, title="Trial")
    assert "Trial – simulated answers" in str(draw_figure(study, "pools").spec["title"])
    study = votes_study(simulated=True, title="Trial")
    assert "simulated" not in str(draw_figure(study, "pools").spec["title"])
    without = factories.study(name="without")
    with pytest.raises(NothingToDraw, match="'without' has no stereotype source, so no votes of one"):
        draw_figure(without, "pools", {"from": "source"})


def test_the_rule_that_is_used_is_marked_in_words():
    figure = draw_figure(visual_study({"hat": [5, 5, 4], "poor": [4, 4, 2]}), "visual-rules")
    assert [row[0] for row in figure.rows][:3] == [
        "all agree (used here)",
        "at least 3 agree",
        "at least 2 agree",
    ]
    assert (figure.rows[0][3], figure.rows[0][6:]) == (0.5, (1, 2))
    assert "n = 2 attributes" in str(figure.spec["title"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("pools", {"threshold": "4"}, "threshold=4: choose one of 1, 2, 3"),
        ("pools", {"region": "Latin Amerika"}, "Did you mean 'Latin America'"),
        ("thresholds", {"show": "all"}, "choose one of number, share"),
        ("thresholds", {"from": "votes"}, "choose one of either, source, answers"),
        ("offensive-groups", {"top": "0"}, "at least 1"),
        ("offensive-groups", {"least": "few"}, "at least 1"),
        ("visual-rules", {"top": "3"}, "no option 'top'"),
        ("thresholds", {"from": "answers"}, "has no votes to draw yet"),
        ("thresholds", {"region": "Australia"}, "nothing to draw"),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_what_can(name, options, message):
    with pytest.raises(ValueError, match=message):
        draw_figure(votes_study(), name, options)


@pytest.mark.parametrize("name", NAMES)
def test_a_study_of_nothing_has_no_figure(name):
    with pytest.raises(NothingToDraw):
        draw_figure(factories.study(), name)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(-0.6, 1.6, [-0.5, 0, 0.5, 1, 1.5]), (-1, 2.5, [-1, 0, 1, 2]), (0.2, 0.3, [0])],
)
def test_scores_have_a_tick_at_every_half_or_whole_point(low, high, ticks):
    domain, axis = _axis([Dot("a", "", high, 1, low=low, high=high)], "score", text=False)
    assert axis == {"values": ticks}
    assert domain[0] <= min(low, 0)
    assert (domain[0] == 0) is (low >= 0)
    assert domain[1] > high


@pytest.mark.parametrize("unit", ["number", "share", "score"])
@pytest.mark.parametrize("panels", [("",), ("in-region", "out-region")])
def test_every_shape_of_it_can_be_drawn_and_no_tick_lies_beyond_what_can_be(unit, panels):
    points = [
        Dot(row, series, value, 40, 20, value - 0.1, value + 0.1, panel=panel)
        for panel in panels
        for row, value in (("Europe", 0.9), ("South Asia", 0.2))
        for series in ("one", "two")
    ]
    plot = Plot("plot", "A plot", ("of a study",), "what it is", "Region", "n", unit)
    drawing = dot_chart(points, plot)
    assert render_figure(drawing, "svg").startswith(b"<svg")
    assert len(drawing.rows) == len(points)
    assert "Europe" in drawing.alt
    layers = drawing.spec.get("layer") or drawing.spec["spec"]["layer"]
    axes = [layer["encoding"]["x"]["axis"] for layer in layers if "axis" in layer["encoding"].get("x", {})]
    assert axes
    assert all(max(axis.get("values", [0])) <= 1 for axis in axes)
