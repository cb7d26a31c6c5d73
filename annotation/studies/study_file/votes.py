"""Whether the answers to a study can make a stereotype by its own rule (PROTOCOL §3). Pure: no Django."""

from collections.abc import Mapping
from typing import Any

from annotation.core import strata
from annotation.studies.errors import KeyPath, StudyFileError
from annotation.studies.errors import gettext_noop as _
from annotation.studies.study_file.tasks import default_strata

_OTHER_POOL = {"in": strata.OUT_REGION, "out": strata.IN_REGION}

_ANYWHERE = _(
    "%(it)s is more than the number of answers that an item can get from the annotators whose votes count "
    "(%(there)s). No association can become a stereotype. Lower it, change %(pool)s, or add lines to "
    "%(answers)s."
)
_OUTSIDE_NORTH_AMERICA = _(
    "%(it)s is more than the number of answers that an item about a group outside North America can get from "
    "the annotators whose votes count (%(there)s). No association of such a group can become a stereotype. "
    "Lower it, change %(pool)s, or add lines to %(answers)s."
)


def find_too_few_votes(document: Mapping[str, Any]) -> StudyFileError | None:
    """A warning if an item of the study can get fewer votes of the pool that counts than the rule needs; None
    if it can get enough. People of either pool may fill a quota that names neither."""
    rule = document.get("stereotypes", {})
    needed, other = rule.get("threshold", 2), _OTHER_POOL[rule.get("pool", "out")]
    for number, task in enumerate(document.get("tasks", []), 1):
        if task.get("kind") != "prevalence":
            continue
        quotas = task.get("strata") or ("any",) * task.get("overlap", 0) or default_strata("prevalence")
        there = sum(other not in {field for field, *_rest in strata.written_clauses(text)} for text in quotas)
        if there < needed:
            # out-region annotators live in North America: about its groups, their votes are in-region ones
            elsewhere = other == strata.OUT_REGION and len(quotas) >= needed
            return StudyFileError(
                _OUTSIDE_NORTH_AMERICA if elsewhere else _ANYWHERE,
                key="stereotypes.threshold",
                value=needed,
                there=there,
                pool=KeyPath("stereotypes.pool"),
                answers=KeyPath(f"tasks[{number}].strata"),
            )
    return None
