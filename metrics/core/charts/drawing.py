"""altair, imported where a chart is drawn and not at the top of a module: it takes most of a second.

altair looks into pandas if it finds it among the loaded modules. Another thread may be half through loading
it (pyogrio does, for maps), so it is loaded first.
"""

import altair as alt
import pandas  # noqa: F401

__all__ = ["alt"]
