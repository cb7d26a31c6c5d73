"""Maps of shares by region."""

import pytest

from metrics.embedding_tests.charts.effects import EffectDot, EffectTexts, effect_chart, row_labels
from metrics.embedding_tests.charts.regions import RegionPoint, RegionTexts, map_chart, points_chart


def test_countries_are_on_a_map_of_the_world_and_small_ones_are_dots():
    points = [RegionPoint(name, "White", share, 0.5) for name, share in (("Georgia", 0.2), ("Malta", 0.7))]
    drawn = map_chart(points, RegionTexts("map", "White", (), ()))
    assert "albersUsa" not in str(drawn.spec)
    areas, dots = drawn.spec["datasets"]["areas"], drawn.spec["datasets"]["dots"]
    assert [(area["region"], area["share"]) for area in areas if "share" in area] == [("Georgia", 0.2)]
    assert [(dot["region"], dot["share"]) for dot in dots] == [("Malta", 0.7)]
    assert (
        map_chart([RegionPoint("Atlantis", "White", 0.2, 0.5)], RegionTexts("map", "White", (), ())) is None
    )


TEXTS = RegionTexts("points", "Shares", ("by whom",), ("a note",))


def points(*rows):
    return [RegionPoint(*row) for row in rows]


def test_points_of_each_group_have_a_panel_up_to_the_highest_share():
    made = points(("Ohio", "White", 0.2, 0.4), ("Utah", "White", 0.4, 0.6), ("Ohio", "Asian", 0.1, 0.3))
    drawn = points_chart(made, TEXTS)
    top = 1.05 * 0.6
    line, dots = drawn.spec["concat"][0]["layer"]
    assert line["data"]["values"] == [{"group": "White", "a": 0, "b": pytest.approx(top)}]
    assert [(dot["region"], dot["share"]) for dot in dots["data"]["values"]] == [("Ohio", 0.2), ("Utah", 0.4)]
    axes = [dots["encoding"][axis] for axis in "xy"]
    assert [axis["field"] for axis in axes] == ["reference", "share"]
    assert [axis["scale"]["domain"] for axis in axes] == [[0, pytest.approx(top)]] * 2
    colours = [panel["layer"][1]["mark"]["color"] for panel in drawn.spec["concat"]]
    assert len(set(colours)) == 2
    assert "of 2 groups. White: on average 30.0% of the images found, 50.0% of the reference" in drawn.alt
    tops = [
        points_chart(points(("Ohio", "White", *shares)), TEXTS).spec["concat"][0]["layer"][1]["encoding"]["x"]
        for shares in ((0.7, 0.2), (0.99, 0.2), (0.01, 0.02))
    ]
    assert [axis["scale"]["domain"][1] for axis in tops] == pytest.approx([1.05 * 0.7, 1, 1.05 * 0.05])


def test_a_map_names_the_highest_shares_and_what_is_not_on_it():
    names = ("Malta", "France", "Nepal", "Peru", "Chad", "Kenya")
    made = points(*((name, "White", place / 10, 0.05) for place, name in enumerate(names, start=1)))
    made += points(("Atlantis", "White", 0.9, 0.95))
    drawn = map_chart(made, TEXTS)
    highest = [f"{names[place - 1]} {place}0.0%, reference 5.0%" for place in (6, 5, 4, 3, 2)]
    assert drawn.alt == f"Two maps. Shares. Highest: {'; '.join(highest)}."
    assert drawn.notes == ("a note", "Both maps have the same scale.", "Not on the map: Atlantis.")
    assert len(drawn.rows) == 7
    text = str(drawn.spec)
    assert text.count("'domain': [0, 0.6]") >= 2
    assert "equalEarth" in text
    [dot] = drawn.spec["datasets"]["dots"]
    assert (dot["share"], dot["reference"], 14 < dot["x"] < 15, 35 < dot["y"] < 36.5) == (
        0.1,
        0.05,
        True,
        True,
    )
    assert "'domain': [0, 0.8]" in str(map_chart(points(("Ohio", "White", 0.2, 0.8)), TEXTS).spec)


def test_effects_are_dots_with_intervals_and_signs():
    dots = [
        EffectDot("A", "one", -0.9, -1.2, -0.5, ("x",)),
        EffectDot("A", "two", 0.6, None, 0.3, ("y",)),
        EffectDot("B", "one", 0.2, 0.1, 0.4, ("z",)),
    ]
    texts = EffectTexts("effects", "Effects", ("by whom",), ("cell",), ("a note",))
    drawn = effect_chart(dots, texts)
    assert drawn.rows == (
        ("A", "one", -0.9, -1.2, -0.5, "x"),
        ("A", "two", 0.6, None, 0.3, "y"),
        ("B", "one", 0.2, 0.1, 0.4, "z"),
    )
    assert (
        drawn.alt
        == "Effects, of 2 tests. A, one: −0.90 [−1.20, −0.50]; A, two: 0.60; B, one: 0.20 [0.10, 0.40]."
    )
    assert (drawn.notes, drawn.columns[-1]) == (("a note",), "cell")
    assert "by whom" in str(drawn.spec)
    sizes, zero, intervals, marks = drawn.spec["layer"]
    assert [each["size"] for each in sizes["data"]["values"]] == [-0.2, 0.2, -0.5, 0.5, -0.8]
    assert zero["data"]["values"] == [{"size": 0}]
    assert [intervals["encoding"][end]["field"] for end in ("x", "x2")] == ["low", "high"]
    x, y = (marks["encoding"][axis] for axis in "xy")
    assert x["scale"]["domain"] == pytest.approx([-1.29, 0.69])
    assert (y["sort"], y["axis"]["labelLimit"]) == (["A", "B"], 0)
    assert [len(set(marks["encoding"][name]["scale"]["range"])) for name in ("color", "shape")] == [2, 2]
    assert [tip["field"] for tip in marks["encoding"]["tooltip"]] == ["row", "series", "shown"]
    alone = effect_chart(dots[2:], texts)
    assert alone.alt == "Effects, of 1 tests. B: 0.20 [0.10, 0.40]."
    assert alone.spec["layer"][3]["encoding"]["color"]["legend"] is None
    none = effect_chart([EffectDot("B", "one", 0.0, None, None, ("z",))], texts)
    assert none.spec["layer"][3]["encoding"]["x"]["scale"]["domain"] == pytest.approx([-0.22, 0.22])


def test_long_labels_are_shortened_and_stay_apart():
    assert row_labels(["a" * 44]) == {}
    assert row_labels(["a" * 45, "b"]) == {"a" * 45: "a" * 43 + "…"}
    assert row_labels(["a" * 43 + "…", "a" * 45]) == {"a" * 45: "a" * 21 + "…" + "a" * 22}
    twins = ["a" * 45 + "b" * 22, "a" * 46 + "b" * 22, "a" * 50 + "c"]
    assert row_labels(twins) == {
        twins[0]: "a" * 22 + "… (1)",
        twins[1]: "a" * 22 + "… (2)",
        twins[2]: "a" * 21 + "…" + "a" * 21 + "c",
    }
