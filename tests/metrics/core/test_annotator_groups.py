"""Groups of annotators by what they say of themselves. None asks a database."""

import pytest

from metrics.core.annotator_groups import _pool, selectable_groups

HERE = {"residence": "Latin America"}
AWAY = {"residence": "North America", "identity_region": "latin america"}


@pytest.mark.parametrize(
    ("profile", "stratum", "region", "pool"),
    [
        (HERE, "any", "Latin America", "in-region"),
        (AWAY, "any", "Latin America", "out-region"),
        ({**AWAY, "residence": "Europe"}, "any", "Latin America", "neither pool"),
        ({"residence": "North America"}, "any", "Latin America", "neither pool"),
        ({**AWAY, "identity_region": "Europe"}, "any", "Latin America", "neither pool"),
        (HERE, "residence: Europe", "Latin America", "neither pool"),  # when they answered
        ({}, "residence: Latin America", "Latin America", "in-region"),
        ({"identity_region": "Latin America"}, "any", "Latin America", "not stated"),
        (HERE, "any", "", "not stated"),
    ],
)
def test_the_pool_is_by_residence_and_for_those_away_by_the_region_they_identify_with(
    profile, stratum, region, pool
):
    assert _pool(profile, stratum, region) == pool


def test_groups_of_three_people_are_offered_with_the_pools_of_a_region_first():
    profiles = dict.fromkeys((1, 2, 3), HERE) | dict.fromkeys((4, 5, 6), AWAY)
    profiles |= {number: {"gender": "woman"} for number in (7, 8)} | {9: {"gender": "man"}}
    values = {
        "identity_region: latin america": [4, 5, 6],
        "residence: Latin America": [1, 2, 3],
        "residence: North America": [4, 5, 6],
    }
    without = selectable_groups(profiles, region="")
    assert list(without.items()) == list(values.items())
    assert selectable_groups({**profiles, 10: {"gender": "woman"}}, region="")["gender: woman"] == [7, 8, 10]
    offered = selectable_groups(profiles, region="Latin America")
    assert list(offered) == ["in-region", "out-region", *values]
    assert (offered["in-region"], offered["out-region"]) == ([1, 2, 3], [4, 5, 6])
