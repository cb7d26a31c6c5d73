"""Exports in the hands of those who load them: pandas, polars, duckdb and Crowd-Kit, each in its one line."""

import duckdb
import pandas as pd
import polars as pl
import pytest

from annotation.exports.formats.registry import FORMATS
from annotation.exports.selection import Filters
from annotation.exports.services import writing
from annotation.exports.table import COLUMNS
from tests import factories
from tests.annotation.exports.world import depiction

pytestmark = pytest.mark.django_db


@pytest.fixture
def export(tmp_path):
    """Writes an export of a study; the path of its one file."""

    def made(study, fmt: str):
        path = tmp_path / f"answers{FORMATS[fmt].ending}"
        writing.write(study=study, fmt=fmt, path=path, by=None, filters=Filters())
        return str(path)

    return made


def test_the_long_table_is_the_same_for_pandas_polars_and_duckdb(export):
    study = depiction()
    parquet, csv = export(study, "parquet"), export(study, "csv")
    table = pd.read_parquet(parquet)
    assert len(table) > 5
    frame = pl.read_parquet(parquet)
    assert (frame.columns, frame.height) == (list(table.columns), len(table))
    rows = duckdb.sql("SELECT annotator, identity, attribute, value FROM read_parquet(?)", params=[parquet])
    said = sorted(rows.fetchall(), key=repr)
    assert said == sorted(frame.select("annotator", "identity", "attribute", "value").rows(), key=repr)
    # and as text
    text = pd.read_csv(csv, keep_default_na=False)
    assert list(text.columns) == list(COLUMNS)
    assert list(text["value"]) == list(table["value"])
    assert pl.read_csv(csv)["value"].to_list() == list(table["value"])
    [(number, total)] = duckdb.sql("SELECT count(*), sum(value) FROM read_csv(?)", params=[csv]).fetchall()
    assert (number, total) == (len(table), table["value"].sum())


# crowd-kit 1.4.2 uses what pandas 3.1 is about to drop
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_crowd_kit_aggregates_what_it_is_given(export):
    from crowdkit.aggregation import MajorityVote  # brings scipy and nltk along

    study = factories.rating_study(texts=["hat", "honest"])
    first, second = study.tasks.get().units.order_by("position")
    for unit, values in ((first, (5, 5, 1)), (second, (1, 1, 4))):
        for number, value in enumerate(values):
            who = factories.annotator() if unit == first else first.responses.order_by("pk")[number].annotator
            factories.response(unit, values=[value], who=who)
    answers = pd.read_csv(export(study, "crowdkit"))
    assert list(answers.columns)[:3] == ["task", "worker", "label"]
    agreed = MajorityVote().fit_predict(answers[["task", "worker", "label"]])
    names = answers.groupby("task")["label"].agg(lambda labels: labels.mode()[0])
    assert agreed.to_dict() == names.to_dict()
    assert len(agreed) == 2
    assert len(set(agreed)) == 2
