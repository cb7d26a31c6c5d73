"""The released files in, the published numbers out (PROTOCOL §2, §6, §13)."""

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import krippendorff
import pandas as pd
import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models import Count

from annotation.models import IdentityGroup, Judgement, TaskKind, Unit
from metrics.core.published_tables import published_rows
from metrics.reproduction.comparison import EQUAL, TRUNCATED, compare
from tests.annotation.imports.test_import_visage import TABLES

pytestmark = [pytest.mark.release, pytest.mark.django_db]
SEEGULL = "seegull/stereotypes_global_v2.csv"
ATTRIBUTES = "visage/Visual Attributes_.xlsx"
ANNOTATIONS = "visage/Image Annotations.xlsx"


def import_visage(released) -> None:
    files = ["--attributes", str(released / ATTRIBUTES), "--annotations", str(released / ANNOTATIONS)]
    call_command("import_visage", *files, stdout=io.StringIO(), stderr=io.StringIO())


@dataclass
class Imported:
    """The folder of the release, and how many rows of each table the import of ViSAGe alone made."""

    folder: Path
    made: dict[str, int]
    without_region: int


@pytest.fixture(scope="module")
def release(released, django_db_setup, django_db_blocker):
    """The release in the database for this module only: imported once, rolled back at its end."""
    with django_db_blocker.unblock(), transaction.atomic():
        import_visage(released)
        made = {model.__name__: model.objects.count() for model in TABLES}
        without_region = IdentityGroup.objects.filter(region="").count()
        call_command("import_seegull", str(released / SEEGULL), stdout=io.StringIO(), stderr=io.StringIO())
        yield Imported(released, made, without_region)
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def imported(release):
    return release.folder


@pytest.fixture(scope="module")
def by_pandas(released):
    """The same tables by a plain pandas program that shares nothing with the project's code."""
    rows = pd.read_excel(released / ANNOTATIONS, sheet_name="full_set_annotations", engine="calamine")
    rows = rows[rows.img_path.notna()]
    identity = rows.img_path.str.split("/").str[-1].str.extract(r"^(.*?)\d+\.png$")[0]
    attribute = rows.attribute.str.strip().str.lower()
    votes = pd.read_csv(released / SEEGULL)
    votes = votes[votes.NA_stereo >= 2]
    known = set(zip(votes.identity.str.strip(), votes.attribute.str.strip().str.lower(), strict=True))
    table = (
        (rows.present == "yes")
        .groupby([identity.rename("identity"), attribute])
        .mean()
        .rename("l")
        .reset_index()
    )
    table["stereo"] = [pair in known for pair in zip(table.identity, table.attribute, strict=True)]

    def tendencies(frame):
        result = frame.groupby(["identity", "stereo"]).l.agg(["mean", "count"]).unstack("stereo")
        return result[result["count"][True] > 1]

    return {
        "published": tendencies(table),
        "corrected": tendencies(table[table.attribute != "none of the above"]),
    }


def test_the_study_is_imported_whole_and_a_second_time_without_change(release):
    assert release.made == {
        "Source": 1,
        "IdentityGroup": 135,
        "Attribute": 1993,
        "ImageSet": 1,
        "Image": 2025,
        "Study": 1,
        "Task": 2,
        "Unit": 1994 + 8592,
        "Option": 1994 + 8592 * 5,
        "Slot": 5982 + 24_034,
        "Response": 5982 + 24_034,
        "Judgement": 5982 + 120_170,
        "Box": 7579,
    }
    assert release.without_region == 0
    before = {model: model.objects.count() for model in TABLES}
    import_visage(release.folder)
    assert {model: model.objects.count() for model in TABLES} == before
    overlap = Unit.objects.filter(task__kind=TaskKind.DEPICTION).annotate(n=Count("responses"))
    # 7,630 runs of three, 32 of four (3 + 1) and 12 of six (3 + 3), 804 and 70 cut short
    assert Counter(overlap.values_list("n", flat=True)) == {3: 7630 + 32 + 24, 1: 804 + 32, 2: 70}
    visual = Judgement.objects.filter(response__unit__task__kind=TaskKind.VISUAL_NATURE)
    assert visual.filter(value=3).count() == 112


def scores(*arguments):
    out = io.StringIO()
    call_command("scores", "visage", "--format", "csv", *arguments, stdout=out, stderr=io.StringIO())
    return list(csv.DictReader(io.StringIO(out.getvalue())))


@pytest.mark.parametrize("variant", ["published", "corrected"])
def test_all_105_groups_come_out_as_in_an_independent_computation(imported, by_pandas, variant):
    rows, expected = scores("--variant", variant, "--resamples", "0"), by_pandas[variant]
    assert [row["identity"] for row in rows] == sorted(expected.index)
    assert len(rows) == 105
    for row in rows:
        one = expected.loc[row["identity"]]
        assert int(row["n_stereotypical"]) == one["count", True]
        assert int(row["n_random"]) == one["count", False]
        assert float(row["l_stereo"]) == pytest.approx(one["mean", True], rel=1e-12)
        assert float(row["l_random"]) == pytest.approx(one["mean", False], rel=1e-12)
        if row["theta"]:
            ratio = one["mean", True] / one["mean", False] if one["mean", False] else float("inf")
            assert float(row["theta"]) == pytest.approx(ratio, rel=1e-12)
        else:
            assert one["mean", True] == one["mean", False] == 0


