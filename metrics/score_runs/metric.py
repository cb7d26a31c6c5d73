"""The type in which each room declares its metrics."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User

from annotation.models import Study
from metrics.core.answers import describe_stereotype_rule
from metrics.models import ScoreRun
from metrics.score_runs.rows import Compute

VARIANTS = ("corrected", "published")
VISAGE = "Jha et al. (2024), ViSAGe, ACL 2024, doi:10.18653/v1/2024.acl-long.667"
SEEGULL = "Jha et al. (2023), SeeGULL, ACL 2023, doi:10.18653/v1/2023.acl-long.548"
BENJAMINI = "Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x"
BIASDORA = "Raj et al. (2024), BiasDora, Findings of EMNLP 2024"
SOURCES = ("answers", "ratings", "votes", "captions", "embeddings", "machine judge")
# Wording shared by the metrics that compare something.
P_AND_Q = (
    "p is two-sided, by the same method as the interval; q is p adjusted by Benjamini and Hochberg over "
    "everything that is listed together"
)
OF_CONTRASTS = (
    "`region: REGION`, for a region; `side: itself` or `side: others`, alone or after a region, for one "
    "side; without a side, the difference"
)

Parameters = Mapping[str, str]


class NothingToCompute(ValueError):
    """The inputs of a metric are missing. The message says how to create them."""


def stereotype_rule(study: Study, parameters: Parameters) -> str:
    """The `rule` of metrics that distinguish stereotypes from other attributes."""
    return describe_stereotype_rule(study)


def _no_other_inputs(study: Study, parameters: Parameters) -> list[object]:
    return []


def _no_check(*args: object) -> None:
    pass


def _no_other_studies(parameters: Parameters) -> Collection[str]:
    return ()


def compared_study(parameters: Parameters) -> Collection[str]:
    """The `other_studies` of a comparison: that of its parameter `against`, if there is one."""
    return [parameters["against"]] if parameters.get("against") else []


@dataclass(frozen=True)
class Parameter:
    """A choice that changes the numbers. Values are text, so that a run can store them as given."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric. `version` changes whenever the numbers can; a stored score records its version.

    `source`: the study's 'answers' to tasks of the kind `task`, the 'votes' of its stereotype source, the
    'ratings' of tasks of every kind, the 'captions' or 'embeddings' of images (`task` is then empty, or
    the kind they are compared with), or what a 'machine judge' answered, which no other metric reads.
    `variants_differ`: False if the published and the corrected formula give the same numbers. `names`:
    (name, meaning) of its scores. `parts`: the possible values of a score's `part`. `direction`: the
    meaning of a larger value. `caveats`: what a reader must know before quoting it. `resampling`: what
    its bootstrap intervals draw; empty if it has clustered intervals only. `clustering`: what its
    clustered intervals are of; empty if it has bootstrap intervals only.

    `compute` returns its rows. `fingerprint(study, parameters)` changes with every input other than the
    answers to `task` and the study's rules. `rule` describes the rule or the inputs that it uses.
    `check_inputs` raises NothingToCompute or ValueError if no worker could compute it, `check_offered` raises
    ValueError for parameters that a user may not request, `check_readable` for those whose scores a user may
    not read, and `check_run` for a single finished run. `other_studies`: the names of those that its
    parameters name, which only who leads them may learn of.
    """

    name: str
    version: int
    title: str
    task: str = ""
    unit: str
    direction: str
    definition: str
    names: tuple[tuple[str, str], ...]
    interval: bool = True
    variants_differ: bool = False
    variants_note: str = "the same"
    section: str
    compute: Compute
    rule: Callable[[Study, Parameters], str]
    fingerprint: Callable[[Study, Parameters], list[object]] = _no_other_inputs
    check_inputs: Callable[[Study, Parameters], None] = _no_check
    check_offered: Callable[[User, Study, Parameters], None] = _no_check
    check_readable: Callable[[User, Parameters], None] = _no_check
    check_run: Callable[[User, ScoreRun], None] = _no_check
    other_studies: Callable[[Parameters], Collection[str]] = _no_other_studies
    reference: str = VISAGE
    source: str = "answers"
    parts: str = ""
    parameters: tuple[Parameter, ...] = ()
    caveats: str = ""
    resampling: str = "two-way cluster bootstrap over images and annotators"
    clustering: str = ""
