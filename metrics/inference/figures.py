"""The figure of a run: %E or M(E) of each source by region (counterpart of SeeGULL's table of inference
models)."""

from generation.models import Run
from metrics.core.charts.figure import Figure
from metrics.inference.queries import ALL, Results, number
from metrics.inference.stats import Entailment, Estimate
from metrics.votes.charts import Dot, Plot, dot_chart

SHOWN = ("share", "mean_of_entailed", "mean_of_all")
"""The numbers that can be drawn; the first is the default."""
ALL_GROUPS = "all groups"
_TITLES = {
    "share": ("Pairs that came out as entailment, %E", "share of pairs whose label is entailment"),
    "mean_of_entailed": (
        "M(E) over the entailed pairs",
        "mean probability of entailment, entailed pairs only",
    ),
    "mean_of_all": ("M(E) over all pairs", "mean probability of entailment, all pairs"),
}


def estimate_of(numbers: Entailment, shown: str) -> Estimate:
    found: Estimate = getattr(numbers, shown)
    return found


def inference_figure(run: Run, found: Results, *, shown: str, simulated: bool) -> Figure | None:
    """One dot for each source and region, with its interval; None if no number is defined."""
    title, axis = _TITLES[shown]
    dots = []
    for region in [ALL, *found.regions]:
        for row in found.rows:
            estimate = estimate_of(row.numbers, shown)
            value = number(estimate)
            if row.region == region and value is not None:
                dots.append(
                    Dot(
                        row=region or ALL_GROUPS,
                        series=row.source,
                        value=value,
                        n=row.numbers.n_entailed if shown == "mean_of_entailed" else row.numbers.n_pairs,
                        k=row.numbers.n_entailed if shown == "share" else None,
                        low=number(estimate, "low"),
                        high=number(estimate, "high"),
                    )
                )
    if not dots:
        return None
    marked = " – simulated answers" if simulated else ""
    plot = Plot(
        name=f"inference-{shown}",
        title=title,
        subtitle=(f"{run.model}{marked}; run {run.name}", "The truth of every pair is neutral."),
        axis_title=axis,
        row_title="Region",
        n_title="Pairs",
        unit="share",
        notes=("95 % intervals, clustered by identity group.",),
    )
    return dot_chart(dots, plot)
