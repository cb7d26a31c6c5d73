"""A plan in words and rows, for a preregistration. Pure: no Django. English, as the files are."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

from metrics.planning.curves import PlanResult, Point
from metrics.planning.pilot import Estimates
from metrics.planning.stats import POWER

NAMES = {
    "l_stereo": "L(stereo)",
    "theta": "θ",
    "alpha": "Krippendorff's α",
    "difference": "difference of L(stereo)",
    POWER: "power",
}
COLUMNS = (
    *("varied", "images", "annotators", "overlap", "l_stereo_half_width", "theta_factor", "alpha_half_width"),
    *("difference_half_width", "power", "answers", "hours", "hours_per_annotator", "cost"),
)
REFERENCE = (
    "Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). Robust inference with multiway clustering. "
    "Journal of Business & Economic Statistics, 29(2), 238-249. doi:10.1198/jbes.2010.07136"
)
_COLUMN_OF = {
    "l_stereo": "l_stereo_half_width",
    "theta": "theta_factor",
    "alpha": "alpha_half_width",
    "difference": "difference_half_width",
    POWER: POWER,
}
_VARIED = {"": "chosen", "images": "images", "people": "annotators", "overlap": "overlap"}

Cell = str | int | float | None


@dataclass(frozen=True)
class Pilot:
    """The study that assumptions were estimated from. `seconds`: the median time for an answer, if known."""

    title: str
    estimates: Estimates
    simulated: bool = False
    seconds: float | None = None


def shown(name: str, value: float) -> str:
    """A half-width or the power as people read it.

    Examples
    --------
    >>> shown("l_stereo", 0.0712), shown("theta", 1.706), shown("alpha", 0.14), shown("power", 0.812)
    ('± 7.1 points', '×/÷ 1.71', '± 0.14', '81 %')
    >>> shown("theta", float("nan"))
    'no interval in most studies'
    """
    if math.isnan(value):
        return "no interval in most studies"
    if name == POWER:
        return f"{100 * value:.0f} %"
    if name == "theta":
        return f"×/÷ {value:.2f}"
    return f"± {value:.2f}" if name == "alpha" else f"± {100 * value:.1f} points"


def value_shown(name: str, value: float) -> str:
    """A true value as people read it.

    Examples
    --------
    >>> value_shown("l_stereo", 0.2), value_shown("theta", 2.0), value_shown("difference", 0.05)
    ('20.0 %', '2.00', '5.0 points')
    """
    if name in ("theta", "alpha"):
        return f"{value:.2f}"
    return f"{100 * value:.1f} %" if name == "l_stereo" else f"{100 * value:.1f} points"


def rows(result: PlanResult) -> list[dict[str, Cell]]:
    """The chosen design, then the points of each curve; half-widths as shares, not points."""
    return [_row(each) for each in (result.chosen, *(p for one in result.curves.values() for p in one))]


def as_csv(result: PlanResult) -> str:
    """The rows as a CSV file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(result))
    return out.getvalue()


def paragraph(result: PlanResult, *, version: str, pilot: Pilot | None = None) -> str:
    """The plan as a text for a preregistration."""
    plan, design, chosen = result.plan, result.plan.design, result.chosen
    widths = [f"{NAMES[name]} {shown(name, value)}" for name, value in chosen.values.items() if name != POWER]
    parts = [
        f"Sample size. Each identity group is judged on {design.images} images, each by {design.overlap} of "
        f"{design.people} annotators, with {plan.stereotypical} stereotypical and {plan.others} other "
        f"attributes. We expect these half-widths of 95 % intervals: {'; '.join(widths)}.",
    ]
    if POWER in chosen.values:
        parts.append(
            f"The power to find a difference of {100 * plan.difference:.1f} points in L(stereo) between two "
            f"models, with {design.images} images each and the same annotators, is "
            f"{shown(POWER, chosen.values[POWER])} (two-sided, p < 0.05, before adjusting for several "
            "comparisons)."
        )
    parts.append(_assumed(result, pilot))
    work, groups = chosen.work, result.costs.groups
    counted = f"{groups} identity group{'' if groups == 1 else 's'}"
    parts.append(
        f"This takes {work.slots:,} answers, about {work.hours:.1f} hours at {result.costs.seconds:g} "
        f"seconds each ({counted}{_both(result)}), and costs {work.cost:,.2f} at "
        f"{result.costs.pay:g} an hour."
    )
    parts.append(
        f"The numbers are means over {result.studies[0]} simulated studies (seed {result.seed}), whose "
        "intervals and p were computed as those of the study will be: from two-way cluster-robust standard "
        "errors over images and annotators (Cameron, Gelbach & Miller 2011) and a t distribution. "
        f"Software: {version}."
    )
    return "\n\n".join([" ".join(parts[:-1]), parts[-1], REFERENCE]) + "\n"


def _assumed(result: PlanResult, pilot: Pilot | None) -> str:
    plan, design = result.plan, result.plan.design
    source = "We assume"
    if pilot is not None:
        found = pilot.estimates
        marked = ", simulated answers" if pilot.simulated else ""
        source = (
            f"Estimated from the study “{pilot.title}”{marked} ({found.answers} answers about {found.images} "
            f"images by {found.annotators} annotators), we assume"
        )
    return (
        f"{source} that stereotypical attributes are selected in {100 * plan.l_stereo:.1f} % and others in "
        f"{100 * plan.l_random:.1f} % of answers, with standard deviations in logits of {plan.apart:.2f} "
        f"between attributes, {design.of_images:.2f} between images for an attribute, "
        f"{design.of_whole_images:.2f} between whole images and {design.of_people:.2f} between annotators; "
        f"this is a Krippendorff's α of {result.true_values['alpha']:.2f}."
    )


def _both(result: PlanResult) -> str:
    return ", two models" if "difference" in result.measures else ""


def _row(point: Point) -> dict[str, Cell]:
    design, work = point.design, point.work
    found: dict[str, Cell] = dict.fromkeys(COLUMNS)
    found |= {"varied": _VARIED[point.varied], "images": design.images, "annotators": design.people}
    found |= {"overlap": design.overlap, "answers": work.slots, "hours": work.hours}
    found |= {"hours_per_annotator": work.hours_each, "cost": work.cost}
    values = {_COLUMN_OF[name]: None if math.isnan(value) else value for name, value in point.values.items()}
    return found | values
