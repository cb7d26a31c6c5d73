"""The registry of metrics (DESIGN §7). docs/metrics.md is generated from it."""

from collections.abc import Collection, Mapping

from django.contrib.auth.models import User

from annotation.models import Study
from metrics.core.suggestions import did_you_mean
from metrics.models import RunIntervals, ScoreRun
from metrics.score_runs.metric import VARIANTS, Metric

_registered: dict[str, Metric] = {}


def register(*found: Metric) -> None:
    """Add metrics, in listing order, when Django starts. Raises ValueError if two have the same name."""
    for metric in found:
        if _registered.setdefault(metric.name, metric) is not metric:
            raise ValueError(f"There are two metrics '{metric.name}'.")


def metrics() -> tuple[Metric, ...]:
    """All registered metrics."""
    return tuple(_registered.values())


def get(name: str) -> Metric:
    """The metric of that name. Raises ValueError with a suggestion and a list of all metrics."""
    if name in _registered:
        return _registered[name]
    known = list(_registered)
    raise ValueError(
        f"There is no metric '{name}'.{did_you_mean(name, known)} There are: {', '.join(known)}."
    )


def of_tasks(kinds: Collection[str]) -> list[Metric]:
    """The metrics computed from answers to tasks of these kinds, the most common first."""
    return [metric for metric in metrics() if metric.source == "answers" and metric.task in kinds]


def check_variant(metric: Metric, variant: str) -> None:
    """Raise ValueError unless `variant` exists."""
    if variant not in VARIANTS:
        raise ValueError(
            f"There is no variant '{variant}' of {metric.name}.{did_you_mean(variant, list(VARIANTS))} "
            f"There are: {', '.join(VARIANTS)}."
        )


def parameters(metric: Metric, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every parameter of `metric` with the given or the default value, in the registry's order. Raises
    ValueError for an unknown parameter.
    """
    given = given or {}
    known = [each.name for each in metric.parameters]
    for name in given:
        if name not in known:
            there = f"It has: {', '.join(known)}." if known else "It has none."
            raise ValueError(f"{metric.name} has no parameter '{name}'.{did_you_mean(name, known)} {there}")
    return {each.name: str(given.get(each.name, each.default)) for each in metric.parameters}


def permitted_parameters(
    user: User, study: Study, metric: Metric, given: Mapping[str, str]
) -> dict[str, str]:
    """`parameters`, if `user` may use them. Raises ValueError for an unknown parameter, and for groups of
    annotators or another study that the user may not see."""
    found = parameters(metric, given)
    metric.check_offered(user, study, found)
    metric.check_readable(user, found)
    return found


def as_markdown() -> str:
    """The metrics section of docs/metrics.md; a test compares the two."""
    parts = []
    for metric in metrics():
        names = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in metric.names)
        parts.append(
            f"### `{metric.name}`: {metric.title} (version {metric.version})\n\n{metric.definition}\n\n"
            f"| score | meaning |\n| --- | --- |\n{names}\n\n"
            f"- computed from: {describe_source(metric)}\n{_optional_lines(metric)}- unit: {metric.unit}\n"
            f"- reading: {metric.direction}\n"
            f"- variants: {metric.variants_note}\n"
            f"- interval: {describe_interval(metric) or 'none'}\n"
            f"- source: PROTOCOL {metric.section}; {metric.reference}\n"
        )
    return "\n".join(parts)


def describe_interval(metric: Metric) -> str | None:
    """What the intervals of a metric are computed from, by either method; None if it has none."""
    if not metric.interval:
        return None
    methods = [f"clustered by {metric.clustering}" if metric.clustering else "", metric.resampling]
    return f"95 %, {'; or '.join(filter(None, methods))}"


def describe_method(run: ScoreRun) -> str:
    """How the intervals of `run` were computed."""
    if run.intervals == RunIntervals.CLUSTERED:
        return f"95 % intervals from clustered standard errors of {get(run.metric).clustering}"
    if not run.resamples:
        return "no intervals"
    return f"95 % bootstrap intervals, {run.resamples:,} resamples, seed {run.seed}"


def describe_source(metric: Metric) -> str:
    """The data that a metric is computed from, in words."""
    if metric.source == "answers":
        return f"answers to `{metric.task}` tasks"
    if metric.source == "ratings":
        return "answers to tasks of every kind"
    if metric.source == "machine judge":
        return "answers of a machine judge, beside those of people"
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
