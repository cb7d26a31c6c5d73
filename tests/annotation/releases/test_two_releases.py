"""Somebody who has two releases of one study tries to find people."""

import io
import zipfile
from collections import defaultdict

import pyarrow.parquet as pq
import pytest

from annotation.models import Annotator
from annotation.releases.request import ReleaseOptions
from annotation.releases.services import bundle as release_bundle
from tests.annotation.releases.world import ASIAN_WOMAN, EUROPEAN_MAN, answered, people, released, rows

pytestmark = pytest.mark.django_db


def answers_of(folder):
    """Pseudonym -> what they said, unit by unit: what nobody can take out of the data."""
    said = defaultdict(dict)
    for row in rows(folder, "annotations.csv"):
        said[row["annotator"]][row["unit"]] = (row["value"], row["active_seconds"])
    return {name: tuple(sorted(each.items())) for name, each in said.items()}


@pytest.fixture(scope="module")
def two(once, tmp_path_factory):
    def released_twice():
        study = answered(people((ASIAN_WOMAN, 5), (EUROPEAN_MAN, 5)))
        folder = tmp_path_factory.mktemp("releases")
        return released(study, folder / "one"), released(study, folder / "two")

    return once(released_twice).made


def test_two_releases_share_no_pseudonym_and_none_of_ours(two):
    first, second = ({row["annotator"] for row in rows(each, "annotators.csv")} for each in two)
    assert len(first) == len(second) == 10
    assert not first & second
    assert not first & set(Annotator.objects.values_list("pseudonym", flat=True))


def test_the_order_of_annotators_joins_nothing(two):
    first, second = (answers_of(each) for each in two)
    orders = []
    for folder, said in zip(two, (first, second), strict=True):
        orders.append([said[row["annotator"]] for row in rows(folder, "annotators.csv")])
    assert set(orders[0]) == set(orders[1])
    assert orders[0] != orders[1]


def test_the_order_of_responses_joins_nothing(two):
    places = []
    for folder in two:
        said = answers_of(folder)
        places.append([said[row["annotator"]] for row in rows(folder, "annotations.csv")])
    # in how many rows does the same person stand in the same place? By chance in one of ten.
    same = sum(a == b for a, b in zip(*places, strict=True))
    assert same < len(places[0]) * 0.35
    # and the number of a response says no more than its place
    for folder in two:
        numbers = [int(row["response"]) for row in rows(folder, "annotations.csv")]
        assert sorted(set(numbers)) == list(range(1, 201))


def test_files_say_nothing_of_when_or_where_they_were_written(two):
    for folder in two:
        assert {int(each.stat().st_mtime) for each in (folder, *folder.rglob("*"))} == {315532800}
    study = answered(people((ASIAN_WOMAN, 5)), name="zipped", units=1)
    archive = b"".join(release_bundle.stream_zip(study=study, by=None, options=ReleaseOptions()))
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        assert {each.date_time for each in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {(each.external_attr, each.extra, each.comment) for each in opened.infolist()} == {
            (opened.infolist()[0].external_attr, b"", b"")
        }
        assert opened.testzip() is None
    parquet = [pq.ParquetFile(folder / "annotations.parquet").metadata for folder in two]
    assert parquet[0].created_by == parquet[1].created_by
    assert parquet[0].metadata is None or set(parquet[0].metadata) == {b"ARROW:schema"}
