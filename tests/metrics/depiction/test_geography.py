"""Which country a group stands for, and where that is on a map."""

import csv
import itertools
from pathlib import Path

import pytest

from metrics.depiction.charts import geography

IDENTITIES = Path(geography.__file__).parents[3] / "annotation" / "imports" / "data" / "identities.csv"
NATIONS = [row for row in csv.DictReader(IDENTITIES.read_text().splitlines()) if row["axis"] == "nationality"]


def where(name: str, country: str) -> geography.Country | None:
    return geography.country_of(name, country)


@pytest.mark.parametrize(
    ("name", "country", "code"),
    [
        ("United KingdomUK", "United Kingdom", "GBR"),
        ("British", "United Kingdom", "GBR"),
        ("Nepali", "Nepal", "NPL"),
        ("Nepalese", "Nepal", "NPL"),
        ("French", "France", "FRA"),
        ("Norwegian", "Norway", "NOR"),
        ("Kosovar", "Kosovo", "XKX"),
        ("Congolese", "Congo", "COG"),
        ("Guinean", "Guinea", "GIN"),
        ("Equatorial Guinean", "Equatorial Guinea", "GNQ"),
        ("Nigerien", "Niger", "NER"),
        ("Nigerian", "Nigeria", "NGA"),
        ("North Korean", "North Korea", "PRK"),
        ("South Korean", "South Korea", "KOR"),
        ("Turks", "Türkiye", "TUR"),
        ("Ivorians", "Côte d'Ivoire", "CIV"),
        ("Swazis", "Eswatini", "SWZ"),
        ("Macedonian", "North Macedonia", "MKD"),
        ("Sahrawi", "Western Sahara", "ESH"),
        ("Palestinian", "Palestine", "PSE"),
        ("Taiwanese", "Taiwan", "TWN"),
        ("United States", "United States", "USA"),
    ],
)
def test_a_country_has_the_code_it_is_known_by_and_a_shape(name, country, code):
    assert where(name, country) == geography.Country(code, None)
    assert code in geography.shapes()


def test_every_nationality_of_the_releases_is_on_the_map_but_nations_within_a_country():
    absent = [row["identity"] for row in NATIONS if where(row["identity"], row["country"]) is None]
    assert absent == ["English", "Northern Irish", "Scottish", "Welsh", "Zanzibari"]


def test_two_countries_are_never_one():
    countries = {row["country"]: where(row["country"], row["country"]).code for row in NATIONS}
    assert len(set(countries.values())) == len(countries)


@pytest.mark.parametrize(
    ("name", "country", "longitude", "latitude"),
    [
        ("Maltese", "Malta", 14.4, 35.9),
        ("Singapore", "Singapore", 103.8, 1.3),
        ("Mauritian", "Mauritius", 57.5, -20.2),
        ("Cabo Verdean", "Cabo Verde", -23.6, 15.1),
    ],
)
def test_a_small_country_is_a_dot_where_it_lies(name, country, longitude, latitude):
    x, y = where(name, country).point
    assert abs(x - longitude) < 1
    assert abs(y - latitude) < 1


@pytest.mark.parametrize("country", ["", "Texas", "Kerala", "Atlantis", "a country of no name"])
def test_what_is_no_country_is_nowhere(country):
    assert where("Somebody", country) is None


def test_rings_run_the_way_that_fills_the_country_and_not_the_rest_of_the_world():
    """On a sphere a ring's direction says which side is inside: clockwise, seen from outside, for Vega."""
    for code, shape in geography.shapes().items():
        polygons = shape["geometry"]["coordinates"]
        if shape["geometry"]["type"] == "Polygon":
            polygons = [polygons]
        for ring in (polygon[0] for polygon in polygons):
            twice = sum((x1 - x0) * (y1 + y0) for (x0, y0), (x1, y1) in itertools.pairwise(ring))
            assert twice >= 0, code


def test_the_shapes_come_from_the_installation(monkeypatch):
    def no_network(*args, **kwargs):
        raise AssertionError("a figure asked the network")

    monkeypatch.setattr("socket.socket.connect", no_network)
    geography.shapes.cache_clear()
    assert len(geography.shapes()) == 176
    assert "ATA" not in geography.shapes()
