"""Tables of an image ranking, CSV with a region a row: the reference, with a group a column, and other
variables, with a variable a column. Pure."""

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
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
    """What is wrong in a table. The message names the row and the column, and the cure."""


@dataclass(frozen=True)
class Reference:
    """`shares`: one row a region, one number a group, each 0 to 1."""

    regions: tuple[str, ...]
    groups: tuple[str, ...]
    shares: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Variables:
    """`values`: one row a region, one finite number a variable."""

    regions: tuple[str, ...]
    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


def read_reference(text: str) -> Reference:
    """The table. Its first row names two groups or more, after a first cell of any content. All regions are
    states of the USA (US_STATES) or all are countries, by their English names. Raises ReferenceRefused.

    Examples
    --------
    >>> read_reference("state,White,Black\\nOhio,0.8,0.2\\n")
    Reference(regions=('Ohio',), groups=('White', 'Black'), shares=((0.8, 0.2),))
    """
    groups, found, lines = _read(text, "group", _share)
    _check_regions(tuple(found), lines)
    if len(groups) < 2:
        raise ReferenceRefused(
            f"The table has one group only, '{groups[0]}', so that each image found would be of it. Add a "
            "column for each group that it is compared with."
        )
    return Reference(regions=tuple(found), groups=groups, shares=tuple(found.values()))


def read_variables(text: str, reference: Reference) -> Variables:
    """The table of other variables, for regions of `reference`; it may lack some. Raises ReferenceRefused.

    Examples
    --------
    >>> states = read_reference("state,White,Black\\nOhio,0.8,0.2\\n")
    >>> read_variables("state,bias\\nOhio,-1.5\\n", states)
    Variables(regions=('Ohio',), names=('bias',), values=((-1.5,),))
    """
    names, found, lines = _read(text, "variable", _number)
    if unknown := next((region for region in found if region not in reference.regions), ""):
        raise ReferenceRefused(
            f"Row {lines[unknown.casefold()]}: the reference has no region '{unknown}'."
            f"{did_you_mean(unknown, list(reference.regions))} Correct the name, or remove the row."
        )
    return Variables(regions=tuple(found), names=names, values=tuple(found.values()))


_Cell = Callable[[str, int, str], float]
"""The number of a cell, of a row, in a column."""


def _read(
    text: str, what: str, number: _Cell
) -> tuple[tuple[str, ...], dict[str, tuple[float, ...]], dict[str, int]]:
    """The names of the columns; region -> numbers; region, casefolded -> row. `what`: a column's content."""
    if len(text) > LONGEST:
        raise ReferenceRefused(f"The table has {len(text)} characters; at most {LONGEST}. Use a shorter one.")
    rows = _rows(text)
    first = next(rows, None)
    if first is None:
        raise ReferenceRefused(f"The table is empty. Write a row of {what}s, then a row for each region.")
    columns = _columns(*first, what)
    found: dict[str, tuple[float, ...]] = {}
    lines: dict[str, int] = {}
    for line, cells in rows:
        if len(cells) != len(columns) + 1:
            raise ReferenceRefused(
                f"Row {line} has {len(cells)} cells and the first row {len(columns) + 1}. "
                f"Give each row one region and one number for each {what}."
            )
        region = _name(cells[0], f"Row {line}: the region")
        if region.casefold() in lines:
            raise ReferenceRefused(
                f"Row {line}: the region '{region}' is in row {lines[region.casefold()]} already. Remove one."
            )
        lines[region.casefold()] = line
        found[region] = tuple(
            number(cell, line, column) for cell, column in zip(cells[1:], columns, strict=True)
        )
    if not found:
        raise ReferenceRefused(f"The table has no region. Write a row for each, below that of the {what}s.")
    return columns, found, lines


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


def _columns(line: int, cells: Sequence[str], what: str) -> tuple[str, ...]:
    if len(cells) < 2:
        raise ReferenceRefused(
            f"Row {line} names no {what}. Write a cell for the regions, then the {what}s, with commas."
        )
    names = [
        _name(cell, f"Row {line}, column {place}: the {what}") for place, cell in enumerate(cells[1:], 2)
    ]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ReferenceRefused(f"Row {line}: the {what} '{twice}' has two columns. Remove one.")
    return tuple(names)


def _name(cell: str, what: str) -> str:
    if not cell or len(cell) > _LONGEST_NAME or not cell.isprintable():
        raise ReferenceRefused(f"{what} must have a name of 1 to {_LONGEST_NAME} printable characters.")
    return cell


def _share(cell: str, line: int, group: str) -> float:
    where = f"Row {line}, column '{group}'"
    share = _plain(cell)
    if math.isnan(share):
        raise ReferenceRefused(
            f"{where}: '{cell[:40]}' is not a number. Write a share from 0 to 1, with a decimal point."
        )
    if not 0 <= share <= 1:
        raise ReferenceRefused(f"{where}: {cell[:40]} is not from 0 to 1. Divide percentages by 100.")
    return share


def _number(cell: str, line: int, variable: str) -> float:
    number = _plain(cell)
    if not math.isfinite(number):
        raise ReferenceRefused(
            f"Row {line}, column '{variable}': '{cell[:40]}' is not a finite number. Write one with a "
            "decimal point, or remove the row."
        )
    return number


def _plain(cell: str) -> float:
    """NaN if it is no number."""
    try:
        # float() also reads 1_0 and digits of other scripts
        return float(cell) if cell.isascii() and "_" not in cell else math.nan
    except ValueError:
        return math.nan


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
