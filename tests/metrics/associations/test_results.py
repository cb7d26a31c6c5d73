"""Two sides compared, and shares and levels by dimension, against plain computations."""

from __future__ import annotations

import pytest

from metrics.associations.comparison import Pair, Side, compare
from metrics.associations.figures import association_figure
from metrics.associations.summary import ALL, summary
from tests.metrics.associations.judged import a_list, asked_people, pair

pytestmark = pytest.mark.django_db


def test_sides_are_models_modalities_or_settings(django_assert_num_queries):
    here, there = a_list("here"), a_list("there")
    pair(here, "old", "slow")
    pair(here, "OLD", "slow", axis="disability")  # the same name in another dimension
    pair(here, "old", "slow", setting="t2t-plural")
    pair(here, "old", "wise", setting="t2i-singular")
    pair(here, "young", "loud", significant=True, significant_corrected=False)
    pair(there, "old", "slow")
    pair(there, "young", "late")
    with django_assert_num_queries(2):
        found = compare(Side(here), Side(there), variant="corrected")
    assert {name: list(pairs) for name, pairs in found.lists.items()} == {
        "shared": [("old", "slow")],
        "only_here": [("old", "wise")],
        "only_there": [("young", "late")],
    }
    assert (found.here, found.there) == (2, 2)
    assert found.jaccard.value == pytest.approx(1 / 3)
    assert found.jaccard.low <= found.jaccard.value <= found.jaccard.high
    assert found.pairs("shared") == [Pair("OLD", "slow")]
    assert found.pairs("shared", 1, 5) == []
    assert compare(Side(here), Side(there), variant="published").lists["only_here"] == [("young", "loud")]
    assert compare(Side(here, "t2i"), Side(here, "t2t"), variant="corrected").here == 1
    assert (
        compare(Side(here, "t2t-plural"), Side(here, "t2t-singular"), variant="corrected").jaccard.value == 1
    )


def test_shares_count_distinct_pairs_and_say_how_many_were_judged():
    found = a_list()
    for word, negative in (("slow", True), ("ill", True), ("wise", False), ("unjudged", None)):
        pair(found, "old", word, negative=negative)
    pair(found, "young", "loud", negative=False)
    # pooled: the same pair in another dimension is one of all pairs
    pair(found, "Old", "slow", axis="disability", negative=False)
    pair(found, "old", "slow", setting="t2t-plural", negative=True)
    pair(found, "old", "bad", negative=True, significant_corrected=False)
    rows = summary(found, variant="corrected", resamples=1000)
    shares = {(row.dimension, row.setting): row for row in rows.shares_of("negative")}
    told = {cell: (row.pairs, row.share.k, row.share.n) for cell, row in shares.items()}
    assert [*told.items()] == [
        ((ALL, "t2t-singular"), (5, 2, 4)),
        ((ALL, "t2t-plural"), (1, 1, 1)),
        (("age", "t2t-singular"), (5, 2, 4)),
        (("age", "t2t-plural"), (1, 1, 1)),
        (("disability", "t2t-singular"), (1, 0, 1)),
    ]
    share = shares["age", "t2t-singular"].share
    # a resample holds old twice, young twice, or both
    assert (share.low, share.value, share.high) == pytest.approx((0, 2 / 4, 2 / 3))
    assert shares["disability", "t2t-singular"].share.low is None
    assert rows.shares_of("toxic") == rows.levels_by("people") == rows.levels_by("model") == []
    assert summary(found, variant="corrected", resamples=1000) == rows
    assert summary(found, variant="published").shares == ()


def test_levels_of_people_and_models_are_kept_apart():
    found = a_list()
    pair(found, "Old", "slow", model_level=5.0)
    pair(found, "Old", "ill", model_level=2.0)
    pair(found, "young", "loud", model_level=2.0)
    pair(found, "old", "slow", axis="disability", setting="t2t-plural")
    asked_people(found, "Old", "slow", [4, 2, 0])  # 0: unsure
    asked_people(found, "Old", "wise", [5])  # not significant
    rows = summary(found, variant="corrected")
    people = {
        (row.dimension, row.setting): (row.level.value, row.level.n, row.answers)
        for row in rows.levels_by("people")
    }
    assert people == {
        (ALL, "t2t-singular"): (3, 1, 2),
        (ALL, "t2t-plural"): (3, 1, 2),
        ("age", "t2t-singular"): (3, 1, 2),
        ("disability", "t2t-plural"): (3, 1, 2),
    }
    [by_model] = [row for row in rows.levels_by("model") if row.dimension == "age"]
    assert (by_model.level.value, by_model.level.n, by_model.answers) == (3.0, 3, None)
    assert by_model.level.low < 3.0 < by_model.level.high


def test_figures_show_numbers_of_dimensions_and_never_words():
    found = a_list()
    for name, word in (("old", "zzslow"), ("young", "zzloud")):
        pair(found, name, word, negative=name == "old", model_level=4.0)
    asked_people(found, "old", "zzslow", [1])
    rows = summary(found, variant="corrected", resamples=100)
    assert association_figure(found, rows, "toxic", variant="corrected") is None
    told = {
        "negative": ("all dimensions", "", "T2T singular", 0.5, 0.0, 1.0, 1, 2),
        "levels-by-people": ("all dimensions", "T2T singular", 1.0, None, None, 1, 2, 1),
        "levels-by-model": ("all dimensions", "T2T singular", 4.0, 4.0, 4.0, 2, 2, None),
    }
    for name, first in told.items():
        figure = association_figure(found, rows, name, variant="corrected")
        assert figure.rows[0] == first
        assert figure.rows[1][0] == "Age"
        assert len(figure.columns) == len(first)
        said = str((figure.spec, figure.alt, figure.notes))
        assert "zzslow" not in said
        assert "zzloud" not in said


def test_a_summary_is_computed_again_when_something_was_said(django_assert_max_num_queries):
    found = a_list()
    row = pair(found, "old", "slow", negative=True)
    assert [one.share.k for one in summary(found, variant="corrected").shares] == [1, 1]
    with django_assert_max_num_queries(5):
        summary(found, variant="corrected")
    row.negative = False
    row.save()
    assert [one.share.k for one in summary(found, variant="corrected").shares] == [0, 0]
    asked_people(found, "old", "slow", [4])
    assert len(summary(found, variant="corrected").levels_by("people")) == 2
    other = pair(found, "young", "loud", toxic=False)
    known = summary(found, variant="corrected")
    for change in (
        {"negative": False},
        {"model_level": 2.0},
        {"model_level": 3.0},
        {"toxic": True},
    ):
        type(row).objects.filter(pk=other.pk).update(**change)
        now = summary(found, variant="corrected")
        assert now != known
        known = now
    row.toxic = False
    row.save()
    assert summary(found, variant="corrected") != known
    assert summary(found, variant="corrected", resamples=100) != summary(found, variant="corrected")
    both = a_list("of as many pairs in either variant")
    pair(both, "old", "slow", negative=True)
    pair(both, "tall", "fast", axis="gender", negative=True, significant=True, significant_corrected=False)
    pair(both, "young", "loud", negative=True, significant=True)
    assert summary(both, variant="corrected") != summary(both, variant="published")
