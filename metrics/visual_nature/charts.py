"""Counterpart of ViSAGe's figure 6: for how many attributes annotators chose the same label."""

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core.charts.figure import BAR, INK, Figure, answered_by, apply_style, marked_title


@dataclass(frozen=True)
class Bar:
    """One label: `k` of `n` attributes, `percent` (0 to 100) and its interval, if any."""

    label: str
    percent: float
    k: int
    n: int
    low: float | None = None
    high: float | None = None


def consensus_chart(bars: Sequence[Bar], *, study: str, simulated: bool) -> Figure:
    """For each label, the percentage of attributes for which at least 2 annotators chose it (PROTOCOL §2;
    ViSAGe, figure 6).

    `bars`: at least one, in the order of the scale. The image itself says that answers are `simulated`,
    because an image file is used without its page.
    """
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    n = bars[0].n
    order = [bar.label for bar in bars]
    highest = max(bar.percent if bar.high is None else bar.high for bar in bars)
    # with room for the number of the longest bar
    top = max(10.0, min(125.0, 1.28 * highest))
    step = next(step for step in (2, 5, 10, 20) if top / step <= 8)
    data = [
        {
            "label": bar.label,
            "percent": bar.percent,
            "text": f"{bar.percent:.1f} %  ({bar.k:,})",
            "counted": f"{bar.k:,} of {bar.n:,} attributes",
            "low": bar.low,
            "high": bar.high,
            "end": bar.percent if bar.high is None else bar.high,
            "interval": _interval(bar) or "not computed yet",
        }
        for bar in bars
    ]
    percent, low, end = (
        alt.X(
            f"{field}:Q",
            title="attributes for which at least 2 annotators chose the label (%)",
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(values=[tick for tick in range(0, 101, step) if tick <= top], format="d"),
        )
        for field in ("percent", "low", "end")
    )
    base = alt.Chart(alt.Data(values=tuple(data))).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8)),
        tooltip=[
            alt.Tooltip("label:N", title="Label"),
            alt.Tooltip("percent:Q", title="Percent", format=".1f"),
            alt.Tooltip("interval:N", title="95 % interval"),
            alt.Tooltip("counted:N", title="Consensus on"),
        ],
    )
    ranged = any(bar.low is not None for bar in bars)
    alt_values = "; ".join(
        f"{bar.label} {bar.percent:.1f} % ({bar.k:,})" + (f", interval {_interval(bar)}" if ranged else "")
        for bar in bars
    )
    shown = marked_title(study, simulated=simulated)
    chart = alt.layer(
        base.mark_bar(color=BAR, height=20).encode(x=percent),
        # the white outline separates the line from the bar
        *(
            base.mark_rule(color=colour, strokeWidth=width).encode(x=low, x2="high:Q")
            for colour, width in (("white", 5), (INK, 1.5))
        ),
        base.mark_text(align="left", baseline="middle", dx=6, color=INK, fontSize=12).encode(
            x=end, text="text:N"
        ),
    ).properties(width=440, height=alt.Step(34))
    title = "Consensus on the visual nature of attributes"
    subtitle = f"{shown}; n = {n:,} attributes{'; lines: 95 % intervals' if ranged else ''}"
    return Figure(
        name="consensus",
        title=title,
        alt=(
            f"Bar chart: attributes for which at least 2 annotators chose the same label, "
            f"of {n:,} attributes{' (simulated answers)' if simulated else ''}. {alt_values}."
        ),
        columns=("label", "percent", "low", "high", "attributes_with_consensus", "attributes", "answers"),
        rows=tuple(
            (bar.label, bar.percent, bar.low, bar.high, bar.k, bar.n, answered_by(simulated=simulated))
            for bar in bars
        ),
        spec=apply_style(chart, title, subtitle),
    )


def _interval(bar: Bar) -> str:
    return "" if bar.low is None else f"{bar.low:.1f} to {bar.high:.1f} %"
