"""The rows of a stored league: its models or studies, its groups or attributes, those left out, and the
tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext

from annotation.models import Attribute, IdentityGroup, ImageSet, Study
from metrics.league.kinds import DEPICTION, MODEL, STUDY, Kind
from metrics.models import Score
from metrics.score_runs.places import beyond_chance, places

_SMALLEST = 0.001  # that three digits show


def split_part(part: str) -> tuple[str, str]:
    """The names of the study and of the image set of a part of a run; the second is empty if there is none.
    Neither has a slash."""
    if part.startswith(STUDY):
        return part.removeprefix(STUDY), ""
    study, _, image_set = part.removeprefix(MODEL).partition("/")
    return study, image_set


@dataclass(frozen=True)
class Place:
    """A score of a model or study with its place, and the places that it can have."""

    score: Score | None
    rank: Score | None

    @property
    def unranked(self) -> bool:
        return self.rank is None or self.rank.value is None

    @property
    def places(self) -> str:
        """The places it can have, e.g. '2–7'; empty without."""
        return places(self.rank)


@dataclass(frozen=True)
class Row:
    """A study, or the images of one image set as judged in it: `set_name`, empty for a study, with the set
    (None if it was deleted); and its scores by name."""

    kind: Kind
    part: str
    study: Study
    set_name: str
    image_set: ImageSet | None
    scores: Mapping[str, Score] = field(repr=False)

    @property
    def set_title(self) -> str:
        return self.image_set.title if self.image_set else self.set_name

    @property
    def model_name(self) -> str:
        return self.image_set.model_name if self.image_set else ""

    @property
    def label(self) -> str:
        """What it is called where there is little room: the model, else its image set; or the study."""
        return self.model_name or self.set_title or self.study.title

    @property
    def people(self) -> int | None:
        """How many identified people judged it; None if nobody is identified."""
        value = self.scores["people"].value
        return None if value is None else round(value)

    def count(self, name: str) -> int:
        return round(self.scores[name].value or 0)

    @property
    def images(self) -> int:
        return self.count("images")

    @property
    def answers(self) -> int:
        return self.count("answers")

    @property
    def numbers(self) -> list[Place]:
        """By each of the scores that are ranked."""
        return [
            Place(self.scores.get(name), self.scores.get(self.kind.ranks[name])) for name in self.kind.scores
        ]

    @property
    def units(self) -> int:
        """How many groups or attributes are reported."""
        return self.count(self.kind.units)


@dataclass(frozen=True)
class UnitRow:
    """A compared group or attribute: its scores in each model or study, how many images it has in each model,
    how far these are apart, and q."""

    group: IdentityGroup | None
    attribute: Attribute | None
    cells: tuple[tuple[Score | None, ...], ...]
    images: tuple[int, ...]
    apart: Score | None
    q: Score | None
    attributes: Score | None

    @property
    def name(self) -> str:
        return _name(self.group, self.attribute)

    @property
    def differs(self) -> bool:
        return beyond_chance(self.q)


@dataclass(frozen=True)
class LeftOut:
    """A group or attribute that is not compared: it is reported in `there` of `of` models or studies, and in
    `defined` of these L(stereo) and L(random) are both defined."""

    kind: Kind
    group: IdentityGroup | None
    attribute: Attribute | None
    there: int
    defined: int
    of: int

    @property
    def name(self) -> str:
        return _name(self.group, self.attribute)

    @property
    def reason(self) -> str:
        """In words."""
        numbers = {"there": self.there, "of": self.of, "number": self.there - self.defined}
        if self.kind != DEPICTION:
            if self.there < self.of:
                return gettext("in %(there)d of %(of)d studies") % numbers
            return gettext("a single association, attribute or annotator in one of the studies")
        if self.there < self.of:
            return gettext("in %(there)d of %(of)d models") % numbers
        if self.defined < self.there:
            return (
                gettext("no random attribute was shown in %(number)d of %(of)d models, so θ is undefined")
                % numbers
            )
        return gettext("a single image or annotator in one of the models")


def _name(group: IdentityGroup | None, attribute: Attribute | None) -> str:
    return group.name if group else attribute.text if attribute else ""


@dataclass(frozen=True)
class Test:
    """The p of all models or studies having the same `score`."""

    score: str
    p: Score

    @property
    def found(self) -> bool:
        """Whether they differ by more than chance."""
        return beyond_chance(self.p)

    @property
    def shown(self) -> str:
        """E.g. 'p = 0.047'; empty if there is none."""
        value = self.p.value
        if value is None:
            return ""
        return "p < 0.001" if value < _SMALLEST else f"p = {value:.3f}"
