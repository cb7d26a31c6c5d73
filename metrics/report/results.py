"""The results of a report: those of the study's first page, from the runs that the report shows."""

from dataclasses import replace

from metrics.core.annotator_groups import MIN_GROUP_SIZE
from metrics.dashboards.queries.results import GroupScore, Offensiveness, Results
from metrics.report.queries.runs import Runs


def shown_results(results: Results, runs: Runs) -> Results:
    """`results` without runs, tasks and identity groups that are left out of the report."""
    shown = {stored.slug: stored for stored in runs.shown}

    def of(metric: str) -> bool:
        return metric in shown

    hidden = {name: stored.few.without_means for name, stored in shown.items()}

    def totals(metric: str) -> bool:
        return of(metric) and not shown[metric].few.hides_totals

    def many(metric: str, rows: tuple[GroupScore, ...]) -> tuple[GroupScore, ...]:
        return tuple(row for row in rows if row.group.pk not in hidden[metric]) if of(metric) else ()

    found = results.offensiveness
    if found is not None:
        rated = totals("rated_offensiveness")
        found = Offensiveness(
            mean_attribute=found.mean_attribute if rated else None,
            mean_stereotypes=found.mean_stereotypes if rated else None,
            rated_groups=many("rated_offensiveness", found.rated_groups),
            depicted_groups=many("offensiveness", found.depicted_groups),
        )
    return replace(
        results,
        ranking=tuple(row for row in results.ranking if row.group.pk not in hidden["tendency"])
        if of("tendency")
        else (),
        consensus=results.consensus if totals("consensus") else (),
        rules=results.rules if totals("visual_rules") else (),
        prevalence=tuple(
            row for row in results.prevalence if shown["prevalence"].shows_total(f"pool: {row.pool}")
        )
        if of("prevalence")
        else (),
        offensiveness=found,
        agreement=tuple(row for row in results.agreement if shown["agreement"].shows_total(row.part))
        if of("agreement")
        else (),
        pull=results.pull if of("pull") else None,
        # shown with the totals alone: then no group is hidden
        levels=replace(
            results.levels,
            pairs=tuple(
                pair
                for pair in results.levels.pairs
                if pair.n >= MIN_GROUP_SIZE
                and pair.attribute_id not in shown["bias_levels"].few.attributes.get(pair.group_id, ())
            ),
        )
        if results.levels and totals("bias_levels")
        else None,
    )
