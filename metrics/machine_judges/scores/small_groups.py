"""Which groups of annotators are large enough to be shown beside a judge. Pure: no Django.

Their numbers add up to those of all annotators, so a group that is left out must not be what the others lack.
"""

from collections.abc import Iterator

import numpy as np

from metrics.core.stats.checks import Bools, Ints

WHOLE = -1
"""In place of a region: all of them."""

Cell = tuple[int, int]
"""A region and a group."""


def shown_groups(people: Ints, units: Ints, regions: Ints, groups: Ints, *, least: int) -> set[Cell]:
    """The (region, group) that may be shown, with WHOLE for all regions.

    For each answer (R,): who gave it (below 0: nobody knows), about which unit, and the places of its region
    (below 0: none) and of its annotator's group. A cell has at least `least` people. If those who are left
    out in a region or of a group are fewer together, the smallest of the cells shown is left out too. Where
    nobody is identified, no group is too small.

    Examples
    --------
    >>> people, groups = np.array([1, 2, 3, 4, 5, 6, 7]), np.array([0, 0, 0, 0, 1, 1, 1])
    >>> all_alike = np.zeros(7, dtype=int)
    >>> sorted(shown_groups(people, all_alike, all_alike, groups, least=3))
    [(-1, 0), (-1, 1), (0, 0), (0, 1)]
    >>> sorted(shown_groups(people[:6], all_alike[:6], all_alike[:6], groups[:6], least=3))
    []
    """
    in_region = {WHOLE: np.ones(len(people), dtype=np.bool_)} | {
        each: regions == each for each in np.unique(regions).tolist() if each >= 0
    }
    cells = {
        (region, group): rows
        for region, inside in in_region.items()
        for group in np.unique(groups).tolist()
        if (rows := inside & (groups == group)).any()
    }
    size = {cell: _number(people[rows], units[rows]) for cell, rows in cells.items()}
    shown = {cell for cell, number in size.items() if number is None or number >= least}
    while True:
        before = len(shown)
        shown -= {(region, group) for region, group in shown if (WHOLE, group) not in shown}
        for line, inside in _lines(cells, in_region, groups, shown):
            visible = shown.intersection(line)
            out = inside.copy()
            for cell in visible:
                out &= ~cells[cell]
            number = _number(people[out], units[out]) if out.any() else None
            if visible and number is not None and number < least:
                shown.discard(min(visible, key=lambda cell: (size[cell] or 0, cell)))
        if len(shown) == before:
            return shown


def _lines(
    cells: dict[Cell, Bools], in_region: dict[int, Bools], groups: Ints, shown: set[Cell]
) -> Iterator[tuple[list[Cell], Bools]]:
    """Cells that add up to something that is shown, and the rows of that: all groups of a region, and all
    regions of a group."""
    for region, inside in in_region.items():
        yield [cell for cell in cells if cell[0] == region], inside
    for region, group in sorted(shown):
        if region == WHOLE:
            own = [cell for cell in cells if cell[1] == group and cell[0] != WHOLE]
            yield own, groups == group


def _number(people: Ints, units: Ints) -> int | None:
    """The least number of people that there can be; None if nobody is identified."""
    known = people >= 0
    if not known.any():
        return None
    unknown = np.unique(units[~known], return_counts=True)[1]
    return len(np.unique(people[known])) + int(unknown.max(initial=0))
