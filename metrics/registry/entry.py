"""What the registry says of each metric."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

VARIANTS = ("corrected", "published")
VISAGE = "Jha et al. (2024), ViSAGe, ACL 2024, doi:10.18653/v1/2024.acl-long.667"
SEEGULL = "Jha et al. (2023), SeeGULL, ACL 2023, doi:10.18653/v1/2023.acl-long.548"
SOURCES = ("answers", "ratings", "votes", "captions", "embeddings")


@dataclass(frozen=True)
class Parameter:
    """A choice that changes the numbers. Values are text, so that a run stores them as they were given."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True)
class Metric:
    """`version` changes whenever the numbers can; a stored score names the version that made it.

    `source`: what it is computed from: the study's 'answers' to tasks of the kind `task`, the 'votes' of its
    stereotype source, the 'ratings' of tasks of every kind, or the 'captions' or 'embeddings' of images
    (`task` is then empty, or what they are compared with). `variants_differ`: False where the published
    formula and the corrected one are the same, so that either name gives the same numbers. `names`: what its
    scores are called and what they mean. `parts`: what the `part` of a score may be, where it is of a part.
    `direction`: how to read a larger value. `caveats`: what a reader must know before quoting it.
    `resampling`: what its intervals are.
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
    reference: str = VISAGE
    source: str = "answers"
    parts: str = ""
    parameters: tuple[Parameter, ...] = ()
    caveats: str = ""
    resampling: str = "two-way cluster bootstrap over images and annotators"


def nearest(name: str, known: list[str]) -> str:
    """How an error names what was probably meant: " Did you mean 'x'?", or nothing."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f" Did you mean '{close[0]}'?" if close else ""
