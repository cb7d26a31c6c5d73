"""Details of the identities in SeeGULL, from imports/data/identities.csv (PROTOCOL §1)."""

import csv
from dataclasses import dataclass
from importlib.resources import files

MISSPELLED = frozenset({"United KingdomUK"})
"""Misspelled names that both SeeGULL and ViSAGe use; kept, because the two are matched by name."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`demonym` completes 'a ... person'. `country`: the country, or the state on a state axis."""

    demonym: str
    country: str
    region: str
    global_south: bool


def known_identities() -> dict[tuple[str, str], Identity]:
    """(axis, name) -> identity. docs/importing.md describes how the table was made."""
    text = files("annotation").joinpath("imports/data/identities.csv").read_text(encoding="utf-8")
    return {
        (line["axis"], line["identity"]): Identity(
            demonym=line["demonym"],
            country=line["country"],
            region=line["region"],
            global_south=line["global_south"] == "yes",
        )
        for line in csv.DictReader(text.splitlines())
    }
