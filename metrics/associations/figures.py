"""Figures after BiasDora's 3, 4, 6 and 7: shares of negative and toxic pairs, and bias levels, by dimension
and setting. They show numbers of dimensions, never words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Axis
from generation.recipes.recipes import FAKE
from metrics.associations.judgements import LEVEL, SENTIMENT, TOXICITY, judging_run
from metrics.associations.summary import BY_MODEL, BY_PEOPLE, LEAST, MOST, LevelRow, ShareRow, Summary
from metrics.core.answers import has_simulated_answers
from metrics.core.charts.figure import SEQUENCE, Figure, apply_style
from metrics.models import AssociationList
from metrics.votes.charts import Dot, Plot, dot_chart

ALL_DIMENSIONS = "all dimensions"
_SIMULATED = " – simulated answers"
_INTERVALS = "95 % intervals, clustered by descriptor."
_CELL = 46


@dataclass(frozen=True)
class Drawn:
    """How a figure is titled. `after`: the figure of the paper that it follows; `what`: which judgements it
    shows, "" for those of people."""

    title: str
    axis: str
    after: str
    what: str = ""


FIGURES = {
    "negative": Drawn(
        "Significant associations with negative sentiment", "share of negative pairs", "3", SENTIMENT
    ),
    "toxic": Drawn("Significant associations that are toxic", "share of toxic pairs", "4", TOXICITY),
    "levels-by-people": Drawn("Bias level by people", "mean level, 1 to 5", "6"),
    "levels-by-model": Drawn("Bias level by a model", "mean level, 1 to 5", "7", LEVEL),
}
"""Name -> a figure of a run."""


def association_figure(found: AssociationList, rows: Summary, name: str, *, variant: str) -> Figure | None:
    """The figure `name` of FIGURES; None if nothing was judged for it."""
    drawn = FIGURES[name]
    subtitle = (_model(found), f"judged by {_judges(found, drawn.what)}; significant pairs, {variant}")
    if name in ("negative", "toxic"):
        return _shares(rows.shares_of(name), name, drawn, subtitle)
    by = BY_PEOPLE if name == "levels-by-people" else BY_MODEL
    return _levels(rows.levels_by(by), name, drawn, subtitle)


def dimension_label(dimension: str) -> str:
    """The name of a dimension in a figure."""
    return str(Axis(dimension).label) if dimension else ALL_DIMENSIONS


def setting_label(setting: str) -> str:
    """The name of a setting in a figure: 'T2T singular'."""
    modality, _, short = setting.partition("-")
    return f"{modality.upper()} {short}"


def _model(found: AssociationList) -> str:
    run = found.run
    return f"{run.model}{_SIMULATED if run.backend == FAKE else ''}; run {run.name}"


def _judges(found: AssociationList, what: str) -> str:
    if not what:
        simulated = any(has_simulated_answers(study) for study in found.studies.all())
        return f"people{_SIMULATED if simulated else ''}"
    run = judging_run(found.run, what)
    if run is None:
        return "nobody"
    lexicon = "VADER, a lexicon" if run.backend == "vader" else run.model
    return f"{lexicon}{_SIMULATED if run.backend == FAKE else ''}"


def _shares(rows: Sequence[ShareRow], name: str, drawn: Drawn, subtitle: tuple[str, ...]) -> Figure | None:
    dots = [
        Dot(
            row=dimension_label(row.dimension),
            series=setting_label(row.setting),
            value=row.share.value,
            n=row.share.n,
            k=round(row.share.k),
            low=row.share.low,
            high=row.share.high,
        )
        for row in rows
        if row.share.value is not None
    ]
    if not dots:
        return None
    plot = Plot(
        name=name,
        title=drawn.title,
        subtitle=subtitle,
        axis_title=drawn.axis,
        row_title="Dimension",
        n_title="Judged pairs",
        unit="share",
        notes=(_INTERVALS, f"After BiasDora, figure {drawn.after}."),
    )
    return dot_chart(dots, plot)


def _levels(rows: Sequence[LevelRow], name: str, drawn: Drawn, subtitle: tuple[str, ...]) -> Figure | None:
    """A heat map: a cell for each dimension and setting with a judged pair."""
    if not rows:
        return None
    # altair takes most of a second to import, too long for every command
    from metrics.core.charts.drawing import alt

    data = [_cell(row) for row in rows]
    dimensions, settings = (
        list(dict.fromkeys(cell[key] for cell in data)) for key in ("dimension", "setting")
    )
    across = alt.X(
        "setting:N",
        sort=settings,
        title=None,
        axis=alt.Axis(orient="top", labelAngle=-30, ticks=False, domain=False),
    )
    down = alt.Y("dimension:N", sort=dimensions, title=None, axis=alt.Axis(ticks=False, domain=False))
    colour = alt.Color(
        "level:Q",
        scale=alt.Scale(domain=[LEAST, MOST], range=list(SEQUENCE)),
        legend=alt.Legend(title=drawn.axis, values=list(range(LEAST, MOST + 1)), format="d"),
    )
    tooltip = [
        alt.Tooltip("dimension:N", title="Dimension"),
        alt.Tooltip("setting:N", title="Setting"),
        alt.Tooltip("text:N", title="Mean level"),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("n:Q", title="Judged pairs"),
    ]
    base = alt.Chart().encode(x=across, y=down)
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip)
    # either has a contrast of at least 4.5 there
    ink = alt.condition("datum.level > 3.2", alt.value("white"), alt.value("black"))
    text = base.mark_text(fontSize=12).encode(text="text:N", color=ink)
    values: Any = alt.Data(values=tuple(data))  # type: ignore[no-untyped-call]
    chart: Any = alt.layer(cells, text, data=values).properties(
        width=alt.Step(_CELL + 24), height=alt.Step(_CELL - 12)
    )
    told = "; ".join(
        f"{cell['dimension']}, {cell['setting']}: {cell['text']} (n {cell['n']:,})" for cell in data
    )
    return Figure(
        name=name,
        title=drawn.title,
        alt=f"{drawn.title}: {drawn.axis}, by dimension and setting. {told}.",
        columns=(
            "dimension",
            "setting",
            "level",
            "low",
            "high",
            "judged_pairs",
            "significant_pairs",
            "answers",
        ),
        rows=tuple(
            (
                *(dimension_label(row.dimension), setting_label(row.setting)),
                *(row.level.value, row.level.low, row.level.high, row.level.n, row.pairs, row.answers),
            )
            for row in rows
        ),
        spec=apply_style(chart, drawn.title, list(subtitle)),
        notes=(
            "1 not at all, 2 slightly, 3 moderately, 4 highly, 5 extremely biased.",
            _INTERVALS,
            f"After BiasDora, figure {drawn.after}.",
        ),
    )


def _cell(row: LevelRow) -> dict[str, Any]:
    level = row.level
    interval = "none" if level.low is None else f"{level.low:.2f} to {level.high:.2f}"
    return {
        "dimension": dimension_label(row.dimension),
        "setting": setting_label(row.setting),
        "level": level.value,
        "text": f"{level.value:.2f}",
        "interval": interval,
        "n": level.n,
    }
