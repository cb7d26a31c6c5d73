"""Maps of shares by region."""

from metrics.embedding_tests.charts.regions import RegionPoint, RegionTexts, map_chart


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
