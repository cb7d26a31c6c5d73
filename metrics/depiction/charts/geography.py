"""Places of groups on a map: the shape of the country, or a dot if the country is too small.

Shapes: Natural Earth at 1:110 million (public domain), as pyogrio carries it. Codes and places of countries:
countryinfo. Both are read from the installed packages; nothing is downloaded. Borders are those of Natural
Earth and take no position on disputed territories.
"""

import io
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# Nations within a country that other groups name as a whole; a map of countries cannot show them.
_NATIONS_WITHIN_COUNTRIES = frozenset({"english", "scottish", "welsh", "northern irish", "zanzibari"})
# Natural Earth has no code for these. ISO has none for Kosovo; XKX is in common use.
_CODES = {"France": "FRA", "Norway": "NOR", "Kosovo": "XKX"}
_OTHER_NAMES = {"kosovo": "XKX"}
# Antarctica: no group is from there, and it covers a fifth of the map.
_EXCLUDED = "ATA"
_SHAPES = "tests/fixtures/naturalearth_lowres/naturalearth_lowres.shp"


@dataclass(frozen=True)
class Country:
    """`code` is ISO 3166-1 alpha-3. `point` (longitude, latitude) if it has no shape of its own."""

    code: str
    point: tuple[float, float] | None


@cache
def country_of(name: str, country: str) -> Country | None:
    """The place of the group `name` of `country`; None if a map of countries cannot show it.

    >>> country_of("Mexican", "Mexico")
    Country(code='MEX', point=None)
    >>> country_of("Maltese", "Malta").point
    (14.58, 35.83)
    >>> country_of("Welsh", "United Kingdom") is None
    True
    """
    # imported here: a table of 250 countries that only maps need
    from countryinfo import CountryInfo, CountryNotFoundError

    if not country or name.casefold() in _NATIONS_WITHIN_COUNTRIES:
        return None
    if country.casefold() in _OTHER_NAMES:
        return Country(_OTHER_NAMES[country.casefold()], None)
    try:
        found = CountryInfo(country.casefold())
    except CountryNotFoundError:
        return None
    code = str(found.iso(3))
    if code in shapes():
        return Country(code, None)
    latitude, longitude = found.latlng()
    return Country(code, (round(longitude, 2), round(latitude, 2)))


@cache
def shapes() -> dict[str, dict[str, Any]]:
    """{code: {"name", "geometry"}} of every country with a shape, to a tenth of a degree.

    Areas without a code have their name as code.
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