def test_all_105_published_rows_come_out_to_the_digit(imported):
    rows = {row["identity"]: row for row in scores("--variant", "published", "--resamples", "0")}
    published = published_rows("visage_tables_1_2.csv")
    assert len(published) == 105
    assert {one["identity"] for one in published} == set(rows)
    unequal = {}
    for one in published:
        for name in ("l_stereo", "l_random", "theta"):
            shown, result = compare(one[name], float(rows[one["identity"]][name]))
            if result != EQUAL:
                unequal[one["identity"], name] = (one[name], rows[one["identity"]][name], shown, result)
    # half way between two printed numbers, of which the paper has the lower
    assert unequal == {("Panamanian", "theta"): ("54.37", "54.375", "54.38", TRUNCATED)}


def test_every_interval_contains_its_value_and_none_is_missing(imported):
    for row in scores("--resamples", "200"):
        for name in ("l_stereo", "l_random", "theta"):
            if row[name]:
                assert float(row[f"{name}_low"]) <= float(row[name]) <= float(row[f"{name}_high"])
            else:
                assert row[f"{name}_low"] == row[f"{name}_high"] == ""


@pytest.fixture(scope="module")
def reproduced(imported, django_db_blocker):
    out = io.StringIO()
    with django_db_blocker.unblock():
        call_command("reproduce", "visage", "--format", "json", stdout=out)
    return json.loads(out.getvalue())


def of_section(reproduced, section):
    return {
        (row["item"], row["quantity"]): (row["published"], row["computed"], row["result"])
        for row in reproduced["rows"]
        if row["section"] == section
    }


def test_reproduce_compares_every_published_number_and_says_how(reproduced):
    assert (reproduced["groups"], reproduced["compared"], reproduced["equal"]) == (105, 105, 105)
    assert reproduced["cut_off"] == 1
    text = {
        row["quantity"]: (row["computed"], row["result"])
        for row in reproduced["rows"]
        if row["section"] == "text"
    }
    assert text == {
        "attributes rated": ("1994", "equal"),
        "strongly_agree": ("20.41", "equal"),
        "agree": ("22.17", "equal when cut off, not rounded"),
        "strongly_disagree": ("7.52", "equal"),
        "unsure": ("0.2", "equal"),
        "identity groups": ("135", "equal"),
        "image-attribute pairs": ("40057", "equal"),
        "rows of tables 1 and 2": ("105", "equal"),
        "visual attributes": ("518", "equal"),
        "groups with visual stereotypes": ("135", "equal"),
        "groups with one visual stereotype": ("30", "equal"),
        "rows of tables 3 to 5": ("135", "equal"),
        "groups with S(d,s) > S(d,ns)": ("121", "equal"),
    }


def test_reproduce_counts_the_visual_stereotypes_of_groups_as_published(reproduced):
    assert of_section(reproduced, "visual stereotypes") == {
        (group, "visual stereotypes"): (str(number), str(number), "equal")
        for group, number in (
            ("Australian", 63),
            ("Mexican", 46),
            ("Indian", 34),
            ("New Zealand", 31),
            ("Ethiopian", 27),
            ("Japanese", 20),
        )
    }


def test_the_135_rows_of_pull_are_of_the_groups_of_the_release_and_hold_together(imported, reproduced):
    rows = of_section(reproduced, "tables 3-5")
    judged = IdentityGroup.objects.filter(images__image_set__name="visage-release").distinct()
    assert {group for group, _ in rows} == set(judged.values_list("name", flat=True))
    assert len(rows) == 4 * 135
    assert rows["United KingdomUK", "s_mean"] == ("0.7775", "0.7775", "equal")
    assert rows["Botswana", "s_mean"] == ("0.9487", "0.9488", "equal within the rounding of the three")
    assert rows["Finns", "s_d_s"] == ("0.7197", "", "not in the release: it has no embeddings")
    assert Counter(result for (_, name), (_, _, result) in rows.items() if name == "s_mean") == {
        "equal": 122,
        "equal within the rounding of the three": 13,
    }


def test_alpha_is_what_the_package_gives_for_the_sheet_itself(imported, released):
    sheet = pd.read_excel(released / ATTRIBUTES, engine="calamine")
    scored = sheet[[column for column in sheet.columns if column.startswith("score")]].to_numpy(dtype=float).T
    out = io.StringIO()
    call_command("agreement", "visage", "--format", "json", stdout=out)
    rows = {(row["task"], row["level"]): row for row in json.loads(out.getvalue())["rows"]}
    nominal = krippendorff.alpha(reliability_data=scored, level_of_measurement="nominal")
    assert rows["visual_nature", "nominal"]["alpha"] == pytest.approx(nominal, rel=1e-9)
    scored[scored == 3] = float("nan")
    ordinal = krippendorff.alpha(
        reliability_data=scored, value_domain=[1, 2, 4, 5], level_of_measurement="ordinal"
    )
    assert rows["visual_nature", "ordinal"]["alpha"] == pytest.approx(ordinal, rel=1e-9)
    assert rows["depiction", "nominal"]["box_pairs"] > 9000


def test_visages_format_brings_the_release_back_as_it_is(imported, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    quiet = {"stdout": io.StringIO(), "stderr": io.StringIO()}
    call_command("export", "visage", format="visage", out=first, **quiet)
    files = {"attributes": "Visual Attributes_.xlsx", "annotations": "Image Annotations.xlsx"}
    sheets = {option: first / file for option, file in files.items()}
    call_command("import_visage", study="back", **sheets, **quiet)
    call_command("export", "back", format="visage", out=second, **quiet)
    for name in (*files.values(), "ImageAnnotations.csv", "images.csv"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_the_release_without_its_images_opens_as_a_data_set(imported, tmp_path):
    import datasets

    folder = tmp_path / "dataset"
    call_command("export", "visage", format="huggingface", out=folder, stdout=io.StringIO())
    opened = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert opened.num_rows == 2025
    assert "image" not in opened.column_names
