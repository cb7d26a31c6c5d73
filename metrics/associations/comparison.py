"""Two sides by side: the significant pairs of two models, modalities or settings (PROTOCOL §11). Reads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from metrics.associations.askings import Modality, Setting
from metrics.associations.comparison_stats import Estimate, jaccard, split
from metrics.core.stats import bootstrap
from metrics.models import AssociationList, ModelAssociation, Variant

SIGNIFICANT = {Variant.PUBLISHED: "significant", Variant.CORRECTED: "significant_corrected"}
"""Variant -> the field that says whether a pair is significant."""
LISTS = ("shared", "only_here", "only_there")
PLACES = ("", *(modality.value for modality in Modality), *(setting.value for setting in Setting))
"""What of a run is compared: all settings (""), those of a modality, or one."""
_AT_ONCE = 5000


@dataclass(frozen=True)
class Side:
    """A list of associations, in one setting, all of a modality, or ("") all settings."""

    found: AssociationList
    where: str = ""


@dataclass(frozen=True)
class Pair:
    """A word that a model gave of a descriptor, `name` as in the catalogue."""

    name: str
    word: str


@dataclass(frozen=True)
class Comparison:
    """`lists`: LISTS -> pairs (descriptor in lower case, word). `names`: such a descriptor -> its name."""

    here: int
    there: int
    lists: Mapping[str, Sequence[tuple[str, str]]]
    names: Mapping[str, str]
    jaccard: Estimate

    def pairs(self, which: str, start: int = 0, number: int | None = None) -> list[Pair]:
        """`number` pairs of one of the three lists, from `start`, by descriptor and word."""
        end = None if number is None else start + number
        return [Pair(self.names[key], word) for key, word in self.lists[which][start:end]]


def compare(
    here: Side, there: Side, *, variant: str, resamples: int | None = None, seed: int = 0
) -> Comparison:
    """Which significant pairs the two sides share. A name that is in several dimensions is one descriptor,
    whatever its capitals; a pair of several settings of a side counts once. The interval is over
    descriptors, clustered or from `resamples`."""
    names: dict[str, str] = {}
    one, other = (_pairs(side, variant, names) for side in (here, there))
    return Comparison(
        here=len(one),
        there=len(other),
        lists=split(one, other),
        names=names,
        jaccard=jaccard(one, other, rng=bootstrap.generator(seed, f"jaccard {variant}"), resamples=resamples),
    )


def significant_rows(found: AssociationList, variant: str, where: str = "") -> QuerySet[ModelAssociation]:
    """The rows of a list that are significant in a variant, in a setting, a modality or ("") any."""
    rows = found.associations.filter(**{SIGNIFICANT[Variant(variant)]: True}).order_by()
    if where in list(Modality):
        return rows.filter(setting__startswith=f"{where}-")
    return rows.filter(setting=where) if where else rows


def _pairs(side: Side, variant: str, names: dict[str, str]) -> set[tuple[str, str]]:
    rows = significant_rows(side.found, variant, side.where).values_list("group__name", "word")
    found = set()
    for name, word in _distinct(rows):
        key = name.lower()
        names[key] = min(names.get(key, name), name)
        found.add((key, word))
    return found


def _distinct(rows: QuerySet[ModelAssociation, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    return rows.distinct().iterator(_AT_ONCE)
