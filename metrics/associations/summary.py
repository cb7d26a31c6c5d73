"""What is said of the significant pairs of a run, by dimension and setting (PROTOCOL §11): shares negative
and toxic, and bias levels by people and by a model, which are kept apart (§16). Reads."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.db.models import Count, IntegerField, Max, Sum
from django.db.models.functions import Cast

from annotation.models import Axis, TaskKind
from metrics.associations.askings import Setting
from metrics.associations.comparison import significant_rows
from metrics.associations.comparison_stats import Estimate, ratio_by
from metrics.associations.judgements import judgements_digest
from metrics.core.answers import counted_judgements
from metrics.core.stats import bootstrap
from metrics.core.stats.scales import SHARE, Scale
from metrics.models import AssociationList

ALL = ""
"""The dimension of a row about the distinct pairs of all dimensions."""
SHARES = ("negative", "toxic")
BY_PEOPLE, BY_MODEL = "people", "model"
LEAST, MOST = 1, 5
"""The scale of levels; people's 0 means that they are unsure."""
_AT_ONCE = 5000
_CACHE_SECONDS = 24 * 3600
Key = tuple[str, str]
"""A descriptor in lower case, and a word."""


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A distinct significant pair of a dimension and a setting, with what was said of its sentence."""

    dimension: str
    setting: str
    key: Key
    negative: bool | None
    toxic: bool | None
    model_level: float | None


@dataclass(frozen=True)
class ShareRow:
    """The share of the judged pairs that are `what`: negative or toxic. `pairs`: all significant ones."""

    what: str
    dimension: str
    setting: str
    pairs: int
    share: Estimate


@dataclass(frozen=True)
class LevelRow:
    """The mean level over pairs, by people or by a model; a pair's own level is the mean of its answers.
    `answers`: people's judgements, None of a model."""

    by: str
    dimension: str
    setting: str
    pairs: int
    level: Estimate
    answers: int | None = None


@dataclass(frozen=True)
class Summary:
    """Rows by dimension, ALL first, and setting; only those with something judged."""

    shares: tuple[ShareRow, ...]
    levels: tuple[LevelRow, ...]

    def shares_of(self, what: str) -> list[ShareRow]:
        return [row for row in self.shares if row.what == what]

    def levels_by(self, by: str) -> list[LevelRow]:
        return [row for row in self.levels if row.by == by]


def summary(found: AssociationList, *, variant: str, resamples: int | None = None, seed: int = 0) -> Summary:
    """Shares and levels of the pairs that are significant in a variant, with intervals over descriptors,
    clustered or from `resamples`. The same list and seed give the same intervals. Cached as
    long as nothing that it is computed from changes."""
    people = people_levels(found)
    key = f"associations-summary-2:{_fingerprint(found, people, variant, resamples, seed)}"
    known: Summary | None = cache.get(key)
    if known is None:
        known = _computed(found, people, variant, resamples, seed)
        cache.set(key, known, _CACHE_SECONDS)
    return known


def _computed(
    found: AssociationList,
    people: Mapping[Key, tuple[int, int]],
    variant: str,
    resamples: int | None,
    seed: int,
) -> Summary:
    shares: list[ShareRow] = []
    levels: list[LevelRow] = []
    for (dimension, setting), pairs in _cells(_pairs(found, variant)).items():
        for what in SHARES:
            values = [(pair.key, getattr(pair, what)) for pair in pairs]
            share = _estimate(values, f"{what} {variant} {dimension} {setting}", resamples, seed)
            if share.n:
                shares.append(ShareRow(what, dimension, setting, len(pairs), share))
        of_people = [people.get(pair.key) for pair in pairs]
        levels_given: Mapping[str, Sequence[float | None]] = {
            BY_PEOPLE: [None if one is None else one[0] / one[1] for one in of_people],
            BY_MODEL: [pair.model_level for pair in pairs],
        }
        for by, given in levels_given.items():
            keyed = [(pair.key, value) for pair, value in zip(pairs, given, strict=True)]
            name = f"level {by} {variant} {dimension} {setting}"
            level = _estimate(keyed, name, resamples, seed, Scale(LEAST, MOST))
            answers = sum(one[1] for one in of_people if one) if by == BY_PEOPLE else None
            if level.n:
                levels.append(LevelRow(by, dimension, setting, len(pairs), level, answers))
    return Summary(tuple(shares), tuple(levels))


