"""Every metric there is, as a list that can be read (DESIGN §7). docs/metrics.md is made from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from metrics.core.suggestions import did_you_mean
from metrics.score_runs.metric import VARIANTS, Metric

_registered: dict[str, Metric] = {}


def register(*found: Metric) -> None:
    """Add metrics, in the order in which they are listed. Raises ValueError for a second one of a name.

    The app registers those of metrics/measures.py when Django starts, so that rooms beneath those that
    declare them can look them up.
    """
    for metric in found:
        if _registered.setdefault(metric.name, metric) is not metric:
            raise ValueError(f"There are two metrics '{metric.name}'.")


def metrics() -> tuple[Metric, ...]:
    """Every metric there is."""
    return tuple(_registered.values())


def get(name: str) -> Metric:
    """The metric of that name; raises ValueError naming the nearest one and all there are."""
    if name in _registered:
        return _registered[name]
    known = list(_registered)
    raise ValueError(
        f"There is no metric '{name}'.{did_you_mean(name, known)} There are: {', '.join(known)}."
    )


def of_tasks(kinds: Collection[str]) -> list[Metric]:
    """The metrics that can be computed from answers to tasks of these kinds, the usual one first."""
    return [metric for metric in metrics() if metric.source == "answers" and metric.task in kinds]


def check_variant(metric: Metric, variant: str) -> None:
    """Raises ValueError unless `metric` can be computed as `variant`."""
    if variant not in VARIANTS:
        raise ValueError(
            f"There is no variant '{variant}' of {metric.name}.{did_you_mean(variant, list(VARIANTS))} "
            f"There are: {', '.join(VARIANTS)}."
        )


def parameters(metric: Metric, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every parameter of `metric` with its value, in the registry's order: as given, or the default.

    Raises ValueError for one that the metric does not have.
    """
    given = given or {}
    known = [each.name for each in metric.parameters]
    for name in given:
        if name not in known:
            there = f"It has: {', '.join(known)}." if known else "It has none."
            raise ValueError(f"{metric.name} has no parameter '{name}'.{did_you_mean(name, known)} {there}")
    return {each.name: str(given.get(each.name, each.default)) for each in metric.parameters}


def as_markdown() -> str:
    """The metrics section of docs/metrics.md; a test holds the two together."""
    parts = []
    for metric in metrics():
        names = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in metric.names)
        parts.append(
            f"### `{metric.name}`: {metric.title} (version {metric.version})\n\n{metric.definition}\n\n"
            f"| score | meaning |\n| --- | --- |\n{names}\n\n"
            f"- computed from: {describe_source(metric)}\n{_optional_lines(metric)}- unit: {metric.unit}\n"
            f"- reading: {metric.direction}\n"
            f"- variants: {metric.variants_note}\n"
            f"- interval: {f'95 %, {metric.resampling}' if metric.interval else 'none'}\n"
            f"- source: PROTOCOL {metric.section}; {metric.reference}\n"
        )
    return "\n".join(parts)


def describe_source(metric: Metric) -> str:
    """What a metric is computed from."""
    if metric.source == "answers":
        return f"answers to `{metric.task}` tasks"
    if metric.source == "ratings":
        return "answers to tasks of every kind"
    found = "votes of the stereotype source" if metric.source == "votes" else f"{metric.source} of images"
    return f"{found}, beside answers to `{metric.task}` tasks" if metric.task else found


def _optional_lines(metric: Metric) -> str:
    lines = [f"- parts: {metric.parts}\n"] if metric.parts else []
    lines += [
        f"- parameter `{each.name}` (default `{each.default}`): {each.meaning}\n"
        for each in metric.parameters
    ]
    if metric.caveats:
        lines.append(f"- caveats: {metric.caveats}\n")
    return "".join(lines)
