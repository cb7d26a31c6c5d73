"""Taking annotator-level answers out of a study (DESIGN §8; Prabhakaran et al. 2021).

`table` makes the rows of the long table and `images` the answers about each image, both in constant memory;
each format is a module of its own, `formats` lists them, `writing` makes files and downloads of them. What
each column holds is told by the format itself and travels with the data; docs/exports.md tells it again.
"""

from annotation.services.exports.formats import FOLDER, FORMATS, Format, UnknownFormat, check_format
from annotation.services.exports.selection import COUNTED, STATUSES, SURPLUS, ExportRefused, Filters
from annotation.services.exports.snapshot import WithdrawnMeanwhile, check_withdrawals
from annotation.services.exports.table import COLUMNS
from annotation.services.exports.text import safe_cell
from annotation.services.exports.writing import (
    Written,
    archive,
    check_request,
    csv_columns,
    note,
    stream_csv,
    stream_zip,
    total,
    write,
)

__all__ = [
    "COLUMNS",
    "COUNTED",
    "FOLDER",
    "FORMATS",
    "STATUSES",
    "SURPLUS",
    "ExportRefused",
    "Filters",
    "Format",
    "UnknownFormat",
    "WithdrawnMeanwhile",
    "Written",
    "archive",
    "check_format",
    "check_request",
    "check_withdrawals",
    "csv_columns",
    "note",
    "safe_cell",
    "stream_csv",
    "stream_zip",
    "total",
    "write",
]
