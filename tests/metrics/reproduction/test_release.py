"""The released files in, the published numbers out (PROTOCOL §2, §6, §13)."""

import csv
import functools
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import krippendorff
import pandas as pd
import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import transaction
from django.db.models import Count

from annotation.annotate.services import items, responses
from annotation.core.leases import JobState
from annotation.imports.readers.visage_annotations import read_annotations
from annotation.imports.readers.visage_attributes import read_attributes
from annotation.management.commands import import_visage as command
from annotation.models import (
    Association,
    IdentityGroup,
    Image,
    Judgement,
    Option,
    OptionRole,
    Study,
    TaskKind,
    Unit,
)
from generation.jobs.services import work
from generation.models import Caption, Embedding, Job, Provenance
from generation.recipes.prompts import PULL, PromptSet
from metrics.core.published_tables import published_rows
from metrics.reproduction.comparison import EQUAL, TRUNCATED, compare
from tests import factories
from tests.annotation.imports.test_import_visage import TABLES

pytestmark = [pytest.mark.release, pytest.mark.django_db]
SEEGULL = "seegull/stereotypes_global_v2.csv"
ATTRIBUTES = "visage/Visual Attributes_.xlsx"
ANNOTATIONS = "visage/Image Annotations.xlsx"


# Each file is read once, here as by the command: what is read does not change, and to read takes seconds.
pages_of = functools.cache(read_annotations)
ratings_of = functools.cache(read_attributes)


