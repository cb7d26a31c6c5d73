"""Seed pairs from a file (PROTOCOL §14). Pure: no Django."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from annotation.imports.readers.oddities import FileRefused
from annotation.imports.readers.tables import FIRST_ROW, read_csv
from metrics.candidates.identity_forms import SEVERAL, IdentityForms
from metrics.candidates.prompts import Seed
from metrics.core.suggestions import did_you_mean

COLUMNS = ("identity", "attribute")
LONGEST = 200
_OF_TUPLES = frozenset("(),")


def read_seeds(path: Path, forms: IdentityForms) -> list[Seed]:
    """The pairs of a CSV file with the columns `identity` and `attribute`, as written, in their order.

    Raises FileRefused with the row and the cure: a column is missing, a cell is empty or too long, has a
    character that ends a tuple, the identity names no group of the catalogue, a pair is there twice, or there
    are fewer than two.
    """
    cure = "Write a first row 'identity,attribute', and one pair in each row below, at least two."
    if path.is_file() and len(path.read_bytes().split()) == 0:
        raise FileRefused(path, "the file is empty.", cure)
    table = read_csv(path, COLUMNS, hint=cure)
    seeds: list[Seed] = []
    rows: dict[tuple[str, str], int] = {}
    for row, cells in enumerate(table.rows, start=FIRST_ROW):
        if not any(cell.strip() for cell in cells):
            continue
        identity, attribute = (" ".join(cell.split()) for cell in cells)
        for column, text in zip(COLUMNS, (identity, attribute), strict=True):
            if problem := _problem(text):
                raise FileRefused(path, *problem, row=row, column=column)
        if problem := _unknown(identity, forms):
            raise FileRefused(path, *problem, row=row, column=COLUMNS[0])
        earlier = rows.setdefault((identity.lower(), attribute.lower()), row)
        if earlier != row:
            raise FileRefused(
                path, f"'{identity}, {attribute}' is in row {earlier} too.", "Remove one of the two.", row=row
            )
        seeds.append(Seed(identity, attribute))
    if not seeds:
        raise FileRefused(
            path,
            "there is no pair below the first row.",
            "Write one pair in each row, such as 'Mexican,sombrero', at least two.",
        )
    if len(seeds) < 2:
        raise FileRefused(path, f"there are {len(seeds)} pairs.", "Write at least two.")
    return seeds


def pairs_text(pairs: Iterable[tuple[str, str]]) -> str:
    """The text of a file with these pairs, as `read_seeds` reads it."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *pairs])
    return text.getvalue()


def _problem(text: str) -> tuple[str, str] | None:
    if not text:
        return "the cell is empty.", "Fill it in, or remove the row."
    if len(text) > LONGEST:
        return f"{len(text)} characters, more than {LONGEST}.", "Shorten it."
    if _OF_TUPLES.intersection(text):
        return f"'{text}' has a comma or a parenthesis, which would end a tuple.", "Write it without."
    return None


def _unknown(identity: str, forms: IdentityForms) -> tuple[str, str] | None:
    group = forms.find(identity)
    if group is None:
        names = sorted(known.name for known in forms.groups.values())
        return (
            f"'{identity}' is no identity group of the catalogue.{did_you_mean(identity, names)}",
            "Write the name, demonym or country of a group, choose another axis, or add the group to the "
            "catalogue first.",
        )
    if group == SEVERAL:
        return f"'{identity}' names several identity groups.", "Write the name of one of them."
    return None
