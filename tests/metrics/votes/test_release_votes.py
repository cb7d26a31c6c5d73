"""SeeGULL v2 in, its votes and ratings out: every count against a plain pandas program (PROTOCOL §3, §4)."""

import csv
import functools
import io
from pathlib import Path

import pandas as pd
import pytest
from django.core.management import call_command
from django.db import transaction

from annotation.models import IdentityGroup, Source
from tests import factories

pytestmark = [pytest.mark.release, pytest.mark.django_db]
SEEGULL = "seegull/stereotypes_global_v2.csv"


@pytest.fixture(scope="module")
def table(released):
    """The file as pandas reads it, cleaned as the importer says it does."""
    rows = pd.read_csv(Path(released) / SEEGULL)
    rows["identity"] = rows.identity.str.strip(" .,;")
    rows["attribute"] = rows.attribute.str.strip().str.lower()
    return rows


@pytest.fixture(scope="module")
def imported(released, django_db_setup, django_db_blocker):
    """The file in the database for this module only, with a study of its votes; {group: region}."""
    quiet = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    with django_db_blocker.unblock():
        outer = transaction.atomic()
        outer.__enter__()
        call_command("import_seegull", str(Path(released) / SEEGULL), **quiet)
        factories.study("seegull", stereotype_source=Source.objects.get())
        regions = dict(IdentityGroup.objects.values_list("name", "region"))
    try:
        yield regions
    finally:
        with django_db_blocker.unblock():
            transaction.set_rollback(True)
            outer.__exit__(None, None, None)


@pytest.fixture(scope="module")
def scores(imported, django_db_blocker):
    """The scores of a metric and a variant, each computed once."""

    @functools.cache
    def known(metric, variant="corrected"):
        with django_db_blocker.unblock():
            return computed(metric, "--variant", variant)

    return known


def computed(metric, *arguments):
    out = io.StringIO()
    call = ("scores", "seegull", "--metric", metric, "--format", "csv", "--resamples", "0", *arguments)
    call_command(*call, stdout=out, stderr=io.StringIO())
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def sections(table, regions):
    """{(identity, part): rows} of the whole, each region and each group."""
    found = {("", ""): table}
    region = table.identity.map(regions)
    found |= {("", f"region: {name}"): rows for name, rows in table.groupby(region) if name}
    found |= {(name, ""): rows for name, rows in table.groupby("identity")}
    return found


def cells(rows):
    """{part: rows that pass} for every pool and threshold."""
    found = {}
    for t in (1, 2, 3):
        inside, outside = rows.region_stereo >= t, rows.NA_stereo >= t
        for pool, passed in (("in-region", inside), ("out-region", outside), ("both", inside & outside)):
            found[f"pool: {pool}, t={t}"] = rows[passed]
    return found


def test_every_count_of_every_group_region_pool_and_threshold(imported, scores, table):
    expected = {}
    for (identity, part), rows in sections(table, imported).items():
        for cell, passed in cells(rows).items():
            expected[identity, f"{part}; {cell}".removeprefix("; ")] = (len(passed), len(rows))
    found = {
        (row["identity"], row["part"]): (int(row["k"]), int(row["n"]))
        for row in scores("stereotypes")
        if row["score"] == "stereotypes"
    }
    assert len(found) == 9 * (1 + 8 + 176)
    assert found == expected


def test_the_counts_of_the_whole_are_those_of_the_file_at_hand(scores):
    whole = {
        row["part"]: int(row["k"])
        for row in scores("stereotypes")
        if row["score"] == "stereotypes" and not row["identity"] and row["part"].startswith("pool")
    }
    assert whole == {
        "pool: in-region, t=1": 5588,
        "pool: in-region, t=2": 3084,
        "pool: in-region, t=3": 1087,
        "pool: out-region, t=1": 5957,
        "pool: out-region, t=2": 3251,
        "pool: out-region, t=3": 1154,
        "pool: both, t=1": 4764,
        "pool: both, t=2": 1914,
        "pool: both, t=3": 413,
    }


@pytest.mark.parametrize("variant", ["corrected", "published"])
def test_every_mean_offensiveness_of_every_section_and_pool(imported, scores, table, variant):
    ratings = table[["Annotation1", "Annotation2", "Annotation3"]]
    mean = ratings.mean(axis=1)
    if variant == "published":
        mean = table["mean offensiveness_score"].where(ratings.notna().any(axis=1))
    rated = table.assign(mean=mean, unsure=(ratings == 0).sum(axis=1), given=ratings.notna().sum(axis=1))
    found = {
        (row["score"], row["identity"], row["attribute"], row["part"]): row
        for row in scores("attribute_offensiveness", variant)
    }
    checked = 0
    for (identity, part), rows in sections(rated, imported).items():
        parts = {part: rows} | {f"{part}; {cell}".removeprefix("; "): of for cell, of in cells(rows).items()}
        for name, of in parts.items():
            known = of["mean"].dropna()
            row = found.get(("mean", identity, "", name))
            assert (row is not None) == bool(len(known))
            if row is not None:
                assert int(row["n"]) == len(known)
                assert float(row["value"]) == pytest.approx(known.mean(), abs=1e-9)
                checked += 1
        unsure = found["unsure", identity, "", part]
        assert (int(unsure["k"]), int(unsure["n"])) == (rows.unsure.sum(), rows.given.sum())
        assert int(found["unrated", identity, "", part]["k"]) == rows["mean"].isna().sum()
        stereotypes = rows[rows.NA_stereo >= 2]["mean"].dropna()
        if len(stereotypes):
            value = float(found["mean_stereotypes", identity, "", part]["value"])
            assert value == pytest.approx(stereotypes.mean(), abs=1e-9)
    assert checked > 1500


def test_every_attributes_mean_and_that_of_all_attributes(scores, table):
    mean = table[["Annotation1", "Annotation2", "Annotation3"]].mean(axis=1)
    by_attribute = mean.groupby(table.attribute).mean().dropna()
    rows = scores("attribute_offensiveness")
    found = {row["attribute"]: float(row["value"]) for row in rows if row["score"] == "attribute"}
    assert found == pytest.approx(by_attribute.to_dict(), abs=1e-9)
    whole = next(row for row in rows if row["score"] == "mean_attribute" and not row["part"])
    assert float(whole["value"]) == pytest.approx(by_attribute.mean(), abs=1e-9)
    assert int(whole["n"]) == len(by_attribute)
