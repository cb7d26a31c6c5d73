"""Salience of candidates, and the choice of the most salient of each region (PROTOCOL §14). No Django."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from metrics.candidates.identity_forms import Group
from metrics.captions.stats.salience import SMOOTHING, inverse_document_frequency, term_frequency

MOST_PER_REGION = 1000


class Candidate(NamedTuple):
    """`group`: its id. `given`: how often, for it. `tf`, `idf`, `salience`: PROTOCOL §14."""

    group: int
    attribute: str
    given: int
    tf: float
    idf: float
    salience: float
    selected: bool


def select(
    counts: Mapping[int, Mapping[str, int]],
    groups: Mapping[int, Group],
    *,
    per_region: int = MOST_PER_REGION,
    smoothing: float = SMOOTHING,
) -> list[Candidate]:
    r"""All candidates with their salience, the most salient of each region selected; sorted by region, group
    and salience.

    .. math:: S(attr, c) = tf \cdot idf, \qquad tf = \frac{count + a}{n + a V}, \qquad
              idf = \ln \frac{1 + R}{1 + R_{attr}} + 1

    `counts`: group c -> attribute -> count. n: sum of the counts of c. V: distinct attributes of all
    candidates. R: regions with any candidate; R_attr: those of them that have the attribute. The function is
    that of captions (PROTOCOL §8): the attributes of c are the matches, the regions are the documents. A
    region is that of the catalogue. So the states of one country are one region, and their idf is always 1;
    groups without a region are one more.

    Selected are `per_region` candidates of each region, or all if there are fewer. Each group has the share
    that it has among the region's candidates, rounded by largest remainder (`seats`). Equal salience: the
    higher count first, then the alphabet.

    Raises ValueError if `per_region` is negative or `smoothing` no constant.
    """
    if per_region < 0:
        raise ValueError(f"{per_region} candidates of a region: choose at least 0.")
    counts = {group: attributes for group, attributes in counts.items() if attributes}
    regions: dict[str, list[int]] = {}
    for group in sorted(counts, key=lambda pk: (groups[pk].name, pk)):
        regions.setdefault(groups[group].region, []).append(group)
    having: Counter[str] = Counter()
    for members in regions.values():
        having.update({attribute for group in members for attribute in counts[group]})
    found: list[Candidate] = []
    for _, members in sorted(regions.items()):
        chosen = seats({group: len(counts[group]) for group in members}, per_region)
        for group in members:
            found += _of_group(group, counts[group], having, len(regions), chosen[group], smoothing)
    return found


def _of_group(
    group: int,
    counts: Mapping[str, int],
    regions_having: Mapping[str, int],
    regions: int,
    chosen: int,
    smoothing: float,
) -> list[Candidate]:
    attributes = list(counts)
    times = np.array([counts[attribute] for attribute in attributes], dtype=np.int64)
    having = np.array([regions_having[attribute] for attribute in attributes], dtype=np.int64)
    tf = term_frequency(times, smoothing=smoothing, absent=len(regions_having) - len(attributes))
    idf = inverse_document_frequency(having, regions)
    salience = tf * idf
    order = sorted(
        range(len(attributes)), key=lambda place: (-salience[place], -times[place], attributes[place])
    )
    columns = times.tolist(), tf.tolist(), idf.tolist(), salience.tolist()
    return [
        Candidate._make((group, attributes[place], *(column[place] for column in columns), rank < chosen))
        for rank, place in enumerate(order)
    ]


def seats(candidates: Mapping[int, int], total: int) -> dict[int, int]:
    """`total` divided in proportion to `candidates`, by largest remainder; all of them if there are fewer.
    Equal remainders: the group with more candidates first, then the order given.

    Examples
    --------
    >>> seats({1: 7, 2: 2, 3: 1}, 5)
    {1: 4, 2: 1, 3: 0}
    """
    number = sum(candidates.values())
    if number <= total:
        return dict(candidates)
    whole = Counter({group: total * of // number for group, of in candidates.items()})
    left = sorted(candidates, key=lambda group: (-(total * candidates[group] % number), -candidates[group]))
    whole.update(left[: total - whole.total()])
    return dict(whole)
