"""Shapes of the states of the USA and the District of Columbia.

Source: U.S. Census Bureau, TIGER/Line Shapefiles, as bokeh_sampledata carries them. Nothing is downloaded.
"""

from functools import cache
from typing import Any

_SIMPLIFIED = 0.05
"""Degrees: what no map of this size shows is left out."""


@cache
def state_shapes() -> dict[str, dict[str, Any]]:
    """By name of the state: its shape as a geometry of GeoJSON.

    >>> len(state_shapes()), "District of Columbia" in state_shapes()
    (51, True)
    """
    # it takes a tenth of a second to import and to read
    from bokeh_sampledata.us_states import records
    from shapely.geometry import mapping

    found = {}
    for state in records():
        shape = state["geometry"].simplify(_SIMPLIFIED, preserve_topology=True)
        found[state["name"]] = mapping(shape)
    return found
