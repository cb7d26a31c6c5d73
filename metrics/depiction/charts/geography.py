"""Where on a map a group of people stands: its country's shape, or a dot where the country is too small.

Shapes: Natural Earth at 1:110 million (public domain), as pyogrio carries it. Codes and places of countries:
countryinfo. Both are read from the installation, nothing is fetched. Borders are Natural Earth's: whose
they are is not for a figure of stereotypes to say.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# Nations within a country, which has groups that name it as a whole: no map of countries shows them.
_NATIONS_WITHIN_COUNTRIES = frozenset({"english", "scottish", "welsh", "northern irish", "zanzibari"})
# Natural Earth leaves these without a code. Kosovo's is the one in use: ISO has none.
_CODES = {"France": "FRA", "Norway": "NOR", "Kosovo": "XKX"}
_OTHER_NAMES = {"kosovo": "XKX"}
# Nobody is named after it, and it takes a fifth of the map.
_EXCLUDED = "ATA"
_SHAPES = "tests/fixtures/naturalearth_lowres/naturalearth_lowres.shp"


@dataclass(frozen=True)
class Country:
    """`code` is ISO 3166-1 alpha-3. `point` (longitude, latitude) if it has no shape of its own."""

    code: str
    point: tuple[float, float] | None


def country_of(name: str, country: str) -> Country | None:
    """Where the group `name` stands, which belongs to `country`; None if it is on no map of countries.

    >>> country_of("Mexican", "Mexico")
    Country(code='MEX', point=None)
    >>> country_of("Maltese", "Malta").point
    (14.58, 35.83)
    >>> country_of("Welsh", "United Kingdom") is None
    True
    """
    if not country or name.casefold() in _NATIONS_WITHIN_COUNTRIES:
        return None
    return _country(country.casefold())


@cache
def _country(name: str) -> Country | None:
    # a table of 250 countries, for those who draw maps only
    from countryinfo import CountryInfo, CountryNotFoundError

    if name in _OTHER_NAMES:
        return Country(_OTHER_NAMES[name], None)
    try:
        found = CountryInfo(name)
    except CountryNotFoundError:
        return None
    code = str(found.iso(3))
    if code in shapes():
        return Country(code, None)
    latitude, longitude = found.latlng()
    return Country(code, (round(longitude, 2), round(latitude, 2)))


@cache
def shapes() -> dict[str, dict[str, Any]]:
    """{code: {"name", "geometry"}} of every country with a shape; a tenth of a degree is enough for a page.

    Areas without a code keep their name as one.
    """
    # GDAL takes most of a second to load
    from pyogrio import raw

    meta, _, geometry, fields = raw.read(str(files("pyogrio") / _SHAPES), columns=["name", "iso_a3"])
    buffer = io.BytesIO()
    raw.write(
        buffer,
        geometry,
        fields,
        meta["fields"],
        driver="GeoJSON",
        geometry_type=meta["geometry_type"],
        crs=meta["crs"],
        COORDINATE_PRECISION="1",
    )
    found = {}
    for feature in json.loads(buffer.getvalue())["features"]:
        name, code = feature["properties"]["name"], feature["properties"]["iso_a3"]
        code = _CODES.get(name, name) if code == "-99" else code
        if code != _EXCLUDED:
            found[code] = {"name": name, "geometry": feature["geometry"]}
    return found
