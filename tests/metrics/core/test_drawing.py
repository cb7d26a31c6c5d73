"""How charts are copied while they are composed."""

from __future__ import annotations

import pytest
from altair.utils import schemapi

from metrics.core.charts import drawing
from metrics.core.charts.drawing import alt


def composed() -> dict:
    """What a chart with layers, rows, panels and something to choose says."""
    rows = tuple({"x": x, "y": x * x, "part": "ab"[x % 2]} for x in range(5))
    base = alt.Chart(alt.Data(values=rows)).transform_filter("isValid(datum.y)").encode(x="x:Q", y="y:Q")
    chosen = alt.selection_point(fields=["part"], name="chosen")
    colour = alt.when(chosen).then("part:N").otherwise(alt.value("grey"))
    points = base.mark_point(filled=True).encode(color=colour, tooltip=[alt.Tooltip("x:Q")])
    layers = alt.layer(base.mark_line(strokeWidth=2), points.add_params(chosen)).properties(width=100)
    facets = alt.layer(points, base.mark_rule()).facet(row=alt.Row("part:N", header=alt.Header(title=None)))
    whole = alt.vconcat(alt.hconcat(layers, facets.resolve_scale(y="independent")), base.mark_bar())
    return whole.configure(font="sans").properties(background="white").to_dict(validate=False)


def test_a_chart_says_what_it_says_with_altairs_own_copies(monkeypatch):
    ours = composed()
    monkeypatch.setattr(schemapi, "_deep_copy", drawing._altairs_copy)
    assert ours == composed()


def test_altair_copies_with_it(monkeypatch):
    assert schemapi._deep_copy is drawing._deep_copy

    def refuse(*_):
        raise NotImplementedError

    monkeypatch.setattr(schemapi, "_deep_copy", refuse)
    with pytest.raises(NotImplementedError):
        alt.Chart().mark_bar().copy()


def test_a_copy_shares_nothing_that_can_change():
    title = alt.TitleParams("before", subtitle=["a"])
    bars = alt.Chart(alt.Data(values=[{"x": 1}])).mark_bar().encode(x=alt.X("x:Q"))
    chart = alt.layer(bars).properties(title=title)
    copied = chart.copy()
    copied.title.subtitle.append("b")
    copied.layer[0].encoding.x.title = "X"
    copied.data.values[0]["x"] = 2
    said = chart.to_dict(validate=False)
    assert said["title"] == {"text": "before", "subtitle": ["a"]}
    assert "title" not in said["layer"][0]["encoding"]["x"]
    assert said["data"] == {"values": [{"x": 1}]}
