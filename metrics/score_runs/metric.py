"""What a room says of each of its metrics: in words, and what computes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User

from annotation.models import Study
from metrics.core.answers import describe_stereotype_rule
from metrics.score_runs.rows import Compute

VARIANTS = ("corrected", "published")
VISAGE = "Jha et al. (2024), ViSAGe, ACL 2024, doi:10.18653/v1/2024.acl-long.667"
SEEGULL = "Jha et al. (2023), SeeGULL, ACL 2023, doi:10.18653/v1/2023.acl-long.548"
SOURCES = ("answers", "ratings", "votes", "captions", "embeddings")


Parameters = Mapping[str, str]


class NothingToCompute(ValueError):
    """What a metric would be computed from is not there. The message says how to make it."""


def stereotype_rule(study: Study, parameters: Parameters) -> str:
    """The `rule` of metrics that tell stereotypes from other attributes."""
    return describe_stereotype_rule(study)


def _no_other_inputs(study: Study, parameters: Parameters) -> list[object]:
    return []


def _anything(study: Study, parameters: Parameters) -> None:
    pass


def _for_everybody(user: User, parameters: Parameters) -> None:
    pass


def _offered_to_everybody(user: User, study: Study, parameters: Parameters) -> None:
    pass


@dataclass(frozen=True)
class Parameter:
    """A choice that changes the numbers. Values are text, so that a run stores them as they were given."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Metric:
    """`version` changes whenever the numbers can; a stored score names the version that made it.

    `source`: what it is computed from: the study's 'answers' to tasks of the kind `task`, the 'votes' of its
    stereotype source, the 'ratings' of tasks of every kind, or the 'captions' or 'embeddings' of images
    (`task` is then empty, or what they are compared with). `variants_differ`: False where the published
    formula and the corrected one are the same, so that either name gives the same numbers. `names`: what its
    scores are called and what they mean. `parts`: what the `part` of a score may be, where it is of a part.
    `direction`: how to read a larger value. `caveats`: what a reader must know before quoting it.
    `resampling`: what its intervals are.

    `compute` makes its rows. `fingerprint`: what changes with all that it reads besides the answers to `task`
    and the study's rules, from the study and all parameters. `rule` says in words which rule it follows, or
    what it reads. `check_inputs` raises NothingToCompute, or ValueError, where no worker could compute it;
    `check_offered` ValueError for parameters that an account may not ask for, `check_readable` for those
    whose scores it may not read.
    """

    name: str
    version: int
    title: str
    task: str
    unit: str
    direction: str
    definition: str
    names: tuple[tuple[str, str], ...]
    interval: bool
    variants_differ: bool
    variants_note: str
    section: str
    compute: Compute
    rule: Callable[[Study, Parameters], str]
    fingerprint: Callable[[Study, Parameters], list[object]] = _no_other_inputs
    check_inputs: Callable[[Study, Parameters], None] = _anything
    check_offered: Callable[[User, Study, Parameters], None] = _offered_to_everybody
    check_readable: Callable[[User, Parameters], None] = _for_everybody
    reference: str = VISAGE
    source: str = "answers"
    parts: str = ""
    parameters: tuple[Parameter, ...] = ()
    caveats: str = ""
    resampling: str = "two-way cluster bootstrap over images and annotators"
