"""%E and M(E) of a run by source and region, and the pairs that are entailed most (PROTOCOL §15). Reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import F

from annotation.models import Attribute, IdentityGroup
from generation.models import Run
from metrics.core.numbers import finite
from metrics.core.stats import bootstrap
from metrics.inference.data import (
    AnsweredGroup,
    answered_pairs,
    design_of,
    label_names,
    read_groups,
)
from metrics.inference.stats import Entailment, Estimate, Tally, entailment

ALL = ""
"""The region of a row about all groups, also those without a region."""


@dataclass(frozen=True)
class ResultRow:
    """The numbers of one source, in one region or in ALL."""

    source: str
    region: str
    numbers: Entailment


@dataclass(frozen=True)
class GroupRow:
    """What was answered about one attribute of one group."""

    source: str
    group: str
    group_id: int
    region: str
    attribute: str
    attribute_id: int
    pairs: int
    entailed: int
    mean_of_all: float

    @property
    def share(self) -> float:
        return self.entailed / self.pairs


@dataclass(frozen=True)
class PairRow:
    """A pair of sentences that came out as entailment."""

    source: str
    group: str
    region: str
    premise: str
    hypothesis: str
    probability: float


@dataclass(frozen=True)
class Results:
    """`rows`: for each source, the row of ALL and one for each region; `groups`: the most entailed first."""

    rows: tuple[ResultRow, ...]
    groups: tuple[GroupRow, ...]

    @property
    def sources(self) -> list[str]:
        return list(dict.fromkeys(row.source for row in self.rows))

    @property
    def regions(self) -> list[str]:
        return sorted({row.region for row in self.rows} - {ALL})


def results(run: Run, *, resamples: int | None = None, seed: int = 0) -> Results:
    """The numbers of what is answered so far, with intervals that are clustered by group, or from
    `resamples`. Raises LabelsRefused if no label of the model is entailment."""
    labels = label_names(run)
    counted = read_groups(run, labels) if labels else []
    sources: list[str] = design_of(run)["sources"]
    groups = IdentityGroup.objects.in_bulk({each.group_id for each in counted})
    texts = Attribute.objects.in_bulk({each.attribute_id for each in counted})
    rows: list[ResultRow] = []
    for place, source in enumerate(sources):
        of_source = [each for each in counted if each.source == place]
        # groups are drawn in the order of their names, which all databases share
        of_source.sort(key=lambda each: (groups[each.group_id].name, groups[each.group_id].axis))
        regions = sorted({groups[each.group_id].region for each in of_source} - {ALL})
        for region in [ALL, *regions] if of_source else []:
            inside = [each for each in of_source if region in {ALL, groups[each.group_id].region}]
            rng = bootstrap.generator(seed, f"{source}\n{region}")
            rows.append(ResultRow(source, region, entailment(_tally(inside), resamples=resamples, rng=rng)))
    by_group = [_group_row(each, sources[each.source], groups, texts) for each in counted]
    by_group.sort(key=lambda row: (-row.share, -row.mean_of_all, row.group, row.attribute))
    return Results(tuple(rows), tuple(by_group))


def most_entailed(run: Run, *, source: str = "", region: str = "", limit: int) -> list[PairRow]:
    """The pairs with the highest probability of entailment among those whose label it is."""
    labels = label_names(run)
    if labels is None:
        return []
    sources: list[str] = design_of(run)["sources"]
    rows = answered_pairs(run, labels).filter(text=labels.entailment)
    if source:
        rows = rows.filter(place=sources.index(source) if source in sources else -1)
    if region:
        rows = rows.filter(job__group__region=region)
    fields = ("place", "job__group__name", "job__group__region", "job__prompt", "job__text_pair", "p")
    found = rows.order_by(F("p").desc(), "job").values_list(*fields)[:limit]
    return [PairRow(sources[place], *rest) for place, *rest in found]


def _tally(counted: Sequence[AnsweredGroup]) -> Tally:
    """One row for each group, in the given order, whatever the number of its attributes."""
    places = {group: place for place, group in enumerate(dict.fromkeys(each.group_id for each in counted))}
    sums = np.zeros((len(places), 4))
    for each in counted:
        sums[places[each.group_id]] += (each.pairs, each.entailed, each.entailed_sum, each.sum)
    counts = sums[:, :2].astype(np.int64)
    return Tally(pairs=counts[:, 0], entailed=counts[:, 1], entailed_sum=sums[:, 2], sum=sums[:, 3])


def _group_row(
    each: AnsweredGroup,
    source: str,
    groups: Mapping[int, IdentityGroup],
    texts: Mapping[int, Attribute],
) -> GroupRow:
    group, attribute = groups[each.group_id], texts[each.attribute_id]
    return GroupRow(
        source=source,
        group=group.name,
        group_id=group.pk,
        region=group.region,
        attribute=attribute.text,
        attribute_id=attribute.pk,
        pairs=each.pairs,
        entailed=each.entailed,
        mean_of_all=each.sum / each.pairs,
    )


def number(estimate: Estimate, name: str = "value") -> float | None:
    """The value, `low` or `high` of an estimate; None if undefined."""
    return finite(getattr(estimate, name))
