"""What too few people of each pool of annotators answered about: scores are of one pool (PROTOCOL §3)."""

from collections import defaultdict
from collections.abc import Mapping

from annotation.models import Study, TaskKind
from metrics.core.annotator_groups import group_labeller
from metrics.core.answers import counted_judgements
from metrics.report.queries.few import Few, few_of

_POOLS = ("in-region", "out-region")
_OVERLAP = "both"
_OTHERS = "neither"


def read_few_pools(study: Study) -> dict[str, Few]:
    """{pool: what too few of its people answered about} of associations; each answer of somebody who is not
    known counts as one person. The overlap is not among them: it shows the votes of both. A few queries."""
    pool_of = group_labeller(study, "pool")
    about = "response__unit__association"
    answers = counted_judgements(study, TaskKind.PREVALENCE).filter(**{f"{about}__isnull": False})
    rows: dict[str, list[tuple[int | None, int, int]]] = defaultdict(list)
    for group, region, attribute, response, annotator, stratum in answers.order_by().values_list(
        f"{about}__group_id",
        f"{about}__group__region",
        f"{about}__attribute_id",
        "response_id",
        "response__annotator_id",
        "response__slot__stratum",
    ):
        pool = pool_of([annotator, stratum, region])
        who = -response if annotator is None else annotator
        rows[pool if pool in _POOLS else _OTHERS].append((group, attribute, who))
    return {pool: few_of(found) for pool, found in rows.items()}


def few_in_parts(few: Mapping[str, Few]) -> list[tuple[str, Few]]:
    """(text in a score's part, what is hidden there): the overlap hides what either pool hides."""
    overlap = [(f"pool: {_OVERLAP}", one) for pool, one in few.items() if pool in _POOLS]
    return [*((f"pool: {pool}", one) for pool, one in few.items()), *overlap]