def people_levels(found: AssociationList) -> dict[Key, tuple[int, int]]:
    """Pair -> the sum of the levels that people gave in the list's studies, and their number."""
    sums: dict[Key, tuple[int, int]] = defaultdict(lambda: (0, 0))
    name, word = "response__unit__association__group__name", "response__unit__association__attribute__text"
    for study in found.studies.all():
        rows = counted_judgements(study, TaskKind.ASSOCIATION).filter(value__range=(LEAST, MOST)).order_by()
        counted = rows.values_list(name, word).annotate(sum=Sum("value"), number=Count("pk"))
        for descriptor, text, total, number in counted:
            key = (descriptor.lower(), text.lower())
            sums[key] = (sums[key][0] + total, sums[key][1] + number)
    return dict(sums)


def _fingerprint(
    found: AssociationList,
    people: Mapping[Key, tuple[int, int]],
    variant: str,
    resamples: int | None,
    seed: int,
) -> str:
    """Of the list, of what was said of its pairs, and of what is asked for."""
    said = significant_rows(found, variant).aggregate(
        pairs=Count("pk"),
        newest=Max("pk"),
        are_negative=Sum(Cast("negative", IntegerField())),
        known_negative=Count("negative"),
        are_toxic=Sum(Cast("toxic", IntegerField())),
        known_toxic=Count("toxic"),
        levels=Sum("model_level"),
        known_levels=Count("model_level"),
    )
    inputs = [
        *(found.pk, found.digest, str(found.finished_at), judgements_digest(found.run)),
        *(variant, resamples, seed, sorted(said.items()), sorted(people.items())),
    ]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def _pairs(found: AssociationList, variant: str) -> dict[tuple[str, str, Key], JudgedPair]:
    """The distinct pairs of each dimension and setting. Names that differ in capitals are one descriptor."""
    rows = significant_rows(found, variant).values_list(
        *("group__axis", "setting", "group__name", "word", "negative", "toxic", "model_level")
    )
    pairs: dict[tuple[str, str, Key], JudgedPair] = {}
    for dimension, setting, name, word, *said in rows.order_by("pk").iterator(_AT_ONCE):
        key = (name.lower(), word.lower())
        for place in (ALL, dimension):
            pairs.setdefault((place, setting, key), JudgedPair(place, setting, key, *said))
    return pairs


def _cells(pairs: Mapping[tuple[str, str, Key], JudgedPair]) -> dict[tuple[str, str], list[JudgedPair]]:
    """(dimension, setting) -> its pairs; dimensions and settings in their order, ALL first."""
    found: dict[tuple[str, str], list[JudgedPair]] = defaultdict(list)
    for (dimension, setting, _), pair in pairs.items():
        found[dimension, setting].append(pair)
    dimensions, settings = _places([ALL, *Axis.values]), _places([each.value for each in Setting])
    order = sorted(
        found, key=lambda cell: (dimensions[cell[0]], settings.get(cell[1], len(settings)), cell[1])
    )
    return {cell: found[cell] for cell in order}


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _estimate(
    values: Iterable[tuple[Key, float | None]],
    name: str,
    resamples: int | None,
    seed: int,
    scale: Scale = SHARE,
) -> Estimate:
    judged = [(descriptor, value) for (descriptor, _), value in values if value is not None]
    return ratio_by(judged, rng=bootstrap.generator(seed, name), resamples=resamples, scale=scale)
