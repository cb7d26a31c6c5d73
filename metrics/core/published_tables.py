"""Numbers printed in papers (metrics/published/, with citations)."""

import csv
from importlib import resources


def published_rows(name: str) -> list[dict[str, str]]:
    """The rows of a file of metrics/published/."""
    text = resources.files("metrics.published").joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
