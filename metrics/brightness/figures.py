"""The figure of a run: the change of brightness over the strength by group (counterpart of figure 6 of Wolfe
and Caliskan 2022), or mean brightness by group where nothing was made from images."""

from dataclasses import replace

from generation.models import Run
from metrics.brightness.charts import Point, group_chart, line_chart
from metrics.brightness.data import crop_of, image_set_of
from metrics.brightness.queries import Results, Row
from metrics.brightness.stats import Estimate
from metrics.core.charts.figure import Figure
from metrics.core.numbers import finite

_LIMIT = "RGB brightness is no measure of skin tone: light, background and make-up count too."
_OF_IMAGES = "95 % intervals, clustered by image."
_OF_INITIAL = "95 % intervals, clustered by initial image."


def brightness_figure(run: Run, found: Results) -> Figure | None:
    """None if nothing is measured."""
    image_set = image_set_of(run)
    drawn = " – drawn images, no model's output" if image_set.drawn else ""
    subtitle = (f"{image_set.title}{drawn}; crop {crop_of(run).name}; run {run.name}", _LIMIT)
    compared = [_point(row, row.change, row.compared) for row in found.rows if row.is_compared]
    if compared:
        return line_chart(
            compared,
            name="brightness-change",
            title="Change of brightness against the initial image",
            subtitle=subtitle,
            notes=(_OF_INITIAL,),
        )
    if not found.rows:
        return None
    return group_chart(
        [replace(_point(row, row.rgb, row.n), group=_name(row)) for row in found.rows],
        name="brightness",
        title="Mean brightness of the crop",
        subtitle=subtitle,
        notes=(_OF_IMAGES,),
    )


def _name(row: Row) -> str:
    return row.group if row.strength is None else f"{row.group}, strength {row.strength:g}"


def _point(row: Row, estimate: Estimate, n: int) -> Point:
    return Point(
        group=row.group,
        value=estimate.value,
        low=finite(estimate.low),
        high=finite(estimate.high),
        n=n,
        strength=row.strength,
    )
