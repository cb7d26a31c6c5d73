"""Agreement rows as scores, one for each number (PROTOCOL §10)."""

import zlib

from metrics.agreement.scores.evaluation import evaluate_agreement
from metrics.agreement.scores.rows import AgreementRow
from metrics.agreement.scores.subjects import PER
from metrics.core.annotator_groups import GROUPINGS
from metrics.depiction.scores.measures import shared_tallies
from metrics.score_runs.rows import Inputs, ScoreRow, bounds

# a part with two names must fit into its column
_LONGEST = 40


def agreement_scores(inputs: Inputs) -> list[ScoreRow]:
    by = inputs.parameters["by"]
    if by not in {"none", *GROUPINGS}:
        raise ValueError(f"Annotators can be compared by none, {', '.join(GROUPINGS)}; not by '{by}'.")
    found = evaluate_agreement(
        study=inputs.study,
        by=None if by == "none" else by,
        per=PER,
        resamples=inputs.resamples,
        seed=inputs.seed,
        clustered=inputs.clustered,
        known_tallies=shared_tallies(inputs.study),
    )
    return [score for row in found for score in _scores(row)]


def _scores(row: AgreementRow) -> list[ScoreRow]:
    """A score for each number of `row`; no α for a single unit: chance is computed from other units."""
    if row.scope == "difference":
        return _differences(row)
    numbers: dict[str, tuple[int, int | None]] = {"percentage": (row.pairs, row.agreeing)}
    if row.units > 1:
        numbers["cross_kappa" if row.scope == "between" else "alpha"] = (row.units, None)
        if row.level == "nominal" and row.scope != "between":
            numbers["fleiss_kappa"] = (row.units, None)
    if row.box_pairs is not None:
        numbers["box_iou"] = (row.box_pairs, None)
    if row.annotators is not None:
        numbers["annotators"] = (row.annotators, None)
    return [
        ScoreRow(
            name=name,
            value=getattr(row, name),
            n=n,
            k=k,
            group_id=row.identity_id,
            group=row.identity,
            attribute_id=row.attribute_id,
            attribute=row.attribute,
            part=part_of(row),
            **bounds(row.intervals.get(name)),
        )
        for name, (n, k) in numbers.items()
        if n
    ]


def _differences(row: AgreementRow) -> list[ScoreRow]:
    """The differences of `row`, each with its p and q."""
    found = []
    for name, n in (("percentage", row.pairs), ("alpha", row.units)):
        numbers = (
            ("", getattr(row, name), row.intervals.get(name)),
            ("_p", row.p.get(name), None),
            ("_q", row.q.get(name), None),
        )
        found += [
            ScoreRow(f"{name}_difference{end}", value, n, part=part_of(row), **bounds(interval))
            for end, value, interval in numbers
            if value is not None
        ]
    return found


def part_of(row: AgreementRow) -> str:
    """The `part` of the scores of `row`, as described in the registry."""
    part = f"task: {row.task}; reading: {row.level}"
    if row.scope == "within":
        return f"{part}; within: {shortened(row.group)}"
    if row.scope == "between":
        return f"{part}; between: {shortened(row.group)} and {shortened(row.other)}"
    if row.scope == "difference":
        return f"{part}; difference: {shortened(row.group)} and {shortened(row.other)}"
    return part


def shortened(name: str) -> str:
    """A self-described name of any length, shortened so that two long names stay distinct."""
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 10]}… {zlib.crc32(name.encode()):08x}"
