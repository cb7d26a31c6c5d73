"""What studies can be compared by: the answers to one kind of task, and which scores of them are ranked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import TaskKind

MODEL, STUDY = "model: ", "study: "


@dataclass(frozen=True, eq=False)
class Kind:
    """A league of studies with answers to a kind of `task`.

    `metric`: its name. `scores`: what is ranked; the first `per_unit` of them each group has too. `ranks` and
    `equal`: {score: name of its place, and of the p of all being equal}. `headings` of the scores; `axes`:
    {score: kind of its axis}, one of marks.SCALES. `also`: scores of a row that are in files alone. `units`:
    the score that counts the groups or attributes of a row. `of_models`: a row is the images of one image set
    as judged in one study, not a study. `about`: for messages, what such a study is.
    """

    task: str
    metric: str
    scores: tuple[str, ...]
    headings: tuple[str | Promise, ...]
    axes: Mapping[str, str]
    about: str
    units: str = "units"
    per_unit: int = 1
    also: tuple[str, ...] = ()
    of_models: bool = False
    ranks: Mapping[str, str] = field(init=False)
    equal: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        first, *others = self.scores
        object.__setattr__(self, "ranks", {first: "rank"} | {name: f"{name}_rank" for name in others})
        object.__setattr__(self, "equal", {first: "p"} | {name: f"{name}_p" for name in others})

    @property
    def unit_scores(self) -> tuple[str, ...]:
        return self.scores[: self.per_unit]


DEPICTION = Kind(
    task=TaskKind.DEPICTION.value,
    metric="tendency_league",
    scores=("l_stereo", "theta", "o"),
    headings=("L(stereo)", "θ", _("Offensiveness")),
    axes={"l_stereo": "share", "theta": "ratio", "o": "number"},
    about="about images",
    units="groups",
    per_unit=2,
    also=("l_random",),
    of_models=True,
)
PREVALENCE = Kind(
    task=TaskKind.PREVALENCE.value,
    metric="prevalence_league",
    scores=("share",),
    headings=(_("Share of stereotypes"),),
    axes={"share": "whole_share"},
    about="with a task of prevalence",
)
OFFENSIVENESS = Kind(
    task=TaskKind.OFFENSIVENESS.value,
    metric="offensiveness_league",
    scores=("mean",),
    headings=(_("Offensiveness"),),
    axes={"mean": "offensive"},
    about="with a task of offensiveness",
)
LEVELS = Kind(
    task=TaskKind.ASSOCIATION.value,
    metric="bias_levels_league",
    scores=("mean",),
    headings=(_("Bias level"),),
    axes={"mean": "rating"},
    about="with a task of bias levels",
)
VISUAL_NATURE = Kind(
    task=TaskKind.VISUAL_NATURE.value,
    metric="visual_nature_league",
    scores=("mean_score",),
    headings=(_("Mean score"),),
    axes={"mean_score": "rating"},
    about="with a task of visual nature",
)
KINDS = {one.task: one for one in (DEPICTION, VISUAL_NATURE, PREVALENCE, OFFENSIVENESS, LEVELS)}
METRICS = frozenset(one.metric for one in KINDS.values())
