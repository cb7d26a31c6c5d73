"""What is known of the identities that SeeGULL names: imports/data/identities.csv (PROTOCOL §1)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib.resources import files

MISSPELLED = frozenset({"United KingdomUK"})
"""Names that SeeGULL and ViSAGe both spell so; kept, since the two are matched by name."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`demonym` completes 'a ... person'; `country` is the country, or the state on a state axis."""

    axis: str
    name: str
    demonym: str
    country: str
    region: str
    global_south: bool


def known_identities() -> dict[tuple[str, str], Identity]:
    """Every identity of the table by (axis, name). How it was made: docs/importing.md."""
    text = files("annotation").joinpath("imports/data/identities.csv").read_text(encoding="utf-8")
    return {
        (line["axis"], line["identity"]): Identity(
            axis=line["axis"],
            name=line["identity"],
            demonym=line["demonym"],
            country=line["country"],
            region=line["region"],
            global_south=line["global_south"] == "yes",
        )
        for line in csv.DictReader(text.splitlines())
    }
