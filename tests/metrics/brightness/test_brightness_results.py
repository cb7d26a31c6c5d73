"""The results of a run against plain arithmetic: groups, faces, strengths, and the initial images."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from math import nan

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.models import IdentityGroup
from generation.models import Answer, Run, RunState
from metrics.brightness import data, queries
from metrics.brightness.figures import brightness_figure
from metrics.brightness.stats import Estimate, mean
from tests import factories
from tests.metrics.brightness import measured

pytestmark = pytest.mark.django_db
HEADER = "group,strength,n,rgb,rgb_low,rgb_high,lightness,ita,faces,change,change_low,change_high"


def shown(*arguments: str) -> str:
    out = io.StringIO()
    call_command("brightness", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.fixture
def made(monkeypatch):
    """Two initial images of each group, and two images made of each at two strengths: the run over the made
    ones, and the run over the initial ones."""
    first, images = measured.a_run("first", {"Asian": [100, 200], "White": [100, 150]}, image_set="initial")
    run = measured.empty_run("changed", image_set="made")
    of = {}
    for group, added in (("Asian", {0.3: 0, 0.6: 30}), ("White", {0.3: 10, 0.6: -5})):
        for initial, rgb in zip(
            images[group], {"Asian": [100, 200], "White": [100, 150]}[group], strict=True
        ):
            for strength, more in added.items():
                for sample in (1, 2):
                    image = measured.add_image(run, group, rgb + more + sample)
                    of[image.pk] = (initial.pk, strength, sample)
    monkeypatch.setattr(data, "initial_images", lambda image_set: of if image_set.name == "made" else {})
    return run, first


def test_groups_are_averaged_and_faces_counted():
    run = measured.empty_run("a")
    for rgb, more in (
        (10, {"lightness": 40.0, "ita": -20.0}),
        (20, {"lightness": 50.0, "ita": None, "region": "crop", "note": "too little skin in the face"}),
        (60, {"lightness": 72.0, "ita": 50.0, "region": "crop", "note": "too little skin in the face"}),
    ):
        measured.add_image(run, "White", rgb, **more)
    measured.add_image(run, "Asian", 200, ita=None, region="crop", note="no face found")
    found = queries.results(run, resamples=200)
    asian, white = found.rows
    assert (white.group, white.n, white.strength, white.faces, white.crops) == ("White", 3, None, 1, 2)
    assert (white.rgb.value, white.lightness, white.ita, white.with_ita) == (30, 54, 15, 2)
    assert white.rgb.low < 30 < white.rgb.high
    assert (asian.rgb.value, asian.rgb.has_interval, asian.is_compared) == (200, False, False)
    assert (asian.ita, asian.with_ita) == (None, 0)
    assert found.notes == (("too little skin in the face", 2), ("no face found", 1))
    assert (found.summary.high, found.summary.low, found.summary.is_clear) == (asian, white, False)
    assert (found.made, found.missing, found.images, found.faces) == (0, (), 4, 1)


def test_clear_differences_are_those_whose_intervals_do_not_overlap():
    run, _ = measured.a_run("a", {"White": [200, 201, 202, 203], "Asian": [50, 51, 52, 53]})
    assert queries.results(run, resamples=200).summary.is_clear
    near, _ = measured.a_run("b", {"White": [50, 60, 70, 80], "Asian": [51, 61, 71, 81]}, image_set="near")
    assert not queries.results(near, resamples=200).summary.is_clear


def test_changes_are_those_of_the_means_by_group_and_strength(made):
    run, first = made
    found = queries.results(run, resamples=300)
    rows = {(row.group, row.strength): row for row in found.rows}
    assert list(rows) == [("Asian", 0.3), ("Asian", 0.6), ("White", 0.3), ("White", 0.6)]
    # samples are 1 and 2 brighter, so 1.5 on average; means of the initial images are 150 and 125
    for key, expected in {
        ("Asian", 0.3): 100 * 1.5 / 150,
        ("Asian", 0.6): 100 * 31.5 / 150,
        ("White", 0.3): 100 * 11.5 / 125,
        ("White", 0.6): 100 * -3.5 / 125,
    }.items():
        assert rows[key].change.value == pytest.approx(expected)
        assert rows[key].change.low <= expected <= rows[key].change.high
        assert (rows[key].n, rows[key].compared) == (4, 4)
    assert (found.initial_runs, found.missing, found.not_compared, found.made) == ((first,), (), 0, 16)
    # what was made of one image is drawn together
    rgb = mean([101, 102, 201, 202], [1, 1, 2, 2], resamples=None, rng=np.random.default_rng())
    assert queries.results(run).rows[0].rgb == rgb
    assert found.summary.high is rows["Asian", 0.6]
    assert found.summary.low is rows["White", 0.6]
    assert (found.summary.of_change, found.summary.is_clear) == (True, True)


def test_the_newest_run_with_the_same_crop_is_compared_with(made):
    run, first = made
    again = measured.empty_run("again", image_set="initial")
    other = measured.empty_run("other-crop", image_set="initial", crop="whole")
    assert queries.results(run, resamples=0).initial_runs == (first,)
    for image in first.image_set.images.all():
        measured.measure(other, image, 1)
        measured.measure(again, image, 50)
    found = queries.results(run, resamples=0)
    assert found.initial_runs == (again,)
    assert found.rows[0].change.value == pytest.approx(100 * (151.5 / 50 - 1))


def test_without_a_run_over_the_initial_images_the_set_to_measure_is_named(made):
    run, first = made
    first.answers.all().delete()
    found = queries.results(run, resamples=0)
    assert [each.name for each in found.missing] == ["initial"]
    assert (found.is_compared, found.not_compared, found.summary) == (False, 16, None)
    figure = brightness_figure(run, found)
    assert {row[0] for row in figure.rows} >= {"Asian, strength 0.3", "White, strength 0.6"}
    assert {row[4] for row in figure.rows} == {4}
    measured.add_image(run, "Asian", 100)
    assert queries.results(run, resamples=0).summary is None, "made and not made"


def test_initial_images_that_are_not_measured_yet_are_left_out_and_counted(made):
    run, first = made
    first.answers.filter(job__image__group__name="White").last().delete()
    found = queries.results(run, resamples=0)
    assert (found.not_compared, found.missing) == (4, ())
    assert [row.compared for row in found.rows] == [4, 4, 2, 2]
    assert [row[5] for row in brightness_figure(run, found).rows] == [4, 4, 2, 2]
    first.answers.filter(job__image__group__name="White").delete()
    found = queries.results(run, resamples=0)
    assert [row.is_compared for row in found.rows] == [True, True, False, False]
    assert found.is_compared


def test_changes_that_may_be_chance_are_not_called_clear(monkeypatch):
    _, images = measured.a_run("first", {"White": [100, 100]}, image_set="initial")
    run, made = measured.a_run("changed", {"White": [80, 125]}, image_set="made")
    of = {
        image.pk: (initial.pk, 0.5, 1) for image, initial in zip(made["White"], images["White"], strict=True)
    }
    monkeypatch.setattr(data, "initial_images", lambda image_set: of)
    assert not queries.results(run, resamples=200).summary.is_clear


@pytest.mark.parametrize(
    ("changes", "clear"),
    [
        ({"A": (9, -3, 20), "B": (6, 5, 7), "C": (1, -4, 6)}, ("B", None)),
        ({"A": (9, 1, 20), "B": (6, 5, 7), "C": (-1, -4, -0.5), "D": (-3, -9, 2)}, ("B", "C")),
        ({"A": (9, -3, 20), "B": (-9, nan, nan), "C": (-8, -9, -7)}, (None, "C")),
        ({"A": (9, 0, 20), "B": (-9, nan, nan)}, (None, None)),
    ],
)
def test_the_clearest_changes_of_all_rows_are_named(made, changes, clear):
    run, _ = made
    one = queries.results(run, resamples=0).rows[0]
    rows = [replace(one, group=name, change=Estimate(*change)) for name, change in changes.items()]
    found = queries._summary(rows)
    assert tuple(row and row.group for row in (found.high, found.low)) == clear
    assert found.is_clear == any(clear)


def test_groups_of_one_name_have_rows_of_their_own():
    run, _ = measured.a_run("a", {"White": [200], "Asian": [50]})
    IdentityGroup.objects.filter(name="White").update(name="Asian", axis="other")
    figure = brightness_figure(run, queries.results(run, resamples=0))
    axis = IdentityGroup.objects.exclude(axis="other").get().axis
    assert [row[:2] for row in figure.rows] == [(f"Asian ({axis})", 50), ("Asian (other)", 200)]


def test_the_figures_have_the_numbers_of_the_results(made):
    run, first = made
    found = queries.results(run, resamples=100)
    figure = brightness_figure(run, found)
    assert figure.name == "brightness-change"
    assert figure.columns == ("group", "strength", "change", "low", "high", "n")
    assert [row[:3] for row in figure.rows] == [
        (row.group, row.strength, row.change.value) for row in found.rows
    ]
    assert "Asian at strength 0.6: +21.0 %" in figure.alt
    assert "White at strength 0.6: −2.8 % [" in figure.alt
    assert [row[3:5] for row in figure.rows] == [(row.change.low, row.change.high) for row in found.rows]
    of_groups = brightness_figure(first, queries.results(first, resamples=100))
    assert [row[:2] for row in of_groups.rows] == [("Asian", 150), ("White", 125)]
    assert (
        brightness_figure(measured.empty_run("none"), queries.results(measured.empty_run("n"), resamples=0))
        is None
    )


def test_the_command_prints_what_the_results_are(made):
    run, _ = made
    text = shown("changed", "--format", "csv", "--resamples", "200")
    assert text.splitlines()[0] == HEADER
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [rows[0][name] for name in ("group", "strength", "n")] == ["Asian", "0.3", "4"]
    assert float(rows[1]["change"]) == pytest.approx(21)
    assert float(rows[1]["rgb"]) == pytest.approx(181.5)
    again = json.loads(shown(str(run.pk), "--format", "json", "--resamples", "0"))
    assert (again["crop"], again["missing"], again["rows"][0]["change_low"]) == ("published", [], None)
    assert "no measure of skin tone" in shown("changed", "--resamples", "0")


def test_the_command_says_what_is_missing(made):
    run, first = made
    first.answers.all().delete()
    run.image_set.drawn = True
    run.image_set.save()
    table = shown("changed", "--resamples", "0")
    assert "No change against 'initial'" in table
    assert "SIMULATED" in table
    assert "SIMULATED" not in shown("changed", "--format", "csv", "--resamples", "0")
    assert "measured nothing yet" in shown("first")
    with pytest.raises(CommandError, match=r"no run 'changd'.*changed"):
        shown("changd")


def test_answers_that_are_no_measurement_are_named_with_the_cure(made):
    run, _ = made
    Answer.objects.filter(run=run).update(text="A bright picture.")
    with pytest.raises(data.MeasurementsRefused, match=r"image \d+ is no measurement: 'A bright"):
        queries.results(run, resamples=0)
    with pytest.raises(CommandError, match="no measurement"):
        shown("changed")


def test_the_same_seed_gives_the_same_intervals():
    run, _ = measured.a_run("a", {"White": [value**2 for value in range(15)]})
    one, other, third = (queries.results(run, resamples=100, seed=seed).rows for seed in (1, 1, 2))
    assert one == other != third


def test_a_run_that_does_not_say_so_measured_the_published_crop_and_looked_for_faces():
    silent, other = (Run(recipe={"options": options}) for options in ({}, {"crop": "whole", "faces": False}))
    assert (data.crop_of(silent).name, data.looks_for_faces(silent)) == ("published", True)
    assert (data.crop_of(other).name, data.looks_for_faces(other)) == ("whole", False)


def test_the_sets_that_hold_images_come_by_name():
    images = [factories.image(image_set=factories.image_set(name)).pk for name in "bac"]
    assert [one.name for one in data.sets_of(images[:2])] == ["a", "b"]


def test_runs_of_other_purposes_are_not_listed(made):
    run, first = made
    run.recipe = {**run.recipe, "design": {}}
    run.state = RunState.CANCELLED
    run.save()
    assert list(data.brightness_runs()) == [first]
    assert factories.image_set("initial") == data.image_set_of(first)
