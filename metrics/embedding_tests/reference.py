"""The reference table of an image ranking: a CSV with a region a row and a group a column. Pure."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metrics.core.suggestions import did_you_mean

LONGEST = 1_000_000
"""Characters of a table."""
_LONGEST_NAME = 120
"""Characters of the name of a region or group."""
US_STATES = (
    *("Alabama", "Alaska", "Arizona", "Arkansas", "California", "Colorado", "Connecticut", "Delaware"),
    *("District of Columbia", "Florida", "Georgia", "Hawaii", "Idaho", "Illinois", "Indiana", "Iowa"),
    *("Kansas", "Kentucky", "Louisiana", "Maine", "Maryland", "Massachusetts", "Michigan", "Minnesota"),
    *("Mississippi", "Missouri", "Montana", "Nebraska", "Nevada", "New Hampshire", "New Jersey"),
    *("New Mexico", "New York", "North Carolina", "North Dakota", "Ohio", "Oklahoma", "Oregon"),
    *("Pennsylvania", "Rhode Island", "South Carolina", "South Dakota", "Tennessee", "Texas", "Utah"),
    *("Vermont", "Virginia", "Washington", "West Virginia", "Wisconsin", "Wyoming"),
)
"""With the District of Columbia."""


class ReferenceRefused(ValueError):
    """What is wrong in a reference table. The message names the row and the column, and the cure."""


@dataclass(frozen=True)
class Reference:
    """`shares`: one row a region, one number a group, each 0 to 1."""

    regions: tuple[str, ...]
    groups: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


def read_reference(text: str) -> Reference:
    """The table. Its first row names the groups, after a first cell of any content. All regions are states of
    the USA (US_STATES) or all are countries, by their English names. Raises ReferenceRefused.

    Examples
    --------
    >>> read_reference("state,White,Black\\nOhio,0.8,0.2\\n")
    Reference(regions=('Ohio',), groups=('White', 'Black'), shares=((0.8, 0.2),))
    """
    if len(text) > LONGEST:
        raise ReferenceRefused(f"The table has {len(text)} characters; at most {LONGEST}. Use a shorter one.")
    rows = _rows(text)
    first = next(rows, None)
    if first is None:
        raise ReferenceRefused("The table is empty. Write a row of groups, then a row for each region.")
    groups = _groups(*first)
    found: dict[str, tuple[float, ...]] = {}
    lines: dict[str, int] = {}
    for line, cells in rows:
        if len(cells) != len(groups) + 1:
            raise ReferenceRefused(
                f"Row {line} has {len(cells)} cells and the first row {len(groups) + 1}. "
                "Give each row one region and one share for each group."
            )
        region = _name(cells[0], f"Row {line}: the region")
        if region.casefold() in lines:
            raise ReferenceRefused(
                f"Row {line}: the region '{region}' is in row {lines[region.casefold()]} already. Remove one."
            )
        lines[region.casefold()] = line
        found[region] = tuple(
            _share(cell, line, group) for cell, group in zip(cells[1:], groups, strict=True)
        )
    if not found:
        raise ReferenceRefused("The table has no region. Write a row for each, below that of the groups.")
    _check_regions(tuple(found), lines)
    return Reference(regions=tuple(found), groups=groups, shares=tuple(found.values()))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the cells of each row that is not blank."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise ReferenceRefused(
            f"Row {reader.line_num} is not CSV: {error}. Separate cells by commas, and close each quote."
        ) from error


def _groups(line: int, cells: Sequence[str]) -> tuple[str, ...]:
    if len(cells) < 2:
        raise ReferenceRefused(
            f"Row {line} names no group. Write a cell for the regions, then the groups, separated by commas."
        )
    groups = [
        _name(cell, f"Row {line}, column {place}: the group") for place, cell in enumerate(cells[1:], 2)
    ]
    if twice := next((group for group in groups if groups.count(group) > 1), ""):
        raise ReferenceRefused(f"Row {line}: the group '{twice}' has two columns. Remove one.")
    return tuple(groups)


def _name(cell: str, what: str) -> str:
    if not cell or len(cell) > _LONGEST_NAME or not cell.isprintable():
        raise ReferenceRefused(f"{what} must have a name of 1 to {_LONGEST_NAME} printable characters.")
    return cell


def _share(cell: str, line: int, group: str) -> float:
    where = f"Row {line}, column '{group}'"
    try:
        # float() also reads 1_0 and digits of other scripts
        share = float(cell) if cell.isascii() and "_" not in cell else math.nan
    except ValueError:
        share = math.nan
    if math.isnan(share):
        raise ReferenceRefused(
            f"{where}: '{cell[:40]}' is not a number. Write a share from 0 to 1, with a decimal point."
        )
    if not 0 <= share <= 1:
        raise ReferenceRefused(f"{where}: {cell[:40]} is not from 0 to 1. Divide percentages by 100.")
    return share


def _check_regions(regions: Sequence[str], lines: dict[str, int]) -> None:
    no_states = [region for region in regions if region not in US_STATES]
    if not no_states:
        return
    no_countries = [region for region in regions if not _is_country(region)]
    if not no_countries:
        return
    # Georgia is both: the rest of the table says which.
    of_states = len(no_states) <= len(no_countries)
    unknown = no_states if of_states else no_countries
    known = [] if _is_country(unknown[0]) else list(US_STATES)
    named = ", ".join(f"'{region}' (row {lines[region.casefold()]})" for region in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    raise ReferenceRefused(
        f"Unknown region: {named}{more}.{did_you_mean(unknown[0], known)} Name states of the USA, with the "
        "District of Columbia, or countries, by their English names; not both in one table."
    )


def _is_country(name: str) -> bool:
    # imported here: a table of 250 countries that only tables of countries need
    from countryinfo import CountryInfo, CountryNotFoundError

    try:
        CountryInfo(name.casefold())
    except CountryNotFoundError:
        return False
    return True
