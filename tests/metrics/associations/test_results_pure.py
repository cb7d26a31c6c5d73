"""Sentences, labels, levels and estimates against plain computations; VADER by its authors' thresholds."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
from django.core.management import CommandError

from generation import backends
from generation.backends.base import BackendError, TextPair
from generation.backends.classify_vader import label_of
from generation.jobs.services.needed_labels import check_labels
from generation.recipes.askings import ClassificationRecipe
from metrics.associations import comparison_stats
from metrics.associations.askings import Modality, Setting, settings_of
from metrics.associations.labels import LabelsRefused, meant_labels
from metrics.associations.sentences import Named, sentence
from metrics.management.commands import import_answers, plan_associations
from metrics.management.commands.associations import _rows

VADER = ClassificationRecipe(backend="vader", design={"needs_labels": ["neg*"]})


def test_sentences_take_the_number_in_which_was_asked_and_the_groups_own_forms():
    deaf = Named("Deaf", "deaf person", "deaf people", "a")
    made = {
        setting: sentence(setting, deaf, "calm") for setting in ("t2i-plural", "t2i-singular", "i2t-lexical")
    }
    assert made == {
        "t2i-plural": "Deaf people are calm",
        "t2i-singular": "A deaf person is calm",
        "i2t-lexical": "A deaf person is calm",
    }
    assert (
        sentence("t2t-noun", Named("x", "someone with autism", article="-"), "late")
        == "Someone with autism is late"
    )
    assert sentence("t2t-plural", Named("Indian"), "kind") == "Indian people are kind"
    assert sentence("t2t-adjective", Named("Indian"), "kind") == "An Indian person is kind"


def test_a_classifier_without_the_label_is_refused_with_its_labels():
    with pytest.raises(LabelsRefused, match="means toxic: neutral, non-toxic"):
        meant_labels("toxicity", ["neutral", "non-toxic"])
    with pytest.raises(LabelsRefused, match="it has none"):
        meant_labels("sentiment", [])


def test_vader_labels_by_its_authors_thresholds():
    model = backends.load(VADER)
    rows = model.classify([TextPair(f"Old people are {word}") for word in ("horrible", "old", "wonderful")])
    assert model.labels == ("negative", "neutral", "positive")
    assert rows == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    assert [label_of(value) for value in (-0.05, -0.049, 0.049, 0.05)] == [
        *("negative", "neutral", "neutral", "positive")
    ]
    assert model.about.libraries == {"vaderSentiment": "3.3.2"}
    check_labels(VADER, model)
    with pytest.raises(BackendError, match="needs toxic"):
        check_labels(ClassificationRecipe(backend="vader", design={"needs_labels": ["toxic*"]}), model)
    with pytest.raises(BackendError, match="labels: the lexicon"):
        backends.check(ClassificationRecipe(backend="vader", labels=("a", "b")))
    with pytest.raises(BackendError, match="there is no 'bias'"):
        backends.check(ClassificationRecipe(backend="vader", options={"bias": 1}))


def test_shares_and_jaccard_against_plain_computations():
    draws = random.Random(3)
    pairs = {(f"group {draws.randrange(12)}", f"word {draws.randrange(30)}") for _ in range(120)}
    here, there = ({pair for pair in pairs if draws.random() < 0.7} for _ in range(2))
    found = comparison_stats.jaccard(here, there, rng=np.random.default_rng(5), resamples=1000)
    assert found.value == len(here & there) / len(here | there)
    assert found.low < found.value < found.high
    # the same resamples, drawn one by one
    names = sorted({name for name, _ in here | there})
    drawn = np.random.default_rng(5).integers(0, len(names), size=(1000, len(names)))
    values = []
    for row in drawn:
        both = [(name, names[place]) for place in row for name in [names[place]]]
        shared = sum(len([1 for pair in here & there if pair[0] == name]) for name, _ in both)
        every = sum(len([1 for pair in here | there if pair[0] == name]) for name, _ in both)
        values.append(shared / every)
    assert (found.low, found.high) == pytest.approx(tuple(np.sort(values)[[24, 974]]))
    assert comparison_stats.jaccard(set(), set(), rng=np.random.default_rng(0)).value is None
    one = comparison_stats.ratio([2], [4], rng=np.random.default_rng(0))
    assert (one.value, one.low, one.high) == (0.5, None, None)


def test_the_command_prints_what_a_variant_counts_the_strongest_first_in_each_group():
    names = ("tf", "df", "idf", "score")
    numbers = dict.fromkeys([*names, *(f"corrected_{name}" for name in names), "p_value", "z", "q"])

    def found(word, groups, **given):
        flags = {"significant": False, "significant_corrected": False}
        return SimpleNamespace(word=word, groups=groups, **numbers | flags | given)

    rows = [
        found("old", [1], tf=30, score=2.0, p_value=0.01, significant=True),
        found("both", [1, 2], tf=10, score=5.0, corrected_tf=4, z=3.0, significant_corrected=True),
        found("new", [1], corrected_tf=2, corrected_score=1.0),
    ]
    setting = SimpleNamespace(modality=Modality.T2T, short="plural")
    groups = {1: SimpleNamespace(axis="gender", name="women"), 2: SimpleNamespace(axis="age", name="old")}
    evaluated = SimpleNamespace(
        groups=groups, settings=lambda: [SimpleNamespace(setting=setting, associations=rows)]
    )

    def printed(*, corrected, significant=False):
        made = _rows(SimpleNamespace(model="m"), evaluated, corrected=corrected, significant=significant)
        columns = ("dimension", "word", "tf", "significant", "significant_corrected")
        return [tuple(row[column] for column in columns) for row in made]

    assert printed(corrected=False) == [
        ("age", "both", 10, False, True),
        ("gender", "both", 10, False, True),
        ("gender", "old", 30, True, None),
    ]
    assert printed(corrected=True) == [
        ("age", "both", 4, False, True),
        ("gender", "both", 4, False, True),
        ("gender", "new", 2, None, False),
    ]
    assert [row[1] for row in printed(corrected=False, significant=True)] == ["old"]
    assert [row[1] for row in printed(corrected=True, significant=True)] == ["both", "both"]


def test_a_setting_of_the_commands_is_named_with_its_modality_or_without():
    every = [Setting(f"t2t-{short}") for short in ("singular", "plural")]
    for names in (["singular", "plural"], ["t2t-singular", "t2t-plural"]):
        assert plan_associations._settings("t2t", names) == every
        assert [import_answers._setting("t2t", name) for name in names] == every
    assert plan_associations._settings("t2t", []) == list(settings_of(Modality.T2T))
    assert [one.short for one in plan_associations._settings("images", [])] == ["singular"]
    with pytest.raises(CommandError, match="each has an image set of its own"):
        plan_associations._settings("images", ["singular", "plural"])
    with pytest.raises(CommandError, match="needs --modality and --setting"):
        import_answers._setting("t2t", None)


def test_the_size_of_images_and_the_list_of_descriptors_are_those_named(tmp_path):
    assert plan_associations._size(None) == {}
    assert plan_associations._size("512X256") == {"width": 512, "height": 256}
    for wrong in ("512", "512x", "x256", "axb"):
        with pytest.raises(CommandError, match=f"--size '{wrong}': write width and height"):
            plan_associations._size(wrong)
    path = tmp_path / "list.csv"
    path.write_text("\ufeffdimension,singular\nage,adult\ngender,woman\n", encoding="utf-8")
    for given in (str(path), "starter"):
        every, some = (plan_associations._listed(given, on).descriptors for on in ([], ["age"]))
        assert {"age", "gender"} <= {one.dimension for one in every}
        assert {one.dimension for one in some} == {"age"}
    assert plan_associations._filled({"system": "", "prompt": "x"}, {"system": "a", "prompt": "b"}) == {
        "system": "a",
        "prompt": "x",
    }


@pytest.mark.parametrize(
    ("kind", "given", "named"),
    [
        ("completions", {"set": "a", "modality": "t2t"}, "--set, --modality"),
        ("descriptions", {"descriptors": "a"}, "--descriptors"),
        ("inference", {"chat": False, "max_tokens": 5}, "--no-chat, --max-tokens"),
        ("inference", {"temperature": 0.0, "times": 1}, "--temperature, --times"),
    ],
)
def test_an_option_that_a_kind_of_answers_has_no_place_for_is_refused(kind, given, named):
    options = dict.fromkeys((*import_answers._SETTINGS, *import_answers._LAYOUT, "set", "layout"))
    import_answers._refuse_unused({**options, "kind": kind, "revision": "main", "options": {"a": 1}})
    with pytest.raises(CommandError, match=f"--kind {kind} has no place for {named}\\. Leave that out"):
        import_answers._refuse_unused({**options, "kind": kind, **given})


def test_further_options_are_names_and_values():
    assert import_answers._further([]) is None
    assert import_answers._further([" api =v2", "n=3"]) == {"api": "v2", "n": 3}
    with pytest.raises(CommandError, match="--option 'n': write NAME=VALUE"):
        import_answers._further(["a=1", "n"])
