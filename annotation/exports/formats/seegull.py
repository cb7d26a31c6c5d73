"""A study's votes and ratings in SeeGULL's format; `import_seegull` reads it back (PROTOCOL §13)."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from annotation.core.csv_text import csv_lines
from annotation.exports.packing import File
from annotation.exports.selection import COUNTED, Selection, check_groups, with_pools
from annotation.exports.table import CHUNK
from annotation.imports.readers import seegull as released
from annotation.models import TaskKind

OTHER_VOTES = ("other_stereo", "other_nonstereo", "other_unsure")
NOT_RATED = "NA"
COLUMNS = (
    ("identity, attribute", "the association"),
    (
        "region_stereo, region_nonstereo, region_unsure",
        "votes of annotators who live in the region of the identity group",
    ),
    (
        "NA_stereo, NA_nonstereo, NA_unsure",
        "votes of annotators who identify with that region and live in North America",
    ),
    (
        "Annotation1, Annotation2, Annotation3",
        "the first three ratings of offensiveness, -1 (not offensive) to 4; `NA`: not rated. *Unsure* does "
        "not count as a rating",
    ),
    ("mean offensiveness_score", "mean of all ratings, including those after the third; `NA` if not rated"),
    (", ".join(OTHER_VOTES), "votes of all other annotators; SeeGULL's own release has no such columns"),
)
_HEAD = (
    "identity",
    "attribute",
    *released.IN_VOTES,
    *released.OUT_VOTES,
    *released.RATINGS,
    released.MEAN_NATIONALITY,
    *OTHER_VOTES,
)
_VOTES = (1, 0, -1)  # values of the prevalence scale, in the order of the columns
KINDS = (TaskKind.PREVALENCE, TaskKind.OFFENSIVENESS)
_UNSURE = 0  # on the offensiveness scale


def check_selection(selection: Selection) -> None:
    """Raises ExportRefused if two groups would be merged."""
    check_groups(selection.judgements(status=COUNTED, tasks=KINDS), of="association")


def files(selection: Selection) -> Iterator[File]:
    yield File("seegull.csv", (csv_lines([row]).encode() for row in _table(selection)))


def _table(selection: Selection) -> Iterator[tuple[Any, ...]]:
    yield _HEAD
    answers = (
        with_pools(selection.judgements(status=COUNTED, tasks=KINDS))
        .filter(response__unit__association__isnull=False)
        .order_by(
            "response__unit__association__group__name",
            "response__unit__association__group_id",
            "response__unit__association__attribute__text",
            "response_id",
        )
        .values_list(
            "response__unit__association__group_id",
            "response__unit__association__attribute_id",
            "response__unit__association__group__name",
            "response__unit__association__attribute__text",
            "response__unit__task__kind",
            "value",
            "in_region",
            "out_region",
        )
        .iterator(chunk_size=CHUNK)
    )
    for _, of_association in groupby(answers, key=itemgetter(0, 1)):
        votes = {pool: dict.fromkeys(_VOTES, 0) for pool in ("in", "out", "other")}
        ratings: list[int] = []
        for *_keys, group, attribute, kind, value, in_region, out_region in of_association:
            identity, text = group, attribute
            selection.count_rows(1)
            if kind == TaskKind.PREVALENCE:
                votes["in" if in_region else "out" if out_region else "other"][value] += 1
            elif value != _UNSURE:
                ratings.append(value)
        shown = [*ratings, *[NOT_RATED] * len(released.RATINGS)][: len(released.RATINGS)]
        mean = sum(ratings) / len(ratings) if ratings else NOT_RATED
        inside, outside, others = (votes[pool].values() for pool in ("in", "out", "other"))
        yield (identity, text, *inside, *outside, *shown, mean, *others)
