"""altair, imported where a chart is drawn and not at the top of a module: it takes most of a second.

altair looks into pandas if it finds it among the loaded modules. Another thread may be half through loading
it (pyogrio does, for maps), so it is loaded first.

Each step copies the whole chart, row by row, but not what is in a tuple: data are given as tuples. No part is
checked against the schema of Vega-Lite, which takes seconds for a chart of many parts: tests do that.
"""

import altair as alt
import pandas  # noqa: F401
from altair.utils import schemapi

schemapi.disable_debug_mode()

__all__ = ["alt"]
