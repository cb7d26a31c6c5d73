"""Classifiers: the fake, and tiny models of the real classes, whose labels are in their own order."""

from __future__ import annotations

import pytest

from generation import backends
from generation.backends.base import BackendError, OutOfMemory, Refused, TextPair
from generation.recipes.askings import ClassificationRecipe
from tests.generation.backends import tiny_askings

pytestmark = pytest.mark.filterwarnings("ignore:::(transformers|torch|huggingface_hub)")

NAMES = {0: "contradiction", 1: "entailment", 2: "neutral"}
PAIRS = [
    TextPair("a man in a hat", "a woman in the street"),
    TextPair("a man in a hat", "a photo"),
    TextPair("a photo of a sari"),
    TextPair("a beard", "a man in a hat in the street"),
    TextPair("a man in a hat", "the street"),
]


@pytest.fixture(scope="session")
def folder(tiny_models):
    def made(kind="bert", **config):
        there = tiny_models.root / f"classifier-{kind}-{abs(hash(str(sorted(config.items()))))}"
        return there if there.is_dir() else tiny_askings.classifier(there, kind=kind, **config)

    return made


@pytest.fixture
def load(request):
    def of(name, **changed):
        if name == "fake":
            return backends.load(ClassificationRecipe(backend="fake", **changed))
        model = str(request.getfixturevalue("folder")(name, names=NAMES))
        return backends.load(ClassificationRecipe(model=model, dtype="float32", **changed), device="cpu")

    return of


@pytest.mark.parametrize("name", ["fake", "bert", "deberta"])
class TestContract:
    def test_a_probability_for_each_label_of_each_text(self, load, name):
        model = load(name)
        rows = model.classify(PAIRS)
        assert len(rows) == len(PAIRS)
        assert all(len(row) == len(model.labels) == 3 and sum(row) == pytest.approx(1) for row in rows)
        assert len(set(rows)) == len(PAIRS)
        assert set(model.labels) == set(NAMES.values())
        assert model.classify([]) == []

    def test_the_same_alone_in_another_order_and_when_loaded_again(self, load, name):
        rows = load(name).classify(PAIRS)
        again = load(name)
        assert again.classify(PAIRS[::-1]) == rows[::-1]
        assert [again.classify([pair])[0] for pair in PAIRS] == rows

    def test_a_pair_is_not_its_texts_the_other_way_round(self, load, name):
        one, other = TextPair("a man", "a sari"), TextPair("a sari", "a man")
        assert load(name).classify([one]) != load(name).classify([other])

    def test_it_says_what_it_is(self, load, name):
        about = load(name).about
        assert about.device.startswith("cpu")
        assert about.revision


@pytest.mark.parametrize("name", ["bert", "deberta"])
class TestReal:
    def test_labels_are_in_the_order_of_the_models_numbers(self, load, name):
        import torch

        model = load(name)
        assert model.labels == ("contradiction", "entailment", "neutral")
        model._model.classifier.bias.data = torch.tensor([0.0, 99.0, 0.0])
        assert [row[1] for row in model.classify(PAIRS)] == pytest.approx([1.0] * len(PAIRS))

    def test_full_batches_have_one_size_and_texts_of_one_length(self, load, name, monkeypatch):
        wide = load(name)
        wide.batch = 4
        asked = []
        compute = wide._probabilities

        def computed(texts):
            asked.append([len(wide._tokenizer(one.text, one.pair or None).input_ids) for one in texts])
            return compute(texts)

        monkeypatch.setattr(wide, "_probabilities", computed)
        rows = wide.classify(PAIRS)
        assert all(len(lengths) == 4 and len(set(lengths)) == 1 for lengths in asked)
        # some processors round the rows of a batch by their place in it: devices of batches are cards
        assert wide.classify(PAIRS[3:]) == [pytest.approx(row, rel=1e-6) for row in rows[3:]]
        wide.full = False
        for row, padded in zip(rows, wide.classify(PAIRS), strict=True):
            assert padded == pytest.approx(row, abs=1e-4)
        assert any(len(set(lengths)) > 1 for lengths in asked)

    def test_a_text_that_is_too_long(self, load, name):
        with pytest.raises(Refused, match=r"has 10\d tokens, and this model reads 64. Shorten"):
            load(name).classify([TextPair("a man " * 50, "a man")])

    def test_memory_that_runs_out_halves_the_batch(self, load, name, monkeypatch):
        import torch

        model = load(name)
        model.batch = 2

        def full(*args, **given):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

        monkeypatch.setattr(model, "_probabilities", full)
        with pytest.raises(OutOfMemory):
            model.classify(PAIRS)
        assert model.batch == 1

    def test_numbers_that_overflow(self, load, name):
        model = load(name)
        model._model.classifier.bias.data.fill_(float("nan"))
        with pytest.raises(BackendError, match="NaN"):
            model.classify(PAIRS)


def test_labels_without_names_are_named_by_the_recipe(folder):
    asked = ("entailment", "neutral", "contradiction")
    model = backends.load(ClassificationRecipe(model=str(folder()), labels=asked), device="cpu")
    assert model.labels == asked


@pytest.mark.parametrize(
    ("config", "labels", "message"),
    [
        ({}, (), "has 3 labels without names, and the recipe names 0. Name all 3"),
        ({}, ("yes", "no"), "the recipe names 2"),
        ({"names": NAMES}, ("a", "b", "c"), "names its labels itself: contradiction, entailment, neutral"),
        ({"num_labels": 1}, (), "no classifier with one label for each text"),
        ({"problem_type": "multi_label_classification"}, (), r"\(multi_label_classification\)"),
    ],
)
def test_what_is_no_classifier_or_has_no_labels(folder, config, labels, message):
    with pytest.raises(BackendError, match=message):
        backends.load(ClassificationRecipe(model=str(folder(**config)), labels=labels), device="cpu")


def test_a_model_that_is_not_named():
    with pytest.raises(BackendError, match="model: give a hub id"):
        backends.check(ClassificationRecipe())
