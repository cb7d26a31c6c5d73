"""The states of the USA and the District of Columbia on a grid of tiles. Pure.

No package that is installed has the shapes of states. Each state is one square near its usual place: all are
equally large, so that a small state is as visible as Alaska.
"""

from dataclasses import dataclass

_GRID = """
AK .. .. .. .. .. .. .. .. .. ME
.. .. .. .. .. WI .. .. .. VT NH
WA ID MT ND MN IL MI .. NY MA ..
OR NV WY SD IA IN OH PA NJ CT RI
CA UT CO NE MO KY WV VA MD DE ..
.. AZ NM KS AR TN NC SC DC .. ..
.. .. .. OK LA MS AL GA .. .. ..
HI .. .. TX .. .. .. .. FL .. ..
"""
_NAMES = {
    "Alabama": "AL",
    "Alaska": "AK",
    "Arizona": "AZ",
    "Arkansas": "AR",
    "California": "CA",
    "Colorado": "CO",
    "Connecticut": "CT",
    "Delaware": "DE",
    "District of Columbia": "DC",
    "Florida": "FL",
    "Georgia": "GA",
    "Hawaii": "HI",
    "Idaho": "ID",
    "Illinois": "IL",
    "Indiana": "IN",
    "Iowa": "IA",
    "Kansas": "KS",
    "Kentucky": "KY",
    "Louisiana": "LA",
    "Maine": "ME",
    "Maryland": "MD",
    "Massachusetts": "MA",
    "Michigan": "MI",
    "Minnesota": "MN",
    "Mississippi": "MS",
    "Missouri": "MO",
    "Montana": "MT",
    "Nebraska": "NE",
    "Nevada": "NV",
    "New Hampshire": "NH",
    "New Jersey": "NJ",
    "New Mexico": "NM",
    "New York": "NY",
    "North Carolina": "NC",
    "North Dakota": "ND",
    "Ohio": "OH",
    "Oklahoma": "OK",
    "Oregon": "OR",
    "Pennsylvania": "PA",
    "Rhode Island": "RI",
    "South Carolina": "SC",
    "South Dakota": "SD",
    "Tennessee": "TN",
    "Texas": "TX",
    "Utah": "UT",
    "Vermont": "VT",
    "Virginia": "VA",
    "Washington": "WA",
    "West Virginia": "WV",
    "Wisconsin": "WI",
    "Wyoming": "WY",
}


@dataclass(frozen=True)
class Tile:
    """`column` and `row` from 0, from the top left."""

    code: str
    name: str
    column: int
    row: int


def _tiles() -> dict[str, Tile]:
    names = {code: name for name, code in _NAMES.items()}
    return {
        code: Tile(code, names[code], column, row)
        for row, line in enumerate(_GRID.split("\n")[1:-1])
        for column, code in enumerate(line.split())
        if code != ".."
    }


TILES = _tiles()
"""By abbreviation: 50 states and DC."""
_BY_NAME = {tile.name: tile for tile in TILES.values()}


def tile_of(region: str) -> Tile | None:
    """The tile of a state, by its name; None for anything else.

    Examples
    --------
    >>> tile_of("Ohio").code, tile_of("Bavaria")
    ('OH', None)
    """
    return _BY_NAME.get(region)
