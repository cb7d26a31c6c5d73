"""Lists of candidates: requested by a page, found by a worker, and stored (PROTOCOL §14)."""

from collections.abc import Iterator
from dataclasses import asdict

from annotation.core.leases import Claim
from generation.models import Run
from metrics.candidates import evaluation
from metrics.candidates.evaluation import CandidatesRefused, Evaluated
from metrics.candidates.selection import MOST_PER_REGION
from metrics.core.run_lists import RunLists, replace_rows
from metrics.models import Candidate, CandidateList


def _digest(found: CandidateList) -> str:
    return evaluation.digest(found.run, axis=found.axis, per_region=found.per_region)


def _find(claim: Claim[CandidateList]) -> None:
    [found] = claim.jobs
    digest = _digest(found)
    result = evaluation.evaluate(found.run, axis=found.axis, per_region=found.per_region)
    there = {(row.group, row.attribute) for row in result.candidates}
    stored = replace_rows(
        claim,
        Candidate.objects.filter(candidate_list=found),
        _rows(found, result),
        parent="candidate_list",
        key=("group", "attribute"),
        columns=("also", "count", "tf", "idf", "salience", "selected"),
        kept=there.__contains__,
    )
    if stored:
        claim.finish(digest=digest, rules=asdict(result.extracted.rules))


LISTS = RunLists(CandidateList, digest=_digest, find=_find, refused=CandidatesRefused)
is_stale, retry = LISTS.is_stale, LISTS.retry
compute, waiting, compute_pending = LISTS.compute, LISTS.waiting, LISTS.compute_pending


def request(*, run: Run, axis: str = "", per_region: int = MOST_PER_REGION) -> CandidateList:
    """The list of a run for its present answers (`RunLists.request`). `axis` "": what the run was planned
    for. Raises CandidatesRefused. Call tasks.enqueue(list) afterwards."""
    evaluation.check_run(run)
    axis = axis or evaluation.axis_of(run)
    wanted = evaluation.digest(run, axis=axis, per_region=per_region)
    return LISTS.request(run, wanted, axis=axis, per_region=per_region)


def _rows(found: CandidateList, result: Evaluated) -> Iterator[Candidate]:
    also: dict[tuple[int, str], list[str]] = {}
    for group, merged in result.extracted.merged.items():
        for duplicate, attribute in merged.items():
            also.setdefault((group, attribute), []).append(duplicate)
    for row in result.candidates:
        yield Candidate(
            candidate_list=found,
            group_id=row.group,
            attribute=row.attribute,
            also=sorted(also.get((row.group, row.attribute), ())),
            count=row.given,
            tf=row.tf,
            idf=row.idf,
            salience=row.salience,
            selected=row.selected,
        )
