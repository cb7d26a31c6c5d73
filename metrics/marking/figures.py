"""The figure of a set: lines over top-p where there is a series of runs, else dots."""

from collections.abc import Sequence

from annotation.models import ImageSet
from generation.recipes.recipes import FAKE
from metrics.core.charts.figure import Figure
from metrics.core.numbers import finite
from metrics.marking.charts import Point, line_chart
from metrics.marking.queries import MarkingRow, labels_of, lines
from metrics.votes.charts import Dot, Plot, dot_chart

_TITLE = "Texts that name the group of the image"
_NOTES = ("95 % intervals, clustered by image.",)


def marking_figure(image_set: ImageSet, rows: Sequence[MarkingRow]) -> Figure | None:
    """None if there is no text."""
    if not rows:
        return None
    # a number that a program made up is not drawn beside others without saying so
    simulated = any(row.run.backend == FAKE for row in rows)
    subtitle = (f"{image_set.title}{' – some or all texts are simulated' if simulated else ''}",)
    labels = labels_of(rows)
    if series := lines(rows):
        points = [
            Point(
                series=name,
                group=labels[row.group.pk],
                top_p=row.top_p,
                value=row.share.value,
                low=finite(row.share.low),
                high=finite(row.share.high),
                k=row.share.k,
                n=row.share.n,
            )
            for name, each in series.items()
            for row in sorted(each, key=lambda row: (labels[row.group.pk], row.top_p or 0))
            if row.top_p is not None
        ]
        return line_chart(points, title=_TITLE, subtitle=subtitle, notes=_NOTES)
    dots = [
        Dot(
            row=labels[row.group.pk],
            series=f"{row.label}, {row.run.model}",
            value=row.share.value,
            n=row.share.n,
            k=row.share.k,
            low=finite(row.share.low),
            high=finite(row.share.high),
        )
        for row in sorted(rows, key=lambda row: labels[row.group.pk])
    ]
    plot = Plot(
        name="marking",
        title=_TITLE,
        subtitle=subtitle,
        axis_title="share of texts that name the group",
        row_title="Group",
        n_title="Texts",
        unit="share",
        notes=_NOTES,
    )
    return dot_chart(dots, plot)
