"""Stored scores as tables: their columns, the order of their rows, and the axes that they are drawn on."""

from __future__ import annotations

import csv
import io

import pytest

from annotation.models import IdentityGroup
from metrics.core.marks import scaled_axis
from metrics.models import Score, ScoreRun
from metrics.report.queries import tables
from metrics.report.queries.runs import StoredRun
from metrics.report.queries.tables import csv_pieces, read_table
from metrics.score_runs import registry
from tests import factories

X = {"value": 0.5, "low": 0.25, "high": 0.75}


def stored(*scores: dict) -> StoredRun:
    """A run of a metric of images with these scores."""
    run = ScoreRun.objects.create(
        study=factories.study(), metric="pull", version=1, variant="corrected", digest="0" * 64, resamples=0
    )
    Score.objects.bulk_create(Score(**{"run": run, "n": 5, **one}) for one in scores)
    return StoredRun(run, registry.get("pull"))


def lines(run: StoredRun) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(csv_pieces(run)).decode())))


@pytest.mark.django_db
def test_rows_go_by_group_attribute_and_part_and_columns_by_the_metric(monkeypatch):
    zulu = factories.group("Zulu")  # first in the database, last in the table
    one, other = (IdentityGroup.objects.create(name="Alpha", axis=axis) for axis in ("religion", "gender"))
    kind, hat = factories.attributes(["kind", "hat"])
    of_zulu = {"group": zulu, "attribute": None}
    run = stored(
        {**of_zulu, "part": "b", "name": "x", **X},
        {**of_zulu, "part": "a", "name": "y", "value": 1.0, "k": 2},
        {**of_zulu, "part": "a", "name": "x", **X},
        {"group": one, "attribute": kind, "name": "x", **X},
        {"group": one, "attribute": hat, "name": "x", **X},
        {"group": other, "attribute": hat, "name": "x", "n": 2, **X},  # of images, not of people
        {"group": one, "attribute": None, "name": "x", **X},
        {"name": "y", "value": 0.5},
        {"part": "study: another", "name": "pull"},  # is not shown
    )
    names = ("identity", "axis", "attribute", "part", "score")
    expected = [
        ("", "", "", "", "y"),
        ("Alpha", "religion", "", "", "x"),
        ("Alpha", "religion", "hat", "", "x"),
        ("Alpha", "religion", "kind", "", "x"),
        ("Alpha", "gender", "hat", "", "x"),
        ("Zulu", "nationality", "", "a", "x"),
        ("Zulu", "nationality", "", "a", "y"),
        ("Zulu", "nationality", "", "b", "x"),
    ]
    written = lines(run)
    assert [tuple(row[name] for name in names) for row in written] == expected
    assert [written[6][name] for name in ("n", "k", "value", "low", "high")] == ["5", "2", "1.0", "", ""]
    assert [written[7][name] for name in ("n", "k", "value", "low", "high")] == [
        "5",
        "",
        "0.5",
        "0.25",
        "0.75",
    ]
    table = read_table(run)
    rows = [
        (row.group, row.attribute, row.part, [each and each.name for each in row.scores])
        for row in table.rows
    ]
    assert rows == [
        ("", "", "", [None, "y"]),
        ("Alpha", "", "", ["x", None]),
        ("Alpha", "hat", "", ["x", None]),
        ("Alpha", "kind", "", ["x", None]),
        ("Alpha", "hat", "", ["x", None]),
        ("Zulu", "", "a", ["x", "y"]),
        ("Zulu", "", "b", ["x", None]),
    ]
    assert (table.names, table.total, table.left_out) == (("x", "y"), 7, 0)
    assert table.axes == (scaled_axis("difference", [tuple(X.values())]), None)
    assert (table.groups, table.attributes, table.parts) == (True, True, True)
    assert tables.MAX_ROWS == 500, "as docs/report.md says"
    monkeypatch.setattr(tables, "MAX_ROWS", 1)
    cut = read_table(run)
    assert (cut.rows, cut.left_out) == (table.rows[:1], 6)
    assert (cut.groups, cut.attributes, cut.parts) == (False, False, False)
    assert read_table(stored()).rows == ()


@pytest.mark.parametrize(
    ("metric", "name", "kind"),
    [
        ("attribute_offensiveness", "mean", "offensive"),
        ("rated_offensiveness", "association", "offensive"),
        ("consensus", "agree", "per_cent"),
        ("bias_levels", "mean", "rating"),
        ("bias_levels", "association", "rating"),
        ("bias_levels", "highly_biased", "whole_share"),
        ("tendency", "theta", "ratio"),
        ("pull", "y", "number"),
    ],
)
def test_scores_are_drawn_on_the_axis_of_their_kind_if_one_has_an_interval(metric, name, kind):
    whole, alone = Score(**X), Score(value=0.9)
    expected = scaled_axis(kind, [(0.5, 0.25, 0.75), (0.9, None, None)])
    assert tables._axis(metric, name, [whole, None, alone]) == expected
    assert tables._axis(metric, name, [None, alone]) is None