def import_visage(released) -> None:
    files = ["--attributes", str(released / ATTRIBUTES), "--annotations", str(released / ANNOTATIONS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "read_annotations", pages_of)
        patch.setattr(command, "read_attributes", ratings_of)
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


@pytest.fixture(scope="module")
def as_published(imported, django_db_blocker):
    """The scores of the published variant, without intervals."""
    with django_db_blocker.unblock():
        return scores("--variant", "published", "--resamples", "0")


@pytest.mark.parametrize("variant", ["published", "corrected"])
def test_all_105_groups_come_out_as_in_an_independent_computation(as_published, by_pandas, variant):
    rows, expected = as_published, by_pandas[variant]
    if variant != "published":
        rows = scores("--variant", variant, "--resamples", "0")
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


def test_all_105_published_rows_come_out_to_the_digit(as_published):
    rows = {row["identity"]: row for row in as_published}
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


def test_visages_format_is_read_as_the_release_itself(imported, tmp_path):
    call_command("export", "visage", format="visage", out=tmp_path / "out", stdout=io.StringIO())

    def shown(file: Path) -> Counter:
        return Counter(
            (page.image, page.attributes, tuple((answer.values, answer.boxes) for answer in page.answers))
            for page in pages_of(file).rows
        )

    def rated(file: Path) -> list:
        return sorted((row.attribute, row.scores) for row in ratings_of(file).rows)

    for name, read in ((ANNOTATIONS, shown), (ATTRIBUTES, rated)):
        assert read(tmp_path / "out" / Path(name).name) == read(imported / name)


def test_the_release_without_its_images_opens_as_a_data_set(imported, tmp_path):
    import datasets

    folder = tmp_path / "dataset"
    call_command("export", "visage", format="huggingface", out=folder, stdout=io.StringIO())
    opened = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert opened.num_rows == 2025
    assert "image" not in opened.column_names


FAKE = ("--backend", "fake", "--yes")
SMALL = (*FAKE, "--size", "16x16")
STUDY = """
name = "images-2026"
title = "What do these pictures show?"
contact = "studies@example.org"
[consent]
text = "You are invited to look at pictures."
[stereotypes]
source = "seegull-v2"
[[tasks]]
kind = "depiction"
image_set = "drawn"
attributes = { visual = "visage" }
"""


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_from_the_released_associations_to_an_open_study_of_new_pictures(imported, tmp_path):
    """The whole of ViSAGe's plan with the backend that draws."""
    # detection: 135 groups, 3 prompts, 5 pictures each (PROTOCOL §5), of which the fake draws two
    detection = ("generate", "visage", "--set", "drawn", *SMALL)
    planned = run(*detection, "--preview")
    assert "2,025 of 2,025 images" in planned
    assert "135" in planned
    detection = (*detection, "--images-per-prompt", "2")
    assert "810 of 810" in run(*detection, "--now")
    drawn = Image.objects.filter(image_set__name="drawn")
    a_group = drawn.values("group").annotate(images=Count("pk"), prompts=Count("prompt", distinct=True))
    assert {(row["images"], row["prompts"]) for row in a_group} == {(6, 3)}
    assert a_group.count() == 135
    assert drawn.filter(prompt="a photo of an Indian person").count() == 2

    # pull: default, stereotypical and non-stereotypical (§9), one picture a prompt instead of 15
    pull = ("generate", "visage", "--set", "pull", "--prompts", "pull", "--images-per-prompt", "1", *SMALL)
    run(*pull, "--later")
    of_pull = Job.objects.filter(run__image_set__name="pull")
    assert of_pull.filter(prompt_set=PromptSet.DEFAULT, attribute=None).count() == 135
    votes = {
        (group, attribute): votes
        for group, attribute, votes in Association.objects.filter(source__name="seegull-v2").values_list(
            "group", "attribute", "out_stereotypical"
        )
    }
    for kind in (PromptSet.STEREOTYPICAL, PromptSet.NON_STEREOTYPICAL):
        described = of_pull.filter(prompt_set=kind)
        pairs = set(described.values_list("group", "attribute"))
        # three forms for each attribute of a group that the study showed with it
        assert described.count() == 3 * len(pairs) > 2000
        shown = Option.objects.filter(unit__task__study__name="visage", attribute__isnull=False).order_by()
        assert pairs <= set(shown.values_list("unit__image__group", "attribute").distinct())
        if kind == PromptSet.STEREOTYPICAL:
            assert all(votes[pair] >= 2 for pair in pairs)
        else:
            assert not pairs & set(votes)
    # all that is planned of twelve groups is drawn; that of the others would be drawn in the same way
    drawn_too = sorted(of_pull.values_list("group", flat=True).distinct())[::12]
    of_pull.exclude(group__in=drawn_too).delete()
    work.work(run_id=of_pull.earliest("pk").run_id)
    planned = of_pull.values_list("group", "prompt", "prompt_set", "attribute", "seed")
    made = Provenance.objects.filter(image__image_set__name="pull")
    assert set(made.values_list("prompt_set", flat=True)) == {one.value for one in PULL}
    assert set(planned) == set(
        made.values_list("image__group", "image__prompt", "prompt_set", "attribute", "seed")
    )
    assert not Job.objects.exclude(state=JobState.DONE).exists()
    assert Image.objects.exclude(file="").count() == Provenance.objects.count() == Job.objects.count()
    for name in Image.objects.exclude(file="").values_list("file", flat=True)[::200]:
        assert default_storage.exists(name)
    # the same again makes nothing
    assert "Nothing to do" in run(*detection, "--now")

    run("caption", "drawn", *FAKE, "--now", "--count", "3")
    run("embed", "drawn", *FAKE, "--now")
    assert Caption.objects.count() == 810 * 3
    assert Embedding.objects.count() == 810

    file = tmp_path / "images.toml"
    file.write_text(STUDY, encoding="utf-8")
    run("open_study", str(file))
    study = Study.objects.get(name="images-2026")
    units = Unit.objects.filter(task__study=study)
    assert (
        units.values("image").distinct().count() == drawn.filter(pk__in=units.values("image")).count() > 760
    )
    enrolment = factories.enrolment(study, consented=True)
    [item] = items.next_items(enrolment=enrolment, wanted=1).items
    none = Unit.objects.get(pk=item.unit_id).options.get(role=OptionRole.NONE_OF_ABOVE)
    options = Unit.objects.get(pk=item.unit_id).options.order_by("position")
    said = [
        responses.Answer(option_id=option.pk, value=int(option == none), position=place)
        for place, option in enumerate(options, start=1)
    ]
    done = responses.submit(
        enrolment=enrolment, unit_id=item.unit_id, client_key=item.client_key, answers=said
    )
    assert done.outcome == "filled"
