"""Counterpart of ViSAGe's figure 6: on how many attributes annotators chose the same label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.figures.answers import given, titled
from metrics.figures.base import BAR, INK, Figure, styled


@dataclass(frozen=True)
class Bar:
    """One label of the consensus plot: `k` of `n` attributes, `percent` of 0 to 100."""

    label: str
    percent: float
    k: int
    n: int


def consensus(bars: Sequence[Bar], *, study: str, simulated: bool) -> Figure:
    """For each label, the percentage of attributes on which at least 2 annotators chose that very label
    (PROTOCOL §2; ViSAGe, figure 6).

    `bars` in the order of the scale, at least one. `simulated` answers are named as such in the picture,
    since a picture travels without its page.
    """
    # altair takes most of a second to import: too long for every command to pay.
    import altair as alt

    n = bars[0].n
    order = [bar.label for bar in bars]
    top = _top(max(bar.percent for bar in bars))
    data = [
        {
            "label": bar.label,
            "percent": bar.percent,
            "text": f"{bar.percent:.1f} %  ({bar.k:,})",
            "said": f"{bar.k:,} of {bar.n:,} attributes",
        }
        for bar in bars
    ]
    base = alt.Chart(alt.Data(values=data)).encode(
        y=alt.Y("label:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8)),
        x=alt.X(
            "percent:Q",
            title="attributes on which at least 2 annotators chose the label (%)",
            scale=alt.Scale(domain=[0, top], nice=False),
            axis=alt.Axis(values=_ticks(top), format="d"),
        ),
        tooltip=[
            alt.Tooltip("label:N", title="Label"),
            alt.Tooltip("percent:Q", title="Percent", format=".1f"),
            alt.Tooltip("said:N", title="Consensus on"),
        ],
    )
    shown = titled(study, simulated=simulated)
    chart = alt.layer(
        base.mark_bar(color=BAR, height=20),
        base.mark_text(align="left", baseline="middle", dx=6, color=INK, fontSize=12).encode(text="text:N"),
    ).properties(
        width=440,
        height=alt.Step(34),
        background="white",
        padding=14,
        title=alt.Title(
            "Consensus on the visual nature of attributes", subtitle=f"{shown}; n = {n:,} attributes"
        ),
    )
    said = "; ".join(f"{bar.label} {bar.percent:.1f} % ({bar.k:,})" for bar in bars)
    return Figure(
        name="consensus",
        title="Consensus on the visual nature of attributes",
        alt=(
            f"Bar chart: attributes on which at least 2 annotators chose the same label, "
            f"of {n:,} attributes{' (simulated answers)' if simulated else ''}. {said}."
        ),
        columns=("label", "percent", "attributes_with_consensus", "attributes", "answers"),
        rows=tuple((bar.label, bar.percent, bar.k, bar.n, given(simulated=simulated)) for bar in bars),
        spec=styled(chart),
    )


def _top(highest: float) -> float:
    """The end of the axis: room for the longest bar's number, never past what can be (100 %)."""
    return max(10.0, min(125.0, 1.28 * highest))


def _ticks(top: float) -> list[int]:
    """Round numbers along the axis, none past 100 %."""
    step = next(step for step in (2, 5, 10, 20) if top / step <= 8)
    return [tick for tick in range(0, 101, step) if tick <= top]
