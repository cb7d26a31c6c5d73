"""Scores as points with intervals in cells."""

import math

from django.template.loader import render_to_string

from metrics.core.marks import Axis, axis_of, scaled_axis
from metrics.models import Score
from metrics.templatetags.scores import axes, axis, mark, scale

RATIO = Axis(0.25, 4.0, log=True, reference=1.0)


def test_places_are_in_proportion_on_the_logarithmic_axis() -> None:
    assert [RATIO.place(value) for value in (0.25, 1, 4, math.inf, 0)] == [0, 0.5, 1, 1, 0]
    assert [RATIO.is_outside(value) for value in (0.2, 0.25, 4, 4.1)] == [True, False, False, True]


def test_an_axis_holds_every_finite_number_and_its_reference() -> None:
    axis = axis_of([(0.0, None, None), (3.0, 2.0, math.inf)], log=True, reference=1.0)
    assert axis == Axis(1.0, 3.0, log=True, reference=1.0)
    assert axis_of([(None, None, None), (math.inf, None, None)]) is None
    assert axis_of([(2.0, 2.0, 2.0)]) == Axis(1.5, 2.5)


def test_a_ratio_far_away_leaves_room_for_the_others() -> None:
    axis = axis_of([(0.2, 1e-9, 5e6), (2.0, 1.0, 4.0)], log=True, reference=1.0)
    assert axis == Axis(0.001, 1000.0, log=True, reference=1.0)


def test_a_score_is_drawn_at_its_place_and_infinity_as_an_arrow() -> None:
    drawn = mark(Score(value=1.0, low=0.25, high=4.0), RATIO)
    assert 'cx="64"' in drawn
    assert 'class="mark-interval" x1="6" y1="8" x2="122"' in drawn
    assert "<circle" not in mark(Score(value=math.inf), RATIO)
    assert mark(Score(value=math.nan), RATIO) == mark(None, RATIO) == ""


def test_both_ends_are_round_numbers_at_or_outside_the_numbers() -> None:
    for numbers in [(0.13, 0.042, 0.318), (-3.7, -12.2, 8.1), (1234.0, 1000.5, 1999.0), (0.3, 0.1, 0.7)]:
        axis = axis_of([numbers])
        assert axis is not None
        assert axis.low <= min(numbers) < max(numbers) <= axis.high
        assert axis.high - axis.low <= 1.2 * (max(numbers) - min(numbers))
        assert all(float(f"{end:.3g}") == end for end in (axis.low, axis.high))


def test_ends_of_a_kind_of_score_are_there_whatever_the_numbers_are() -> None:
    shares = scaled_axis("share", [(0.2, 0.1, 0.3)])
    agreement = scaled_axis("agreement", [(0.4, -0.2, 0.6)])
    assert shares == Axis(0.0, 0.3)
    assert agreement is not None
    assert (agreement.low <= -0.2, agreement.high, agreement.reference) == (True, 1.0, 0.0)
    assert scaled_axis("share", []) is None
    assert scaled_axis("share", [(0.0, 0.0, 0.0)]) == Axis(0.0, 1.0)  # no share is below 0
    assert scaled_axis("correlation", [(1.0, 1.0, 1.0)]) == Axis(-1.0, 1.0, reference=0.0)
    assert axis_of([(2.0, None, None)], log=True) == Axis(1.0, 4.0, log=True)


def test_the_scale_names_both_ends_and_the_reference_where_there_is_room() -> None:
    assert RATIO.labels == ((0.0, "0.25"), (0.5, "1"), (1.0, "4"))
    assert [text for _, text in Axis(0.9, 4.0, log=True, reference=1.0).labels] == ["0.9", "4"]
    for reference, shown in ((0.2, 2), (0.25, 3), (0.75, 3), (0.8, 2)):
        assert len(Axis(0.0, 1.0, reference=reference).labels) == shown
    assert [text for _, text in Axis(-2.5, 99_999.0).labels] == ["−2.5", "1e+05"]
    assert [text for _, text in scaled_axis("percentage", [(0.5, None, None)]).labels] == ["0 %", "100 %"]
    drawn = scale(RATIO)
    assert '<text text-anchor="middle" x="64" y="12">1</text>' in drawn
    assert 'aria-hidden="true"' in drawn
    assert scale(None) == ""


def test_an_axis_takes_the_scores_of_all_rows_wherever_they_stand() -> None:
    rows = [
        {
            "of": {"judge": Score(name="theta", value=2.0), "people": Score(value=4.0)},
            "list": [Score(value=1.0)],
        },
        {"of": {"judge": None}, "list": [Score(value=3.0), Score(value=9.0)]},
        {"list": []},
    ]
    assert axis("stored", rows, "of.judge", "of.people") == Axis(1.0, 4.0, log=True, reference=1.0)
    assert axis("number", rows, "list.*") == Axis(1.0, 9.0)
    assert axes("number", rows, "list") == [Axis(1.0, 3.0), Axis(8.5, 9.5)]
    assert axes("number", rows, "list", "nothing") == [None, None]
    assert axis("number", None, "x") is None


def test_estimates_without_an_interval_are_points() -> None:
    drawn = mark((1.0, math.nan, math.nan), RATIO, [2.0, None, math.inf])
    assert "mark-interval" not in drawn
    assert drawn.count("mark-other") == 1


def test_a_cell_without_an_axis_has_its_numbers_only() -> None:
    cell = "metrics/score_runs/_score_cell.html"
    score = Score(value=0.5, low=0.25, high=0.75, n=1200)
    plain = render_to_string(cell, {"score": score, "digits": 2})
    assert plain.strip() == (
        '<td class="number">0.50 <span class="interval">[0.25, 0.75] '
        '<span class="count">n = 1,200</span></span></td>'
    )
    drawn = render_to_string(cell, {"score": score, "digits": 2, "axis": Axis(0.0, 1.0), "bare": 1})
    assert drawn.strip().startswith(
        '<td class="number">0.50 <span class="interval">[0.25, 0.75]</span><svg class="mark"'
    )
    assert "–" in render_to_string(cell, {"score": None, "axis": Axis(0.0, 1.0)})
