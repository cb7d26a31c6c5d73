"""What images of the models of a league showed (PROTOCOL §6, §7, §10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.models import ImageSet, Study
from metrics.core.stats.checks import Ints
from metrics.core.stats.influence import Influences
from metrics.core.stats.scales import Scale
from metrics.core.stats.spread import Spread
from metrics.depiction.data import GroupFrame, read_depiction
from metrics.depiction.scores.measures import (
    Ratings,
    group_offensiveness,
    measured,
    read_ratings,
    tendency_of,
)
from metrics.depiction.stats import Offensiveness as Point
from metrics.depiction.tendencies import GroupTendency
from metrics.league.kinds import MODEL


@dataclass(frozen=True)
class Offensiveness:
    """O(id) of a group; ratings are taken as given."""

    value: float
    influences: Influences
    scale: Scale


@dataclass(frozen=True)
class MeasuredGroup:
    """What the images of one model showed of a group that is reported: at least two of its stereotypes were
    shown. `offensiveness` is None if no rated stereotype was seen. `attributes`: the ids of those shown."""

    group_id: int
    group: str
    tendency: GroupTendency
    stereo: Influences
    offensiveness: Offensiveness | None
    attributes: frozenset[int]
    images: int

    @property
    def is_defined(self) -> bool:
        """Whether L(stereo) and L(random) are: the second is not where no other attribute was shown."""
        return bool(np.isfinite(self.tendency.values[:2]).all())

    @property
    def has_variance(self) -> bool:
        """Whether there is an interval: not with a single image or annotator."""
        return bool(np.isfinite(self.stereo.standard_errors()[0][0]))


@dataclass(frozen=True)
class Model:
    """The images of one image set, as judged in one study: its reported `groups` by id, and all `images`,
    `answers` and identified `people` by id."""

    study: str
    image_set: str
    groups: Mapping[int, MeasuredGroup]
    images: int
    answers: int
    people: frozenset[int]

    @property
    def part(self) -> str:
        return f"{MODEL}{self.study}/{self.image_set}"


def read_models(studies: Iterable[Study], variant: str) -> list[Model]:
    """The models of these studies that have answers, by study and image set."""
    names = dict(ImageSet.objects.values_list("pk", "name"))
    found: list[Model] = []
    for study in studies:
        ratings = read_ratings(study, variant)
        groups: dict[int, list[_Read]] = {}
        for frame in read_depiction(study, by_response=True):
            for pk, part in _by_set(frame):
                read = _Read(part.images, part.annotators, _measured(part, ratings, variant))
                groups.setdefault(pk, []).append(read)
        found += [_model(study.name, names[pk], each) for pk, each in groups.items()]
    return sorted(found, key=lambda one: (one.study, one.image_set))


@dataclass(frozen=True)
class _Read:
    """One group of one image set: the image and the annotator of each answer, and what they showed, None if
    it is not reported."""

    images: Ints
    annotators: Ints
    measured: MeasuredGroup | None


def _by_set(frame: GroupFrame) -> Iterator[tuple[int, GroupFrame]]:
    sets = np.unique(frame.image_sets).tolist()
    for pk in sets:
        yield pk, frame if len(sets) == 1 else frame.only(frame.image_sets == pk)


def _model(study: str, image_set: str, read: Sequence[_Read]) -> Model:
    images = np.concatenate([one.images for one in read])
    people = np.concatenate([one.annotators for one in read])
    groups = [one.measured for one in read if one.measured is not None]
    return Model(
        study=study,
        image_set=image_set,
        groups={one.group_id: one for one in groups},
        images=len(np.unique(images)),
        answers=len(images),
        people=frozenset(np.unique(people[people >= 0]).tolist()),
    )


def _measured(frame: GroupFrame, ratings: Ratings, variant: str) -> MeasuredGroup | None:
    """None if the group is not reported (PROTOCOL §6)."""
    group = measured(frame, variant)
    tendency = tendency_of(group)
    stereo = tendency.stereo_spread
    if tendency.point.n_stereotypical < 2 or not isinstance(stereo, Influences):
        return None
    ids = zip(group.frame.attribute_ids, (group.n > 0).tolist(), strict=True)
    return MeasuredGroup(
        group_id=frame.group_id,
        group=frame.group,
        tendency=tendency,
        stereo=stereo,
        offensiveness=_offensiveness(group_offensiveness(group, ratings)),
        attributes=frozenset(pk for pk, shown in ids if shown and pk is not None),
        images=len(np.unique(frame.images)),
    )


def _offensiveness(found: tuple[Point, Spread, Scale] | None) -> Offensiveness | None:
    """None if no rated stereotype was seen, or the influences say nothing of others."""
    if found is None:
        return None
    point, influences, scale = found
    if not point.n or not isinstance(influences, Influences):
        return None
    return Offensiveness(point.value, influences, scale)
