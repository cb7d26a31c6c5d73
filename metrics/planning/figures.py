"""The figure of a plan: half-widths and power over images, annotators and overlap."""

from metrics.core.charts.figure import Figure
from metrics.planning import sentences
from metrics.planning.charts import plan_chart
from metrics.planning.curves import PlanResult


def plan_figure(result: PlanResult, title: str) -> Figure:
    """Of the study with this title."""
    design = result.plan.design
    return plan_chart(
        result.curves,
        sentences.rows(result),
        title="Expected half-widths of 95 % intervals",
        subtitle=f"{title}; chosen: {design.images} images, {design.people} annotators, overlap "
        f"{design.overlap}",
    )
