"""Lists of associations: requested by a page, found by a worker, and stored (PROTOCOL §11)."""

from collections.abc import Iterator

from annotation.core.leases import Claim
from generation.models import Run
from metrics.associations import evaluation
from metrics.associations.evaluation import AssociationsRefused, FoundSetting
from metrics.associations.labels import LabelsRefused
from metrics.associations.services import judging
from metrics.core.run_lists import RunLists, replace_rows
from metrics.models import AssociationList, ModelAssociation

_COLUMNS = (
    *("tf", "df", "score", "p_value", "significant"),
    *("corrected_tf", "corrected_df", "corrected_score", "z", "q", "significant_corrected"),
)


def _digest(found: AssociationList) -> str:
    return evaluation.digest(found.run)


def _find(claim: Claim[AssociationList]) -> None:
    [found] = claim.jobs
    digest = _digest(found)
    facts = {}
    for one in evaluation.evaluate(found.run).settings():
        facts[one.setting.value] = one.facts
        if not _store(claim, one):
            return
    judging.apply(found)
    claim.finish(digest=digest, settings=facts)


def _store(claim: Claim[AssociationList], one: FoundSetting) -> bool:
    [found] = claim.jobs
    there = {(one.setting.value, group, row.word) for row in one.associations for group in row.groups}
    return replace_rows(
        claim,
        found.associations.filter(setting=one.setting.value),
        _rows(found, one),
        parent="association_list",
        key=("setting", "group", "word"),
        columns=_COLUMNS,
        kept=there.__contains__,
    )


LISTS = RunLists(AssociationList, digest=_digest, find=_find, refused=(AssociationsRefused, LabelsRefused))
is_stale, retry = LISTS.is_stale, LISTS.retry
compute, waiting, compute_pending = LISTS.compute, LISTS.waiting, LISTS.compute_pending


def request(*, run: Run) -> AssociationList:
    """The list of a run for its present answers (`RunLists.request`). Raises AssociationsRefused. Call
    tasks.enqueue(list) afterwards."""
    evaluation.check_run(run)
    return LISTS.request(run, evaluation.digest(run))


def _rows(found: AssociationList, one: FoundSetting) -> Iterator[ModelAssociation]:
    for row in one.associations:
        values = {column: getattr(row, column) for column in _COLUMNS}
        for group in row.groups:
            yield ModelAssociation(
                association_list=found,
                setting=one.setting.value,
                group_id=group,
                word=row.word,
                **values,
            )
